#map = affine_map<(d0, d1) -> (d0, d1)>
module @jit_iota {
  func.func public @main() -> tensor<4x6xi32> {
    %0 = tensor.empty() : tensor<4x6xi32>
    %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<4x6xi32>) {
    ^bb0(%out: i32):
      %2 = linalg.index 0 : index
      %3 = linalg.index 1 : index
      %c10 = arith.constant 10 : index
      %4 = arith.muli %2, %c10 : index
      %5 = arith.addi %4, %3 : index
      %6 = arith.index_cast %5 : index to i32
      linalg.yield %6 : i32
    } -> tensor<4x6xi32>
    return %1 : tensor<4x6xi32>
  }
}
