// Steps of 1 are not printed.
func.func @main(%arg0: memref<1x7x6x2xf32>, %arg1: memref<3x2x2x3xf32>, %arg2: memref<1x3x5x3xf32>) {
  linalg.conv_2d_nhwc_hwcf {dilations = dense<[2, 1]> : tensor<2xi64>} ins(%arg0, %arg1 : memref<1x7x6x2xf32>, memref<3x2x2x3xf32>) outs(%arg2 : memref<1x3x5x3xf32>)
  return
}
