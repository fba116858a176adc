func.func @main(%arg0: tensor<3x4x5xf32>) -> tensor<5x3x4xf32> {
  %0 = tensor.empty() : tensor<5x3x4xf32>
  %transposed = linalg.transpose ins(%arg0 : tensor<3x4x5xf32>) outs(%0 : tensor<5x3x4xf32>) permutation = [2, 0, 1]
  return %transposed : tensor<5x3x4xf32>
}
