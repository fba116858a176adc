func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %cst = arith.constant 3.000000e+00 : f32
  %0 = bufferization.to_buffer %arg0 : tensor<4x6xf32> to memref<4x6xf32, strided<[?, ?], offset: ?>>
  %alloc = memref.alloc() : memref<4x6xf32>
  memref.copy %0, %alloc : memref<4x6xf32, strided<[?, ?], offset: ?>> to memref<4x6xf32>
  %subview = memref.subview %alloc[0, 0] [2, 6] [1, 1] : memref<4x6xf32> to memref<2x6xf32, strided<[6, 1]>>
  linalg.fill ins(%cst : f32) outs(%subview : memref<2x6xf32, strided<[6, 1]>>)
  %1 = bufferization.to_tensor %alloc restrict : memref<4x6xf32> to tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}
