#map = affine_map<(d0, d1) -> (d0, d1)>
module @jit_gelu {
  func.func public @main(%arg0: tensor<5x7xf32>, %arg1: tensor<7x6xf32>) -> tensor<5x6xf32> {
    %0 = tensor.empty() : tensor<5x6xf32>
    %cst = arith.constant 0.000000e+00 : f32
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<5x7xf32>, tensor<7x6xf32>) outs(%1 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %cst_0 = arith.constant 4.471500e-02 : f32
    %cst_1 = arith.constant 0.797884583 : f32
    %cst_2 = arith.constant 1.000000e+00 : f32
    %cst_3 = arith.constant 5.000000e-01 : f32
    %3 = tensor.empty() : tensor<5x6xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<5x6xf32>) outs(%3 : tensor<5x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %5 = arith.mulf %in, %in : f32
      %6 = arith.mulf %5, %in : f32
      %7 = arith.mulf %6, %cst_0 : f32
      %8 = arith.addf %in, %7 : f32
      %9 = arith.mulf %8, %cst_1 : f32
      %10 = math.tanh %9 : f32
      %11 = arith.addf %10, %cst_2 : f32
      %12 = arith.mulf %11, %cst_3 : f32
      %13 = arith.mulf %in, %12 : f32
      linalg.yield %13 : f32
    } -> tensor<5x6xf32>
    return %4 : tensor<5x6xf32>
  }
}
