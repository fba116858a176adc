#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module {
  func.func @main(%arg0: tensor<2x5x8xf32>, %arg1: tensor<2x6x8xf32>, %arg2: tensor<2x6x8xf32>) -> tensor<2x5x8xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0.353515625 : f32
    %0 = tensor.empty() : tensor<2x5x6xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
    %2 = linalg.batch_matmul indexing_maps = [#map, #map1, #map2] ins(%arg0, %arg1 : tensor<2x5x8xf32>, tensor<2x6x8xf32>) outs(%1 : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
    %3 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2 : tensor<2x5x6xf32>) outs(%0 : tensor<2x5x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %8 = arith.mulf %in, %cst_0 : f32
      linalg.yield %8 : f32
    } -> tensor<2x5x6xf32>
    %4 = linalg.softmax dimension(2) ins(%3 : tensor<2x5x6xf32>) outs(%0 : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
    %5 = tensor.empty() : tensor<2x5x8xf32>
    %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
    %7 = linalg.batch_matmul ins(%4, %arg2 : tensor<2x5x6xf32>, tensor<2x6x8xf32>) outs(%6 : tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
    return %7 : tensor<2x5x8xf32>
  }
}
