// Halves that change places, put beside each other.
#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
func.func @rope(%q: tensor<4x12x16xf32>, %cos: tensor<12x16xf32>, %sin: tensor<12x16xf32>) -> tensor<4x12x16xf32> {
  %e = tensor.empty() : tensor<4x12x16xf32>
  %lo = tensor.extract_slice %q[0, 0, 0] [4, 12, 8] [1, 1, 1] : tensor<4x12x16xf32> to tensor<4x12x8xf32>
  %hi = tensor.extract_slice %q[0, 0, 8] [4, 12, 8] [1, 1, 1] : tensor<4x12x16xf32> to tensor<4x12x8xf32>
  %eh = tensor.empty() : tensor<4x12x8xf32>
  %neg = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%hi : tensor<4x12x8xf32>) outs(%eh : tensor<4x12x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.negf %in : f32
    linalg.yield %n : f32
  } -> tensor<4x12x8xf32>
  %c0 = tensor.insert_slice %neg into %e[0, 0, 0] [4, 12, 8] [1, 1, 1] : tensor<4x12x8xf32> into tensor<4x12x16xf32>
  %c1 = tensor.insert_slice %lo into %c0[0, 0, 8] [4, 12, 8] [1, 1, 1] : tensor<4x12x8xf32> into tensor<4x12x16xf32>
  %r = linalg.generic {indexing_maps = [#map, #map1, #map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %cos, %c1, %sin : tensor<4x12x16xf32>, tensor<12x16xf32>, tensor<4x12x16xf32>, tensor<12x16xf32>) outs(%e : tensor<4x12x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %out: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.mulf %c, %d : f32
    %s = arith.addf %m, %n : f32
    linalg.yield %s : f32
  } -> tensor<4x12x16xf32>
  return %r : tensor<4x12x16xf32>
}
