// Integers with zero points, written out: (a - za) * (b - zb).
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
module {
  func.func @main(%arg0: tensor<5x7xi8>, %arg1: tensor<7x6xi8>, %arg2: i32, %arg3: i32) -> tensor<5x6xi32> {
    %c0_i32 = arith.constant 0 : i32
    %0 = tensor.empty() : tensor<5x6xi32>
    %1 = linalg.fill ins(%c0_i32 : i32) outs(%0 : tensor<5x6xi32>) -> tensor<5x6xi32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<5x7xi8>, tensor<7x6xi8>) outs(%1 : tensor<5x6xi32>) {
    ^bb0(%in: i8, %in_0: i8, %out: i32):
      %3 = arith.extsi %in : i8 to i32
      %4 = arith.subi %3, %arg2 : i32
      %5 = arith.extsi %in_0 : i8 to i32
      %6 = arith.subi %5, %arg3 : i32
      %7 = arith.muli %4, %6 : i32
      %8 = arith.addi %out, %7 : i32
      linalg.yield %8 : i32
    } -> tensor<5x6xi32>
    return %2 : tensor<5x6xi32>
  }
}
