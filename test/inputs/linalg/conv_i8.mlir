func.func @main(%arg0: tensor<1x5x5x2xi8>, %arg1: tensor<2x2x2x3xi8>) -> tensor<1x4x4x3xi32> {
  %c0_i32 = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<1x4x4x3xi32>
  %1 = linalg.fill ins(%c0_i32 : i32) outs(%0 : tensor<1x4x4x3xi32>) -> tensor<1x4x4x3xi32>
  %2 = linalg.conv_2d_nhwc_hwcf ins(%arg0, %arg1 : tensor<1x5x5x2xi8>, tensor<2x2x2x3xi8>) outs(%1 : tensor<1x4x4x3xi32>) -> tensor<1x4x4x3xi32>
  return %2 : tensor<1x4x4x3xi32>
}
