// Weights of 4 bits, in groups of 32 along K with a scale and a zero point each.
#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map3 = affine_map<(d0, d1, d2) -> (d1, d2)>
func.func @main(%arg0: tensor<16x64xf32>, %arg1: tensor<24x2x32xi4>, %arg2: tensor<24x2xf32>, %arg3: tensor<24x2xf32>) -> tensor<16x24xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<24x2x32xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map1, #map1, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1, %arg2, %arg3 : tensor<24x2x32xi4>, tensor<24x2xf32>, tensor<24x2xf32>) outs(%0 : tensor<24x2x32xf32>) {
  ^bb0(%in: i4, %in_0: f32, %in_1: f32, %out: f32):
    %4 = arith.extui %in : i4 to i32
    %5 = arith.uitofp %4 : i32 to f32
    %6 = arith.subf %5, %in_1 : f32
    %7 = arith.mulf %6, %in_0 : f32
    linalg.yield %7 : f32
  } -> tensor<24x2x32xf32>
  %collapsed = tensor.collapse_shape %1 [[0], [1, 2]] : tensor<24x2x32xf32> into tensor<24x64xf32>
  %2 = tensor.empty() : tensor<16x24xf32>
  %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<16x24xf32>) -> tensor<16x24xf32>
  %8 = linalg.generic {indexing_maps = [#map2, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %collapsed : tensor<16x64xf32>, tensor<24x64xf32>) outs(%3 : tensor<16x24xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %9 = arith.mulf %in, %in_0 : f32
    %10 = arith.addf %9, %out : f32
    linalg.yield %10 : f32
  } -> tensor<16x24xf32>
  return %8 : tensor<16x24xf32>
}
