// Tiles of buffers; the last of each loop is smaller.
#map = affine_map<(d0) -> (4, -d0 + 10)>
#map1 = affine_map<(d0) -> (3, -d0 + 7)>
module {
  func.func @main(%arg0: memref<10x5xf32>, %arg1: memref<5x7xf32>, %arg2: memref<10x7xf32>) {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c7 = arith.constant 7 : index
    %c10 = arith.constant 10 : index
    scf.for %arg3 = %c0 to %c10 step %c4 {
      %0 = affine.min #map(%arg3)
      scf.for %arg4 = %c0 to %c7 step %c3 {
        %1 = affine.min #map1(%arg4)
        %subview = memref.subview %arg0[%arg3, 0] [%0, 5] [1, 1] : memref<10x5xf32> to memref<?x5xf32, strided<[5, 1], offset: ?>>
        %subview_0 = memref.subview %arg1[0, %arg4] [5, %1] [1, 1] : memref<5x7xf32> to memref<5x?xf32, strided<[7, 1], offset: ?>>
        %subview_1 = memref.subview %arg2[%arg3, %arg4] [%0, %1] [1, 1] : memref<10x7xf32> to memref<?x?xf32, strided<[7, 1], offset: ?>>
        linalg.matmul ins(%subview, %subview_0 : memref<?x5xf32, strided<[5, 1], offset: ?>>, memref<5x?xf32, strided<[7, 1], offset: ?>>) outs(%subview_1 : memref<?x?xf32, strided<[7, 1], offset: ?>>)
      }
    }
    return
  }
}
