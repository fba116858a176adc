func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x2xf32>) -> tensor<4x5xf32> {
  %concat = tensor.concat dim(1) %arg0, %arg1 : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<4x5xf32>
  %0 = tensor.empty() : tensor<4x5xf32>
  %1 = linalg.square ins(%concat : tensor<4x5xf32>) outs(%0 : tensor<4x5xf32>) -> tensor<4x5xf32>
  return %1 : tensor<4x5xf32>
}
