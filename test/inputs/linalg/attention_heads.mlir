// Heads are dimensions of the rows, which are split off and transposed.
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
module {
  func.func @main(%arg0: tensor<5x16xf32>, %arg1: tensor<5x16xf32>) -> tensor<2x5x5xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %expanded = tensor.expand_shape %arg0 [[0], [1, 2]] output_shape [5, 2, 8] : tensor<5x16xf32> into tensor<5x2x8xf32>
    %0 = tensor.empty() : tensor<2x5x8xf32>
    %transposed = linalg.transpose ins(%expanded : tensor<5x2x8xf32>) outs(%0 : tensor<2x5x8xf32>) permutation = [1, 0, 2]
    %expanded_0 = tensor.expand_shape %arg1 [[0], [1, 2]] output_shape [5, 2, 8] : tensor<5x16xf32> into tensor<5x2x8xf32>
    %transposed_1 = linalg.transpose ins(%expanded_0 : tensor<5x2x8xf32>) outs(%0 : tensor<2x5x8xf32>) permutation = [1, 0, 2]
    %1 = tensor.empty() : tensor<2x5x5xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
    %3 = linalg.batch_matmul indexing_maps = [#map, #map1, #map2] ins(%transposed, %transposed_1 : tensor<2x5x8xf32>, tensor<2x5x8xf32>) outs(%2 : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
    return %3 : tensor<2x5x5xf32>
  }
}
