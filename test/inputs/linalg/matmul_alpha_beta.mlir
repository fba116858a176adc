#map = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @main(%arg0: tensor<5x7xf32>, %arg1: tensor<7x6xf32>, %arg2: tensor<5x6xf32>, %arg3: f32, %arg4: f32) -> tensor<5x6xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<5x6xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<5x7xf32>, tensor<7x6xf32>) outs(%1 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<5x6xf32>) outs(%arg2 : tensor<5x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %4 = arith.mulf %in, %arg3 : f32
      %5 = arith.mulf %out, %arg4 : f32
      %6 = arith.addf %4, %5 : f32
      linalg.yield %6 : f32
    } -> tensor<5x6xf32>
    return %3 : tensor<5x6xf32>
  }
}
