func.func @main(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %0 = tensor.empty() : tensor<4x6xf32>
  %mapped = linalg.map ins(%arg0, %arg1 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>)
    (%in: f32, %in_0: f32, %init: f32) {
      %1 = arith.mulf %in, %in_0 : f32
      %2 = arith.addf %1, %cst : f32
      linalg.yield %2 : f32
    }
  return %mapped : tensor<4x6xf32>
}
