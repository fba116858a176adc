// As torch-mlir prints relu(x @ w.t() + b).
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
module attributes {torch.debug_module_name = "LinearRelu"} {
  ml_program.global private mutable @global_seed(dense<0> : tensor<i64>) : tensor<i64>
  func.func @forward(%arg0: tensor<5x7xf32>, %arg1: tensor<6x7xf32>, %arg2: tensor<6xf32>) -> tensor<5x6xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<7x6xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<6x7xf32>) outs(%0 : tensor<7x6xf32>) permutation = [1, 0]
    %1 = tensor.empty() : tensor<5x6xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %3 = linalg.matmul ins(%arg0, %transposed : tensor<5x7xf32>, tensor<7x6xf32>) outs(%2 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%3, %arg2 : tensor<5x6xf32>, tensor<6xf32>) outs(%1 : tensor<5x6xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %6 = arith.addf %in, %in_0 : f32
      linalg.yield %6 : f32
    } -> tensor<5x6xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<5x6xf32>) outs(%1 : tensor<5x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %6 = arith.cmpf ugt, %in, %cst : f32
      %7 = arith.select %6, %in, %cst : f32
      linalg.yield %7 : f32
    } -> tensor<5x6xf32>
    return %5 : tensor<5x6xf32>
  }
}
