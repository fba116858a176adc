#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>
module {
  func.func @main(%arg0: tensor<5x9xf32>) -> (tensor<5xf32>, tensor<5xi32>) {
    %cst = arith.constant 0xFF800000 : f32
    %c0_i32 = arith.constant 0 : i32
    %0 = tensor.empty() : tensor<5xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<5xf32>) -> tensor<5xf32>
    %2 = tensor.empty() : tensor<5xi32>
    %3 = linalg.fill ins(%c0_i32 : i32) outs(%2 : tensor<5xi32>) -> tensor<5xi32>
    %4:2 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<5x9xf32>) outs(%1, %3 : tensor<5xf32>, tensor<5xi32>) {
    ^bb0(%in: f32, %out: f32, %out_0: i32):
      %5 = linalg.index 1 : index
      %6 = arith.index_cast %5 : index to i32
      %7 = arith.cmpf ogt, %in, %out : f32
      %8 = arith.select %7, %in, %out : f32
      %9 = arith.select %7, %6, %out_0 : i32
      linalg.yield %8, %9 : f32, i32
    } -> (tensor<5xf32>, tensor<5xi32>)
    return %4#0, %4#1 : tensor<5xf32>, tensor<5xi32>
  }
}
