#map = affine_map<(d0, d1) -> (d0, d1)>
#loc1 = loc("model.py":12:0)
module {
  func.func @main(%arg0: tensor<4x6xf32> loc("x"), %arg1: tensor<4x6xf32> loc("y")) -> tensor<4x6xf32> {
    %0 = tensor.empty() : tensor<4x6xf32> loc(#loc2)
    %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg1 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) {
    ^bb0(%in: f32 loc("x"), %in_0: f32 loc("y"), %out: f32 loc(unknown)):
      %2 = arith.addf %in, %in_0 : f32 loc(#loc3)
      linalg.yield %2 : f32 loc(#loc3)
    } -> tensor<4x6xf32> loc(#loc3)
    %3 = linalg.mul ins(%1, %arg0 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32> loc(#loc2)
    return %3 : tensor<4x6xf32> loc(#loc1)
  } loc(#loc1)
} loc(#loc)
#loc = loc(unknown)
#loc2 = loc("model.py":13:4)
#loc3 = loc(fused[#loc1, #loc2])
