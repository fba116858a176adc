// Heads in a dimension of their own, as torch-mlir prints scaled_dot_product_attention:
// products of collapsed batches, and a softmax that keeps the dimension that it reduces.
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @main(%arg0: tensor<2x3x5x8xf32>, %arg1: tensor<2x3x6x8xf32>, %arg2: tensor<2x3x6x8xf32>, %arg3: tensor<2x1x5x6xf32>) -> tensor<2x3x5x8xf32> {
    %cst = arith.constant 5.000000e-01 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %cst_1 = arith.constant 0xFF800000 : f32
    %c0_i64 = arith.constant 0 : i64
    %0 = tensor.empty() : tensor<2x3x8x6xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x3x6x8xf32>) outs(%0 : tensor<2x3x8x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x3x8x6xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x3x5x8xf32> into tensor<6x5x8xf32>
    %collapsed_2 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x3x8x6xf32> into tensor<6x8x6xf32>
    %2 = tensor.empty() : tensor<6x5x6xf32>
    %3 = linalg.fill ins(%cst_0 : f32) outs(%2 : tensor<6x5x6xf32>) -> tensor<6x5x6xf32>
    %4 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<6x5x8xf32>, tensor<6x8x6xf32>) outs(%3 : tensor<6x5x6xf32>) -> tensor<6x5x6xf32>
    %expanded = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 3, 5, 6] : tensor<6x5x6xf32> into tensor<2x3x5x6xf32>
    %5 = tensor.empty() : tensor<2x3x5x6xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x3x5x6xf32>) outs(%5 : tensor<2x3x5x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %22 = arith.mulf %in, %cst : f32
      linalg.yield %22 : f32
    } -> tensor<2x3x5x6xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %arg3 : tensor<2x3x5x6xf32>, tensor<2x1x5x6xf32>) outs(%5 : tensor<2x3x5x6xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %22 = arith.addf %in, %in_6 : f32
      linalg.yield %22 : f32
    } -> tensor<2x3x5x6xf32>
    %8 = tensor.empty() : tensor<2x3x5x1xi64>
    %9 = linalg.fill ins(%c0_i64 : i64) outs(%8 : tensor<2x3x5x1xi64>) -> tensor<2x3x5x1xi64>
    %10 = tensor.empty() : tensor<2x3x5x1xf32>
    %11 = linalg.fill ins(%cst_1 : f32) outs(%10 : tensor<2x3x5x1xf32>) -> tensor<2x3x5x1xf32>
    %12:2 = linalg.generic {indexing_maps = [#map, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%7 : tensor<2x3x5x6xf32>) outs(%11, %9 : tensor<2x3x5x1xf32>, tensor<2x3x5x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_6: i64):
      %22 = linalg.index 3 : index
      %23 = arith.index_cast %22 : index to i64
      %24 = arith.maximumf %in, %out : f32
      %25 = arith.cmpf ogt, %in, %out : f32
      %26 = arith.select %25, %23, %out_6 : i64
      linalg.yield %24, %26 : f32, i64
    } -> (tensor<2x3x5x1xf32>, tensor<2x3x5x1xi64>)
    %13 = linalg.generic {indexing_maps = [#map, #map3, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7, %12#0 : tensor<2x3x5x6xf32>, tensor<2x3x5x1xf32>) outs(%5 : tensor<2x3x5x6xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %22 = arith.subf %in, %in_6 : f32
      linalg.yield %22 : f32
    } -> tensor<2x3x5x6xf32>
    %14 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<2x3x5x6xf32>) outs(%5 : tensor<2x3x5x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %22 = math.exp %in : f32
      linalg.yield %22 : f32
    } -> tensor<2x3x5x6xf32>
    %15 = linalg.fill ins(%cst_0 : f32) outs(%10 : tensor<2x3x5x1xf32>) -> tensor<2x3x5x1xf32>
    %16 = linalg.generic {indexing_maps = [#map, #map3], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%14 : tensor<2x3x5x6xf32>) outs(%15 : tensor<2x3x5x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %22 = arith.addf %in, %out : f32
      linalg.yield %22 : f32
    } -> tensor<2x3x5x1xf32>
    %17 = linalg.generic {indexing_maps = [#map, #map3, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %16 : tensor<2x3x5x6xf32>, tensor<2x3x5x1xf32>) outs(%5 : tensor<2x3x5x6xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %22 = arith.divf %in, %in_6 : f32
      linalg.yield %22 : f32
    } -> tensor<2x3x5x6xf32>
    %collapsed_3 = tensor.collapse_shape %17 [[0, 1], [2], [3]] : tensor<2x3x5x6xf32> into tensor<6x5x6xf32>
    %collapsed_4 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x3x6x8xf32> into tensor<6x6x8xf32>
    %18 = tensor.empty() : tensor<6x5x8xf32>
    %19 = linalg.fill ins(%cst_0 : f32) outs(%18 : tensor<6x5x8xf32>) -> tensor<6x5x8xf32>
    %20 = linalg.batch_matmul ins(%collapsed_3, %collapsed_4 : tensor<6x5x6xf32>, tensor<6x6x8xf32>) outs(%19 : tensor<6x5x8xf32>) -> tensor<6x5x8xf32>
    %expanded_5 = tensor.expand_shape %20 [[0, 1], [2], [3]] output_shape [2, 3, 5, 8] : tensor<6x5x8xf32> into tensor<2x3x5x8xf32>
    return %expanded_5 : tensor<2x3x5x8xf32>
  }
}
