module {
  func.func @main(%arg0: tensor<4x6xf32>, %arg1: tensor<6x4xf32>, %arg2: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %c1 = arith.constant 1 : index
    %cst = arith.constant 0.000000e+00 : f32
    %extracted = tensor.extract %arg0[%c1, %c1] : tensor<4x6xf32>
    %0 = arith.cmpf ogt, %extracted, %cst : f32
    %1:2 = scf.if %0 -> (tensor<4x4xf32>, f32) {
      %3 = linalg.matmul ins(%arg0, %arg1 : tensor<4x6xf32>, tensor<6x4xf32>) outs(%arg2 : tensor<4x4xf32>) -> tensor<4x4xf32>
      scf.yield %3, %extracted : tensor<4x4xf32>, f32
    } else {
      scf.yield %arg2, %cst : tensor<4x4xf32>, f32
    }
    %splat = tensor.splat %1#1 : tensor<4x4xf32>
    %2 = arith.addf %1#0, %splat : tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  }
}
