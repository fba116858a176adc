// Weights of i8 with a scale for each column.
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
module {
  func.func @main(%arg0: tensor<5x7xf32>, %arg1: tensor<7x6xi8>, %arg2: tensor<6xf32>) -> tensor<5x6xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<7x6xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%arg1, %arg2 : tensor<7x6xi8>, tensor<6xf32>) outs(%0 : tensor<7x6xf32>) {
    ^bb0(%in: i8, %in_0: f32, %out: f32):
      %5 = arith.sitofp %in : i8 to f32
      %6 = arith.mulf %5, %in_0 : f32
      linalg.yield %6 : f32
    } -> tensor<7x6xf32>
    %2 = tensor.empty() : tensor<5x6xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %4 = linalg.matmul ins(%arg0, %1 : tensor<5x7xf32>, tensor<7x6xf32>) outs(%3 : tensor<5x6xf32>) -> tensor<5x6xf32>
    return %4 : tensor<5x6xf32>
  }
}
