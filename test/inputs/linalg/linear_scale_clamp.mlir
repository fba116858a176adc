#map = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @main(%arg0: tensor<5x7xf32>, %arg1: tensor<7x6xf32>) -> tensor<5x6xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 2.500000e-01 : f32
    %cst_1 = arith.constant -2.000000e+00 : f32
    %cst_2 = arith.constant 3.000000e+00 : f32
    %0 = tensor.empty() : tensor<5x6xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<5x7xf32>, tensor<7x6xf32>) outs(%1 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %3 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]} outs(%2 : tensor<5x6xf32>) {
    ^bb0(%out: f32):
      %4 = arith.mulf %out, %cst_0 : f32
      %5 = arith.maximumf %4, %cst_1 : f32
      %6 = arith.minimumf %5, %cst_2 : f32
      linalg.yield %6 : f32
    } -> tensor<5x6xf32>
    return %3 : tensor<5x6xf32>
  }
}
