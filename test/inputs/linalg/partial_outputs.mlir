// Generics that leave elements of their outputs as they are: zeros around a vector, a
// diagonal, every other element, and a row of sums.
#id = affine_map<(i) -> (i)>
#behind = affine_map<(i) -> (i + 1)>
#diagonal = affine_map<(i) -> (i, i)>
#twice = affine_map<(i) -> (i * 2)>
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (2, i)>
module {
  func.func @main(%x: tensor<5xf32>, %y: tensor<5x5xf32>, %z: tensor<9xf32>) -> (tensor<9xf32>, tensor<5x5xf32>, tensor<9xf32>, tensor<5x5xf32>) {
    %zero = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<9xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<9xf32>) -> tensor<9xf32>
    %2 = linalg.generic {indexing_maps = [#id, #behind], iterator_types = ["parallel"]} ins(%x : tensor<5xf32>) outs(%1 : tensor<9xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<9xf32>
    %3 = linalg.generic {indexing_maps = [#id, #diagonal], iterator_types = ["parallel"]} ins(%x : tensor<5xf32>) outs(%y : tensor<5x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %in, %out : f32
      linalg.yield %s : f32
    } -> tensor<5x5xf32>
    %4 = linalg.generic {indexing_maps = [#id, #twice], iterator_types = ["parallel"]} ins(%x : tensor<5xf32>) outs(%z : tensor<9xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<9xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%y : tensor<5x5xf32>) {
    ^bb0(%out: f32):
      %i = linalg.index 0 : index
      %c2 = arith.constant 2 : index
      %is_row = arith.cmpi eq, %i, %c2 : index
      %v = arith.select %is_row, %zero, %out : f32
      linalg.yield %v : f32
    } -> tensor<5x5xf32>
    %6 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<5x5xf32>) outs(%5 : tensor<5x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %in, %out : f32
      linalg.yield %s : f32
    } -> tensor<5x5xf32>
    return %2, %3, %4, %6 : tensor<9xf32>, tensor<5x5xf32>, tensor<9xf32>, tensor<5x5xf32>
  }
}
