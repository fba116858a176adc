#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>
module {
  func.func @main(%arg0: tensor<5x7xf32>, %arg1: tensor<7x6xf32>, %arg2: tensor<5xf32>) -> tensor<5x6xf32> {
    %0 = tensor.empty() : tensor<5x6xf32>
    %broadcasted = linalg.broadcast ins(%arg2 : tensor<5xf32>) outs(%0 : tensor<5x6xf32>) dimensions = [1]
    %1 = linalg.matmul ins(%arg0, %arg1 : tensor<5x7xf32>, tensor<7x6xf32>) outs(%broadcasted : tensor<5x6xf32>) -> tensor<5x6xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%1, %arg2 : tensor<5x6xf32>, tensor<5xf32>) outs(%0 : tensor<5x6xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %3 = arith.mulf %in, %in_0 : f32
      linalg.yield %3 : f32
    } -> tensor<5x6xf32>
    return %2 : tensor<5x6xf32>
  }
}
