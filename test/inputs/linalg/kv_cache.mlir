// A row that is put where a tensor says, and the one behind it, as JAX prints dynamic slices.
func.func @main(%arg0: tensor<2x16x8xf32>, %arg1: tensor<2x8xf32>, %arg2: tensor<i32>) -> (tensor<2x16x8xf32>, tensor<2x8xf32>) {
  %c0_i32 = arith.constant 0 : i32
  %c14_i32 = arith.constant 14 : i32
  %c1 = arith.constant 1 : index
  %extracted = tensor.extract %arg2[] : tensor<i32>
  %0 = arith.maxsi %extracted, %c0_i32 : i32
  %1 = arith.minsi %0, %c14_i32 : i32
  %2 = arith.index_cast %1 : i32 to index
  %3 = arith.addi %2, %c1 : index
  %inserted_slice = tensor.insert_slice %arg1 into %arg0[0, %2, 0] [2, 1, 8] [1, 1, 1] : tensor<2x8xf32> into tensor<2x16x8xf32>
  %extracted_slice = tensor.extract_slice %arg0[0, %3, 0] [2, 1, 8] [1, 1, 1] : tensor<2x16x8xf32> to tensor<2x8xf32>
  return %inserted_slice, %extracted_slice : tensor<2x16x8xf32>, tensor<2x8xf32>
}
