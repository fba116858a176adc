// As torch-mlir prints MaxPool2d and AvgPool2d of images whose channels come first.
func.func @forward(%arg0: tensor<1x3x6x7xf32>) -> (tensor<1x3x3x3xf32>, tensor<1x3x5x6xf32>) {
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x2xf32>
  %1 = tensor.empty() : tensor<1x3x3x3xf32>
  %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<1x3x3x3xf32>) -> tensor<1x3x3x3xf32>
  %3 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%arg0, %0 : tensor<1x3x6x7xf32>, tensor<2x2xf32>) outs(%2 : tensor<1x3x3x3xf32>) -> tensor<1x3x3x3xf32>
  %4 = tensor.empty() : tensor<1x3x5x6xf32>
  %5 = linalg.fill ins(%cst_0 : f32) outs(%4 : tensor<1x3x5x6xf32>) -> tensor<1x3x5x6xf32>
  %6 = linalg.pooling_nchw_sum {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%arg0, %0 : tensor<1x3x6x7xf32>, tensor<2x2xf32>) outs(%5 : tensor<1x3x5x6xf32>) -> tensor<1x3x5x6xf32>
  return %3, %6 : tensor<1x3x3x3xf32>, tensor<1x3x5x6xf32>
}
