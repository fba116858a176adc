#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
module attributes {torch.debug_module_name = "Mlp"} {
  func.func @forward(%arg0: tensor<5x8xf32>, %arg1: tensor<8x10xf32>, %arg2: tensor<10xf32>, %arg3: tensor<10x6xf32>, %arg4: tensor<6xf32>) -> tensor<5x6xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<5x10xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<5x10xf32>) -> tensor<5x10xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<5x8xf32>, tensor<8x10xf32>) outs(%1 : tensor<5x10xf32>) -> tensor<5x10xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%2, %arg2 : tensor<5x10xf32>, tensor<10xf32>) outs(%0 : tensor<5x10xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %8 = arith.addf %in, %in_0 : f32
      %9 = arith.maximumf %8, %cst : f32
      linalg.yield %9 : f32
    } -> tensor<5x10xf32>
    %4 = tensor.empty() : tensor<5x6xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %6 = linalg.matmul ins(%3, %arg3 : tensor<5x10xf32>, tensor<10x6xf32>) outs(%5 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%6, %arg4 : tensor<5x6xf32>, tensor<6xf32>) outs(%4 : tensor<5x6xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %8 = arith.addf %in, %in_0 : f32
      linalg.yield %8 : f32
    } -> tensor<5x6xf32>
    return %7 : tensor<5x6xf32>
  }
}
