func.func @main(%arg0: tensor<5x7xi8>, %arg1: tensor<7x6xi8>) -> tensor<5x6xi32> {
  %c0_i32 = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<5x6xi32>
  %1 = linalg.fill ins(%c0_i32 : i32) outs(%0 : tensor<5x6xi32>) -> tensor<5x6xi32>
  %2 = linalg.matmul ins(%arg0, %arg1 : tensor<5x7xi8>, tensor<7x6xi8>) outs(%1 : tensor<5x6xi32>) -> tensor<5x6xi32>
  return %2 : tensor<5x6xi32>
}
