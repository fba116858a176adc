#map = affine_map<(d0, d1) -> (d0, d1)>
module @jit_where {
  func.func public @main(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = tensor.empty() : tensor<4x6xi1>
    %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg1 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xi1>) {
    ^bb0(%in: f32, %in_0: f32, %out: i1):
      %4 = arith.cmpf olt, %in, %in_0 : f32
      linalg.yield %4 : i1
    } -> tensor<4x6xi1>
    %2 = tensor.empty() : tensor<4x6xf32>
    %3 = linalg.select ins(%1, %arg1, %arg0 : tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32>) outs(%2 : tensor<4x6xf32>) -> tensor<4x6xf32>
    return %3 : tensor<4x6xf32>
  }
}
