// RUN: not coopc-opt %s -p 'coopc-lanes{device=intel-cpu}' 2>&1 | filecheck %s
// RUN: not coopc-opt %s -p 'coopc-khr{device=lavapipe}' 2>&1 | filecheck %s
// RUN: not coopc-opt %s -p 'coopc-khr{device=bmg}' 2>&1 | filecheck %s
// RUN: not coopc-opt %s -p 'coopc-xe{device=bmg}' 2>&1 | filecheck %s
// RUN: not coopc-opt %s -p coopc-cpu 2>&1 | filecheck %s
// RUN: not coopc-opt %s -p coopc-amx 2>&1 | filecheck %s

// What would be compiled for hours, and spill everywhere, is refused at once.

// CHECK: matrix_size_invalid.mlir:15:3: error: coopmatrix.fill: expected a matrix of at most 65536 elements, got 100000x100000: write a loop over smaller matrices

func.func @large(%m: memref<8x8xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %x = coopmatrix.fill %z : f32 -> !coopmatrix.matrix<100000x100000xf32, acc>
  coopmatrix.store %x, %m[%c0, %c0] row_major checked(rows, cols) : !coopmatrix.matrix<100000x100000xf32, acc>, memref<8x8xf32>
  func.return
}
