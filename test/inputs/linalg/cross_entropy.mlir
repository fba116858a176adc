// A log-softmax and the element of each row that a number names.
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>
#map2 = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: tensor<5x8xf32>, %arg1: tensor<5xi32>) -> tensor<5xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %c7_i32 = arith.constant 7 : i32
    %0 = tensor.empty() : tensor<5xf32>
    %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<5xf32>) -> tensor<5xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<5x8xf32>) outs(%1 : tensor<5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %6 = arith.maximumf %in, %out : f32
      linalg.yield %6 : f32
    } -> tensor<5xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%0 : tensor<5xf32>) -> tensor<5xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel", "reduction"]} ins(%arg0, %2 : tensor<5x8xf32>, tensor<5xf32>) outs(%3 : tensor<5xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %6 = arith.subf %in, %in_1 : f32
      %7 = math.exp %6 : f32
      %8 = arith.addf %7, %out : f32
      linalg.yield %8 : f32
    } -> tensor<5xf32>
    %5 = linalg.generic {indexing_maps = [#map2, #map2, #map2, #map2], iterator_types = ["parallel"]} ins(%arg1, %2, %4 : tensor<5xi32>, tensor<5xf32>, tensor<5xf32>) outs(%0 : tensor<5xf32>) {
    ^bb0(%in: i32, %in_1: f32, %in_2: f32, %out: f32):
      %6 = linalg.index 0 : index
      %7 = arith.andi %in, %c7_i32 : i32
      %8 = arith.index_cast %7 : i32 to index
      %extracted = tensor.extract %arg0[%6, %8] : tensor<5x8xf32>
      %9 = math.log %in_2 : f32
      %10 = arith.addf %9, %in_1 : f32
      %11 = arith.subf %10, %extracted : f32
      linalg.yield %11 : f32
    } -> tensor<5xf32>
    return %5 : tensor<5xf32>
  }
}
