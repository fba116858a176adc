func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = tensor.empty() : tensor<4x6xf32>
  %cst = arith.constant dense<5.000000e-01> : tensor<4x6xf32>
  %1 = linalg.mul ins(%arg0, %cst : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = linalg.ceil ins(%1 : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = linalg.floor ins(%1 : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = linalg.round ins(%1 : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %5 = linalg.min ins(%2, %4 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %cst_0 = arith.constant dense<4.000000e+00> : tensor<4x6xf32>
  %6 = linalg.mul ins(%5, %cst_0 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %7 = linalg.add ins(%6, %3 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %7 : tensor<4x6xf32>
}
