// The softmax is written out, as JAX does it, with an additive mask.
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map3 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map4 = affine_map<(d0, d1, d2) -> (d0, d1)>
module @jit_attention {
  func.func public @main(%arg0: tensor<5x8xf32>, %arg1: tensor<6x8xf32>, %arg2: tensor<6x8xf32>, %arg3: tensor<5x6xf32>) -> tensor<5x8xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<5x6xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %2 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<5x8xf32>, tensor<6x8xf32>) outs(%1 : tensor<5x6xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %12 = arith.mulf %in, %in_1 : f32
      %13 = arith.addf %out, %12 : f32
      linalg.yield %13 : f32
    } -> tensor<5x6xf32>
    %mapped = linalg.map { arith.addf } ins(%2, %arg3 : tensor<5x6xf32>, tensor<5x6xf32>) outs(%0 : tensor<5x6xf32>)
    %3 = tensor.empty() : tensor<5xf32>
    %4 = linalg.fill ins(%cst_0 : f32) outs(%3 : tensor<5xf32>) -> tensor<5xf32>
    %reduced = linalg.reduce { arith.maximumf } ins(%mapped : tensor<5x6xf32>) outs(%4 : tensor<5xf32>) dimensions = [1]
    %5 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%mapped, %reduced : tensor<5x6xf32>, tensor<5xf32>) outs(%0 : tensor<5x6xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %12 = arith.subf %in, %in_1 : f32
      %13 = math.exp %12 : f32
      linalg.yield %13 : f32
    } -> tensor<5x6xf32>
    %6 = linalg.fill ins(%cst : f32) outs(%3 : tensor<5xf32>) -> tensor<5xf32>
    %reduced_2 = linalg.reduce { arith.addf } ins(%5 : tensor<5x6xf32>) outs(%6 : tensor<5xf32>) dimensions = [1]
    %7 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%5, %reduced_2 : tensor<5x6xf32>, tensor<5xf32>) outs(%0 : tensor<5x6xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %12 = arith.divf %in, %in_1 : f32
      linalg.yield %12 : f32
    } -> tensor<5x6xf32>
    %8 = tensor.empty() : tensor<5x8xf32>
    %9 = linalg.fill ins(%cst : f32) outs(%8 : tensor<5x8xf32>) -> tensor<5x8xf32>
    %10 = linalg.matmul ins(%7, %arg2 : tensor<5x6xf32>, tensor<6x8xf32>) outs(%9 : tensor<5x8xf32>) -> tensor<5x8xf32>
    return %10 : tensor<5x8xf32>
  }
}
