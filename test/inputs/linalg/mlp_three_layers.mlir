// Of functions that are called, as a host language with layers prints it.
module {
  func.func private @layer(%arg0: tensor<?x?xf32>, %arg1: tensor<?x?xf32>, %arg2: tensor<?xf32>) -> tensor<?x?xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant 0.000000e+00 : f32
    %dim = tensor.dim %arg0, %c0 : tensor<?x?xf32>
    %dim_0 = tensor.dim %arg1, %c1 : tensor<?x?xf32>
    %0 = tensor.empty(%dim, %dim_0) : tensor<?x?xf32>
    %broadcasted = linalg.broadcast ins(%arg2 : tensor<?xf32>) outs(%0 : tensor<?x?xf32>) dimensions = [0]
    %1 = linalg.matmul ins(%arg0, %arg1 : tensor<?x?xf32>, tensor<?x?xf32>) outs(%broadcasted : tensor<?x?xf32>) -> tensor<?x?xf32>
    %2 = call @activation(%1) : (tensor<?x?xf32>) -> tensor<?x?xf32>
    return %2 : tensor<?x?xf32>
  }
  func.func private @activation(%arg0: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %0 = math.tanh %arg0 : tensor<?x?xf32>
    return %0 : tensor<?x?xf32>
  }
  func.func @main(%arg0: tensor<?x?xf32>, %arg1: tensor<?x?xf32>, %arg2: tensor<?xf32>, %arg3: tensor<?x?xf32>, %arg4: tensor<?xf32>, %arg5: tensor<?x?xf32>, %arg6: tensor<?xf32>) -> tensor<?x?xf32> {
    %0 = call @layer(%arg0, %arg1, %arg2) : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?xf32>
    %1 = call @layer(%0, %arg3, %arg4) : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?xf32>
    %2 = call @layer(%1, %arg5, %arg6) : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?xf32>
    return %2 : tensor<?x?xf32>
  }
}
