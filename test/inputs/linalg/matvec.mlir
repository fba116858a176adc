func.func @main(%arg0: tensor<5x7xf32>, %arg1: tensor<7xf32>, %arg2: tensor<5xf32>) -> tensor<5xf32> {
  %0 = linalg.matvec ins(%arg0, %arg1 : tensor<5x7xf32>, tensor<7xf32>) outs(%arg2 : tensor<5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
