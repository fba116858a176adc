// A sum of two parts, in a third one.
func.func @main(%arg0: memref<8x10xf32>, %arg1: memref<8x10xf32>, %arg2: index) {
  %subview = memref.subview %arg0[1, 2] [4, 3] [1, 2] : memref<8x10xf32> to memref<4x3xf32, strided<[10, 2], offset: 12>>
  %subview_0 = memref.subview %arg0[%arg2, 0] [4, 3] [1, 1] : memref<8x10xf32> to memref<4x3xf32, strided<[10, 1], offset: ?>>
  %subview_1 = memref.subview %arg1[3, 5] [4, 3] [1, 1] : memref<8x10xf32> to memref<4x3xf32, strided<[10, 1], offset: 35>>
  linalg.add ins(%subview, %subview_0 : memref<4x3xf32, strided<[10, 2], offset: 12>>, memref<4x3xf32, strided<[10, 1], offset: ?>>) outs(%subview_1 : memref<4x3xf32, strided<[10, 1], offset: 35>>)
  return
}
