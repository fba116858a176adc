// Views of other shapes, read and written.
module {
  func.func @main(%arg0: memref<4x6xf32>, %arg1: memref<?x6xf32>) {
    %collapse_shape = memref.collapse_shape %arg0 [[0, 1]] : memref<4x6xf32> into memref<24xf32>
    %expand_shape = memref.expand_shape %collapse_shape [[0, 1]] output_shape [3, 8] : memref<24xf32> into memref<3x8xf32>
    %cast = memref.cast %arg1 : memref<?x6xf32> to memref<4x6xf32>
    %reinterpret_cast = memref.reinterpret_cast %cast to offset: [0], sizes: [3, 8], strides: [8, 1] : memref<4x6xf32> to memref<3x8xf32>
    linalg.exp ins(%expand_shape : memref<3x8xf32>) outs(%reinterpret_cast : memref<3x8xf32>)
    %collapse_shape_0 = memref.collapse_shape %arg1 [[0, 1]] : memref<?x6xf32> into memref<?xf32>
    %subview = memref.subview %collapse_shape_0[20] [4] [1] : memref<?xf32> to memref<4xf32, strided<[1], offset: 20>>
    %cst = arith.constant 1.000000e+00 : f32
    linalg.fill ins(%cst : f32) outs(%subview : memref<4xf32, strided<[1], offset: 20>>)
    return
  }
}
