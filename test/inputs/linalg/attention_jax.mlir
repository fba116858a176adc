// Heads in a dimension of their own, as StableHLO's dot_general, iota, select and reduce
// become linalg: JAX takes the maximum with what it begins with once more.
#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0, d1) -> (d0, d1)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map8 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module @jit_attention {
  func.func public @main(%arg0: tensor<2x3x5x8xf32>, %arg1: tensor<2x3x5x8xf32>, %arg2: tensor<2x3x5x8xf32>) -> tensor<2x3x5x8xf32> {
    %cst = arith.constant 2.500000e-01 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %cst_1 = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<2x3x5x5xf32>
    %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>) outs(%1 : tensor<2x3x5x5xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %30 = arith.mulf %in, %in_4 : f32
      %31 = arith.addf %out, %30 : f32
      linalg.yield %31 : f32
    } -> tensor<2x3x5x5xf32>
    %3 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x3x5x5xf32>) outs(%0 : tensor<2x3x5x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.mulf %in, %cst : f32
      linalg.yield %30 : f32
    } -> tensor<2x3x5x5xf32>
    %4 = tensor.empty() : tensor<5x5xi32>
    %5 = linalg.generic {indexing_maps = [#map5], iterator_types = ["parallel", "parallel"]} outs(%4 : tensor<5x5xi32>) {
    ^bb0(%out: i32):
      %30 = linalg.index 0 : index
      %31 = arith.index_cast %30 : index to i32
      linalg.yield %31 : i32
    } -> tensor<5x5xi32>
    %6 = linalg.generic {indexing_maps = [#map5], iterator_types = ["parallel", "parallel"]} outs(%4 : tensor<5x5xi32>) {
    ^bb0(%out: i32):
      %30 = linalg.index 1 : index
      %31 = arith.index_cast %30 : index to i32
      linalg.yield %31 : i32
    } -> tensor<5x5xi32>
    %7 = tensor.empty() : tensor<5x5xi1>
    %8 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel"]} ins(%5, %6 : tensor<5x5xi32>, tensor<5x5xi32>) outs(%7 : tensor<5x5xi1>) {
    ^bb0(%in: i32, %in_4: i32, %out: i1):
      %30 = arith.cmpi sge, %in, %in_4 : i32
      linalg.yield %30 : i1
    } -> tensor<5x5xi1>
    %9 = linalg.generic {indexing_maps = [#map6, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %3 : tensor<5x5xi1>, tensor<2x3x5x5xf32>) outs(%0 : tensor<2x3x5x5xf32>) {
    ^bb0(%in: i1, %in_4: f32, %out: f32):
      %30 = arith.select %in, %in_4, %cst_1 : f32
      linalg.yield %30 : f32
    } -> tensor<2x3x5x5xf32>
    %10 = tensor.empty() : tensor<2x3x5xf32>
    %11 = linalg.fill ins(%cst_1 : f32) outs(%10 : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
    %reduced = linalg.reduce ins(%9 : tensor<2x3x5x5xf32>) outs(%11 : tensor<2x3x5xf32>) dimensions = [3]
      (%in: f32, %init: f32) {
        %30 = arith.maximumf %init, %in : f32
        linalg.yield %30 : f32
      }
    %12 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel"]} ins(%11, %reduced : tensor<2x3x5xf32>, tensor<2x3x5xf32>) outs(%10 : tensor<2x3x5xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %30 = arith.maximumf %in, %in_4 : f32
      linalg.yield %30 : f32
    } -> tensor<2x3x5xf32>
    %13 = tensor.empty() : tensor<2x3x5x1xf32>
    %14 = linalg.generic {indexing_maps = [#map7, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12 : tensor<2x3x5xf32>) outs(%13 : tensor<2x3x5x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x3x5x1xf32>
    %15 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<2x3x5x1xf32>) outs(%0 : tensor<2x3x5x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x3x5x5xf32>
    %16 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9, %15 : tensor<2x3x5x5xf32>, tensor<2x3x5x5xf32>) outs(%0 : tensor<2x3x5x5xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %30 = arith.subf %in, %in_4 : f32
      linalg.yield %30 : f32
    } -> tensor<2x3x5x5xf32>
    %17 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<2x3x5x5xf32>) outs(%0 : tensor<2x3x5x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = math.exp %in : f32
      linalg.yield %30 : f32
    } -> tensor<2x3x5x5xf32>
    %18 = linalg.fill ins(%cst_0 : f32) outs(%10 : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
    %reduced_2 = linalg.reduce ins(%17 : tensor<2x3x5x5xf32>) outs(%18 : tensor<2x3x5xf32>) dimensions = [3]
      (%in: f32, %init: f32) {
        %30 = arith.addf %init, %in : f32
        linalg.yield %30 : f32
      }
    %19 = linalg.generic {indexing_maps = [#map7, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%reduced_2 : tensor<2x3x5xf32>) outs(%13 : tensor<2x3x5x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x3x5x1xf32>
    %20 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19 : tensor<2x3x5x1xf32>) outs(%0 : tensor<2x3x5x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x3x5x5xf32>
    %21 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17, %20 : tensor<2x3x5x5xf32>, tensor<2x3x5x5xf32>) outs(%0 : tensor<2x3x5x5xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %30 = arith.divf %in, %in_4 : f32
      linalg.yield %30 : f32
    } -> tensor<2x3x5x5xf32>
    %22 = tensor.empty() : tensor<2x3x5x8xf32>
    %23 = linalg.fill ins(%cst_0 : f32) outs(%22 : tensor<2x3x5x8xf32>) -> tensor<2x3x5x8xf32>
    %24 = linalg.generic {indexing_maps = [#map, #map3, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%21, %arg2 : tensor<2x3x5x5xf32>, tensor<2x3x5x8xf32>) outs(%23 : tensor<2x3x5x8xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %30 = arith.mulf %in, %in_4 : f32
      %31 = arith.addf %out, %30 : f32
      linalg.yield %31 : f32
    } -> tensor<2x3x5x8xf32>
    return %24 : tensor<2x3x5x8xf32>
  }
}
