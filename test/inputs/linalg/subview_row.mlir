// A row without its dimension of size 1.
func.func @main(%arg0: memref<6x4xf32>, %arg1: memref<6x4xf32>) {
  %subview = memref.subview %arg0[2, 0] [1, 4] [1, 1] : memref<6x4xf32> to memref<4xf32, strided<[1], offset: 8>>
  linalg.broadcast ins(%subview : memref<4xf32, strided<[1], offset: 8>>) outs(%arg1 : memref<6x4xf32>) dimensions = [0]
  %subview_0 = memref.subview %arg1[5, 0] [1, 4] [1, 1] : memref<6x4xf32> to memref<4xf32, strided<[1], offset: 20>>
  %subview_1 = memref.subview %arg0[0, 0] [1, 4] [1, 1] : memref<6x4xf32> to memref<4xf32, strided<[1]>>
  memref.copy %subview_1, %subview_0 : memref<4xf32, strided<[1]>> to memref<4xf32, strided<[1], offset: 20>>
  return
}
