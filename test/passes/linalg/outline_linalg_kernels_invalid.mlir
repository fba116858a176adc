// RUN: coopc-opt %s -p outline-linalg-kernels --verify-diagnostics | filecheck %s

func.func @pad(%x: tensor<4x6xf32>) -> tensor<6x6xf32> {
  %zero = arith.constant 0.0 : f32
  %y = tensor.pad %x low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<4x6xf32> to tensor<6x6xf32>
  return %y : tensor<6x6xf32>
}
// CHECK: tensor.pad: no kernel does it, and the host does not either
