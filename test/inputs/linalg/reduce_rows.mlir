func.func @main(%arg0: tensor<5x9xf32>) -> tensor<5xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<5xf32>
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<5xf32>) -> tensor<5xf32>
  %reduced = linalg.reduce { arith.addf } ins(%arg0 : tensor<5x9xf32>) outs(%1 : tensor<5xf32>) dimensions = [1]
  return %reduced : tensor<5xf32>
}
