#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
module {
  func.func @main(%arg0: tensor<?x8xf32>, %arg1: tensor<8x10xf32>, %arg2: tensor<10xf32>, %arg3: tensor<10x6xf32>) -> tensor<?x6xf32> {
    %c0 = arith.constant 0 : index
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 5.000000e-01 : f32
    %cst_1 = arith.constant 1.000000e+00 : f32
    %cst_2 = arith.constant 0.707106769 : f32
    %dim = tensor.dim %arg0, %c0 : tensor<?x8xf32>
    %0 = tensor.empty(%dim) : tensor<?x10xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<?x10xf32>) -> tensor<?x10xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<?x8xf32>, tensor<8x10xf32>) outs(%1 : tensor<?x10xf32>) -> tensor<?x10xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%2, %arg2 : tensor<?x10xf32>, tensor<10xf32>) outs(%0 : tensor<?x10xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %7 = arith.addf %in, %in_3 : f32
      %8 = arith.mulf %7, %cst_2 : f32
      %9 = math.erf %8 : f32
      %10 = arith.addf %9, %cst_1 : f32
      %11 = arith.mulf %10, %cst_0 : f32
      %12 = arith.mulf %7, %11 : f32
      linalg.yield %12 : f32
    } -> tensor<?x10xf32>
    %4 = tensor.empty(%dim) : tensor<?x6xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<?x6xf32>) -> tensor<?x6xf32>
    %6 = linalg.matmul ins(%3, %arg3 : tensor<?x10xf32>, tensor<10x6xf32>) outs(%5 : tensor<?x6xf32>) -> tensor<?x6xf32>
    return %6 : tensor<?x6xf32>
  }
}
