// As StableHLO's lowering prints it: the bias is broadcast first.
module @jit_layer {
  func.func public @main(%arg0: tensor<5x7xf32>, %arg1: tensor<7x6xf32>, %arg2: tensor<6xf32>) -> tensor<5x6xf32> {
    %0 = tensor.empty() : tensor<5x6xf32>
    %cst = arith.constant 0.000000e+00 : f32
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<5x7xf32>, tensor<7x6xf32>) outs(%1 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %3 = tensor.empty() : tensor<5x6xf32>
    %broadcasted = linalg.broadcast ins(%arg2 : tensor<6xf32>) outs(%3 : tensor<5x6xf32>) dimensions = [0]
    %4 = tensor.empty() : tensor<5x6xf32>
    %mapped = linalg.map { arith.addf } ins(%2, %broadcasted : tensor<5x6xf32>, tensor<5x6xf32>) outs(%4 : tensor<5x6xf32>)
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<5x6xf32>
    %5 = tensor.empty() : tensor<5x6xf32>
    %mapped_1 = linalg.map { arith.maximumf } ins(%mapped, %cst_0 : tensor<5x6xf32>, tensor<5x6xf32>) outs(%5 : tensor<5x6xf32>)
    return %mapped_1 : tensor<5x6xf32>
  }
}
