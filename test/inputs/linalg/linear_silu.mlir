#map = affine_map<(d0, d1) -> (d0, d1)>
module attributes {torch.debug_module_name = "LinearSilu"} {
  func.func @forward(%arg0: tensor<5x7xf32>, %arg1: tensor<7x6xf32>) -> tensor<5x6xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %0 = tensor.empty() : tensor<5x6xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<5x7xf32>, tensor<7x6xf32>) outs(%1 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<5x6xf32>) outs(%0 : tensor<5x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %5 = arith.negf %in : f32
      %6 = math.exp %5 : f32
      %7 = arith.addf %6, %cst_0 : f32
      %8 = arith.divf %cst_0, %7 : f32
      linalg.yield %8 : f32
    } -> tensor<5x6xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%3, %2 : tensor<5x6xf32>, tensor<5x6xf32>) outs(%0 : tensor<5x6xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %5 = arith.mulf %in, %in_1 : f32
      linalg.yield %5 : f32
    } -> tensor<5x6xf32>
    return %4 : tensor<5x6xf32>
  }
}
