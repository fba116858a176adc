#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
#map2 = affine_map<(d0, d1) -> (d1, d0)>
module {
  func.func @main(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>, %arg2: tensor<6x4xf32>) -> tensor<4x6xf32> {
    %0 = tensor.empty() : tensor<4x6xf32>
    %1 = linalg.elementwise kind=#linalg.elementwise_kind<add> indexing_maps = [#map, #map1, #map] ins(%arg0, %arg1 : tensor<4x6xf32>, tensor<6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
    %2 = linalg.elementwise kind=#linalg.elementwise_kind<max_signed> indexing_maps = [#map, #map2, #map] ins(%1, %arg2 : tensor<4x6xf32>, tensor<6x4xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
    %3 = linalg.elementwise kind=#linalg.elementwise_kind<square> ins(%2 : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
    %4 = linalg.elementwise kind=#linalg.elementwise_kind<sub> ins(%3, %arg0 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
    return %4 : tensor<4x6xf32>
  }
}
