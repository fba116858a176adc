// Every named operation of one input.
func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = tensor.empty() : tensor<4x6xf32>
  %1 = linalg.abs ins(%arg0 : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %cst = arith.constant dense<1.250000e+00> : tensor<4x6xf32>
  %2 = linalg.add ins(%1, %cst : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = linalg.log ins(%2 : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = linalg.square ins(%3 : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %5 = linalg.sqrt ins(%2 : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %6 = linalg.rsqrt ins(%2 : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %7 = linalg.reciprocal ins(%2 : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %8 = linalg.negf ins(%4 : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %9 = linalg.exp ins(%8 : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %10 = linalg.tanh ins(%9 : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %11 = linalg.erf ins(%5 : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %12 = linalg.mul ins(%10, %11 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %13 = linalg.sub ins(%12, %6 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %14 = linalg.div ins(%13, %7 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %14 : tensor<4x6xf32>
}
