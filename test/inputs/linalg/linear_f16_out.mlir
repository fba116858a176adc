// f16 in and out, sums of f32.
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
module {
  func.func @main(%arg0: tensor<5x8xf16>, %arg1: tensor<8x6xf16>, %arg2: tensor<6xf32>) -> tensor<5x6xf16> {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<5x6xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<5x8xf16>, tensor<8x6xf16>) outs(%1 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %3 = tensor.empty() : tensor<5x6xf16>
    %4 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%2, %arg2 : tensor<5x6xf32>, tensor<6xf32>) outs(%3 : tensor<5x6xf16>) {
    ^bb0(%in: f32, %in_0: f32, %out: f16):
      %5 = arith.addf %in, %in_0 : f32
      %6 = arith.maximumf %5, %cst : f32
      %7 = arith.truncf %6 : f32 to f16
      linalg.yield %7 : f16
    } -> tensor<5x6xf16>
    return %4 : tensor<5x6xf16>
  }
}
