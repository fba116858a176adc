// Channels that fill matrices: a product of a row of the image and of the filters, with steps.
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d3)>
func.func @main(%arg0: tensor<2x6x9x16xf32>, %arg1: tensor<3x2x16x12xf32>, %arg2: tensor<12xf32>) -> tensor<2x2x8x12xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x2x8x12xf32>
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<2x2x8x12xf32>) -> tensor<2x2x8x12xf32>
  %2 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<2x6x9x16xf32>, tensor<3x2x16x12xf32>) outs(%1 : tensor<2x2x8x12xf32>) -> tensor<2x2x8x12xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %arg2 : tensor<2x2x8x12xf32>, tensor<12xf32>) outs(%0 : tensor<2x2x8x12xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %4 = arith.addf %in, %in_0 : f32
    %5 = arith.maximumf %4, %cst : f32
    linalg.yield %5 : f32
  } -> tensor<2x2x8x12xf32>
  return %3 : tensor<2x2x8x12xf32>
}
