#map = affine_map<(d0) -> (d0 * 4)>
module {
  func.func @main(%arg0: tensor<8x12xf32>, %arg1: tensor<12x6xf32>, %arg2: tensor<8x6xf32>) -> tensor<8x6xf32> {
    %0 = scf.forall (%arg3, %arg4) in (2, 3) shared_outs(%arg5 = %arg2) -> (tensor<8x6xf32>) {
      %1 = affine.apply #map(%arg3)
      %2 = affine.apply affine_map<(d0) -> (d0 * 2)>(%arg4)
      %extracted_slice = tensor.extract_slice %arg0[%1, 0] [4, 12] [1, 1] : tensor<8x12xf32> to tensor<4x12xf32>
      %extracted_slice_0 = tensor.extract_slice %arg1[0, %2] [12, 2] [1, 1] : tensor<12x6xf32> to tensor<12x2xf32>
      %extracted_slice_1 = tensor.extract_slice %arg5[%1, %2] [4, 2] [1, 1] : tensor<8x6xf32> to tensor<4x2xf32>
      %3 = linalg.matmul ins(%extracted_slice, %extracted_slice_0 : tensor<4x12xf32>, tensor<12x2xf32>) outs(%extracted_slice_1 : tensor<4x2xf32>) -> tensor<4x2xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %3 into %arg5[%1, %2] [4, 2] [1, 1] : tensor<4x2xf32> into tensor<8x6xf32>
      }
    } {mapping = [#gpu.block<y>, #gpu.block<x>]}
    return %0 : tensor<8x6xf32>
  }
}
