// The mask comes from the indices of the loops.
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module {
  func.func @main(%arg0: tensor<2x5x8xf32>, %arg1: tensor<2x5x8xf32>, %arg2: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 2.500000e-01 : f32
    %cst_1 = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<2x5x5xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
    %2 = linalg.batch_matmul indexing_maps = [#map, #map1, #map2] ins(%arg0, %arg1 : tensor<2x5x8xf32>, tensor<2x5x8xf32>) outs(%1 : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
    %3 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2 : tensor<2x5x5xf32>) outs(%0 : tensor<2x5x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %8 = linalg.index 1 : index
      %9 = linalg.index 2 : index
      %10 = arith.cmpi sge, %8, %9 : index
      %11 = arith.mulf %in, %cst_0 : f32
      %12 = arith.select %10, %11, %cst_1 : f32
      linalg.yield %12 : f32
    } -> tensor<2x5x5xf32>
    %4 = linalg.softmax dimension(2) ins(%3 : tensor<2x5x5xf32>) outs(%0 : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
    %5 = tensor.empty() : tensor<2x5x8xf32>
    %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
    %7 = linalg.batch_matmul ins(%4, %arg2 : tensor<2x5x5xf32>, tensor<2x5x8xf32>) outs(%6 : tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
    return %7 : tensor<2x5x8xf32>
  }
}
