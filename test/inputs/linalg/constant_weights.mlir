func.func @main(%arg0: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %cst = arith.constant dense<[[1.000000e+00, -2.000000e+00], [0.000000e+00, 3.000000e+00], [5.000000e-01, 1.000000e+00], [-1.000000e+00, 2.000000e+00]]> : tensor<4x2xf32>
  %cst_0 = arith.constant dense<0.000000e+00> : tensor<3x2xf32>
  %0 = linalg.matmul ins(%arg0, %cst : tensor<3x4xf32>, tensor<4x2xf32>) outs(%cst_0 : tensor<3x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
