func.func @main(%arg0: tensor<5x7xf32>, %arg1: tensor<7x6xf32>, %arg2: tensor<5x6xf32>) -> tensor<5x6xf32> {
  %0 = linalg.matmul ins(%arg0, %arg1 : tensor<5x7xf32>, tensor<7x6xf32>) outs(%arg2 : tensor<5x6xf32>) -> tensor<5x6xf32>
  %1 = linalg.max ins(%0, %arg2 : tensor<5x6xf32>, tensor<5x6xf32>) outs(%arg2 : tensor<5x6xf32>) -> tensor<5x6xf32>
  return %1 : tensor<5x6xf32>
}
