// The same by name, and scaled back to i8.
#map = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @main(%arg0: tensor<5x7xi8>, %arg1: tensor<7x6xi8>) -> tensor<5x6xi8> {
    %c0_i32 = arith.constant 0 : i32
    %c3_i32 = arith.constant 3 : i32
    %c-2_i32 = arith.constant -2 : i32
    %cst = arith.constant 2.500000e-01 : f32
    %cst_0 = arith.constant -1.280000e+02 : f32
    %cst_1 = arith.constant 1.270000e+02 : f32
    %0 = tensor.empty() : tensor<5x6xi32>
    %1 = linalg.fill ins(%c0_i32 : i32) outs(%0 : tensor<5x6xi32>) -> tensor<5x6xi32>
    %2 = linalg.quantized_matmul ins(%arg0, %arg1, %c3_i32, %c-2_i32 : tensor<5x7xi8>, tensor<7x6xi8>, i32, i32) outs(%1 : tensor<5x6xi32>) -> tensor<5x6xi32>
    %3 = tensor.empty() : tensor<5x6xi8>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<5x6xi32>) outs(%3 : tensor<5x6xi8>) {
    ^bb0(%in: i32, %out: i8):
      %5 = arith.sitofp %in : i32 to f32
      %6 = arith.mulf %5, %cst : f32
      %7 = math.roundeven %6 : f32
      %8 = arith.maximumf %7, %cst_0 : f32
      %9 = arith.minimumf %8, %cst_1 : f32
      %10 = arith.fptosi %9 : f32 to i8
      linalg.yield %10 : i8
    } -> tensor<5x6xi8>
    return %4 : tensor<5x6xi8>
  }
}
