// Heads in a dimension of their own, by linalg.contract: K is given transposed, and the
// batches and the length of K are known when the function runs.
#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d3)>
module {
  func.func @main(%arg0: tensor<?x3x5x8xf32>, %arg1: tensor<?x3x8x?xf32>, %arg2: tensor<?x3x?x8xf32>, %arg3: tensor<?xf32>) -> tensor<?x3x5x8xf32> {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %dim = tensor.dim %arg0, %c0 : tensor<?x3x5x8xf32>
    %dim_1 = tensor.dim %arg1, %c3 : tensor<?x3x8x?xf32>
    %0 = tensor.empty(%dim, %dim_1) : tensor<?x3x5x?xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<?x3x5x?xf32>) -> tensor<?x3x5x?xf32>
    %2 = linalg.contract indexing_maps = [#map, #map1, #map2] ins(%arg0, %arg1 : tensor<?x3x5x8xf32>, tensor<?x3x8x?xf32>) outs(%1 : tensor<?x3x5x?xf32>) -> tensor<?x3x5x?xf32>
    %3 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %arg3 : tensor<?x3x5x?xf32>, tensor<?xf32>) outs(%0 : tensor<?x3x5x?xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %8 = linalg.index 2 : index
      %9 = linalg.index 3 : index
      %10 = arith.cmpi sge, %8, %9 : index
      %11 = arith.addf %in, %in_2 : f32
      %12 = arith.select %10, %11, %cst_0 : f32
      linalg.yield %12 : f32
    } -> tensor<?x3x5x?xf32>
    %4 = linalg.softmax dimension(3) ins(%3 : tensor<?x3x5x?xf32>) outs(%0 : tensor<?x3x5x?xf32>) -> tensor<?x3x5x?xf32>
    %5 = tensor.empty(%dim) : tensor<?x3x5x8xf32>
    %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<?x3x5x8xf32>) -> tensor<?x3x5x8xf32>
    %7 = linalg.contract indexing_maps = [#map, #map1, #map2] ins(%4, %arg2 : tensor<?x3x5x?xf32>, tensor<?x3x?x8xf32>) outs(%6 : tensor<?x3x5x8xf32>) -> tensor<?x3x5x8xf32>
    return %7 : tensor<?x3x5x8xf32>
  }
}
