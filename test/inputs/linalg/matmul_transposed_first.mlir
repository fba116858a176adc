// As torch-mlir prints x @ w.t(): the transpose is an operation of its own.
module attributes {torch.debug_module_name = "Linear"} {
  func.func @forward(%arg0: tensor<5x7xf32>, %arg1: tensor<6x7xf32>) -> tensor<5x6xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<7x6xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<6x7xf32>) outs(%0 : tensor<7x6xf32>) permutation = [1, 0]
    %1 = tensor.empty() : tensor<5x6xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<5x6xf32>) -> tensor<5x6xf32>
    %3 = linalg.matmul ins(%arg0, %transposed : tensor<5x7xf32>, tensor<7x6xf32>) outs(%2 : tensor<5x6xf32>) -> tensor<5x6xf32>
    return %3 : tensor<5x6xf32>
  }
}
