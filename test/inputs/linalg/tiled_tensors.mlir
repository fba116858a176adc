// Tiled by two loops, the tensor is carried through them.
module {
  func.func @main(%arg0: tensor<8x12xf32>, %arg1: tensor<12x6xf32>) -> tensor<8x6xf32> {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c12 = arith.constant 12 : index
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<8x6xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<8x6xf32>) -> tensor<8x6xf32>
    %2 = scf.for %arg2 = %c0 to %c8 step %c4 iter_args(%arg3 = %1) -> (tensor<8x6xf32>) {
      %3 = scf.for %arg4 = %c0 to %c12 step %c4 iter_args(%arg5 = %arg3) -> (tensor<8x6xf32>) {
        %extracted_slice = tensor.extract_slice %arg0[%arg2, %arg4] [4, 4] [1, 1] : tensor<8x12xf32> to tensor<4x4xf32>
        %extracted_slice_0 = tensor.extract_slice %arg1[%arg4, 0] [4, 6] [1, 1] : tensor<12x6xf32> to tensor<4x6xf32>
        %extracted_slice_1 = tensor.extract_slice %arg5[%arg2, 0] [4, 6] [1, 1] : tensor<8x6xf32> to tensor<4x6xf32>
        %4 = linalg.matmul ins(%extracted_slice, %extracted_slice_0 : tensor<4x4xf32>, tensor<4x6xf32>) outs(%extracted_slice_1 : tensor<4x6xf32>) -> tensor<4x6xf32>
        %inserted_slice = tensor.insert_slice %4 into %arg5[%arg2, 0] [4, 6] [1, 1] : tensor<4x6xf32> into tensor<8x6xf32>
        scf.yield %inserted_slice : tensor<8x6xf32>
      }
      scf.yield %3 : tensor<8x6xf32>
    }
    return %2 : tensor<8x6xf32>
  }
}
