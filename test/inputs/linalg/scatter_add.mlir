module {
  func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<5xi32>, %arg2: tensor<5xf32>) -> tensor<8xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c7_i32 = arith.constant 7 : i32
    %c5 = arith.constant 5 : index
    %0 = scf.for %arg3 = %c0 to %c5 step %c1 iter_args(%arg4 = %arg0) -> (tensor<8xf32>) {
      %extracted = tensor.extract %arg1[%arg3] : tensor<5xi32>
      %1 = arith.andi %extracted, %c7_i32 : i32
      %2 = arith.index_cast %1 : i32 to index
      %extracted_0 = tensor.extract %arg2[%arg3] : tensor<5xf32>
      %extracted_1 = tensor.extract %arg4[%2] : tensor<8xf32>
      %3 = arith.addf %extracted_1, %extracted_0 : f32
      %inserted = tensor.insert %3 into %arg4[%2] : tensor<8xf32>
      scf.yield %inserted : tensor<8xf32>
    }
    return %0 : tensor<8xf32>
  }
}
