// Tensors between buffers: the result is put where the caller wants it.
func.func @main(%arg0: memref<5x7xf32, strided<[9, 1], offset: 2>>, %arg1: memref<7x6xf32>, %arg2: memref<5x6xf32, strided<[?, ?], offset: ?>>) {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = bufferization.to_tensor %arg0 restrict : memref<5x7xf32, strided<[9, 1], offset: 2>> to tensor<5x7xf32>
  %1 = bufferization.to_tensor %arg1 restrict : memref<7x6xf32> to tensor<7x6xf32>
  %2 = tensor.empty() : tensor<5x6xf32>
  %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<5x6xf32>) -> tensor<5x6xf32>
  %4 = linalg.matmul ins(%0, %1 : tensor<5x7xf32>, tensor<7x6xf32>) outs(%3 : tensor<5x6xf32>) -> tensor<5x6xf32>
  %5 = linalg.square ins(%4 : tensor<5x6xf32>) outs(%2 : tensor<5x6xf32>) -> tensor<5x6xf32>
  bufferization.materialize_in_destination %5 in restrict writable %arg2 : (tensor<5x6xf32>, memref<5x6xf32, strided<[?, ?], offset: ?>>) -> ()
  return
}
