module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %0 = arith.cmpi slt, %c2, %c5 : index
    %1 = tensor.empty() : tensor<4x6xf32>
    %2 = scf.if %0 -> (tensor<4x6xf32>) {
      %3 = linalg.abs ins(%arg0 : tensor<4x6xf32>) outs(%1 : tensor<4x6xf32>) -> tensor<4x6xf32>
      scf.yield %3 : tensor<4x6xf32>
    } else {
      scf.yield %arg0 : tensor<4x6xf32>
    }
    return %2 : tensor<4x6xf32>
  }
}
