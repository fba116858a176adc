func.func @main(%arg0: tensor<4x6xi32>, %arg1: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %0 = tensor.empty() : tensor<4x6xi32>
  %cst = arith.constant dense<3> : tensor<4x6xi32>
  %1 = arith.addi %arg0, %cst : tensor<4x6xi32>
  %2 = linalg.max ins(%1, %arg1 : tensor<4x6xi32>, tensor<4x6xi32>) outs(%0 : tensor<4x6xi32>) -> tensor<4x6xi32>
  %3 = linalg.elementwise kind=#linalg.elementwise_kind<min_unsigned> ins(%2, %arg1 : tensor<4x6xi32>, tensor<4x6xi32>) outs(%0 : tensor<4x6xi32>) -> tensor<4x6xi32>
  %4 = linalg.div ins(%3, %cst : tensor<4x6xi32>, tensor<4x6xi32>) outs(%0 : tensor<4x6xi32>) -> tensor<4x6xi32>
  return %4 : tensor<4x6xi32>
}
