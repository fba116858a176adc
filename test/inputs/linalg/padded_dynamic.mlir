func.func @main(%arg0: tensor<?x4xf32>, %arg1: index) -> tensor<?x6xf32> {
  %cst = arith.constant 1.000000e+00 : f32
  %padded = tensor.pad %arg0 low[%arg1, 1] high[0, 1] {
  ^bb0(%arg2: index, %arg3: index):
    tensor.yield %cst : f32
  } : tensor<?x4xf32> to tensor<?x6xf32>
  %c0 = arith.constant 0 : index
  %dim = tensor.dim %padded, %c0 : tensor<?x6xf32>
  %0 = tensor.empty(%dim) : tensor<?x6xf32>
  %1 = linalg.negf ins(%padded : tensor<?x6xf32>) outs(%0 : tensor<?x6xf32>) -> tensor<?x6xf32>
  return %1 : tensor<?x6xf32>
}
