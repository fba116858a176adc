// Nothing is summed: the result is what was filled in.
func.func @main(%arg0: tensor<3x?xf32>, %arg1: tensor<?x4xf32>) -> tensor<3x4xf32> {
  %cst = arith.constant 2.000000e+00 : f32
  %0 = tensor.empty() : tensor<3x4xf32>
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = linalg.matmul ins(%arg0, %arg1 : tensor<3x?xf32>, tensor<?x4xf32>) outs(%1 : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}
