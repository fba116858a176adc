// RUN: coopc-opt %s --split-input-file -p 'coopc-xe{device=bmg}' -t llvm-ir 2>&1 | filecheck %s
// RUN: coopc-opt %s --split-input-file -p 'coopc-xe{device=dg2}' -t llvm-ir 2>&1 | filecheck %s --check-prefix DG2

// Products that DPAS does not compute are computed by work-items, and a launch sequence is
// in the interface, not in the code.

// CHECK: remark: linalg.matmul: each element by a work-item: DPAS does not multiply s8, s8, s64
// CHECK: remark: linalg.matmul: each element by a work-item: DPAS does not multiply f16, bf16, f32
// CHECK-NOT: f16, f16, f16
// DG2: remark: linalg.matmul: each element by a work-item: DPAS does not multiply f16, f16, f16

// CHECK: define spir_kernel void @wide
func.func @wide(%a: memref<24x32xi8>, %b: memref<32x40xi8>, %c: memref<24x40xi64>) {
  linalg.matmul ins(%a, %b : memref<24x32xi8>, memref<32x40xi8>) outs(%c : memref<24x40xi64>)
  func.return
}

// -----

// CHECK: define spir_kernel void @two_types
func.func @two_types(%a: memref<24x32xf16>, %b: memref<32x40xbf16>, %c: memref<24x40xf32>) {
  linalg.matmul ins(%a, %b : memref<24x32xf16>, memref<32x40xbf16>) outs(%c : memref<24x40xf32>)
  func.return
}

// -----

// CHECK: define spir_kernel void @narrow
// DG2: define spir_kernel void @narrow
func.func @narrow(%a: memref<24x32xf16>, %b: memref<32x40xf16>, %c: memref<24x40xf16>) {
  linalg.matmul ins(%a, %b : memref<24x32xf16>, memref<32x40xf16>) outs(%c : memref<24x40xf16>)
  func.return
}

// -----

// CHECK: define spir_kernel void @sequence.0
func.func @sequence(%a: tensor<9x24xf32>, %b: tensor<24x17xf32>, %c: tensor<9x17xf32>) -> tensor<9x17xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<9x24xf32>, tensor<24x17xf32>) outs(%c : tensor<9x17xf32>) -> tensor<9x17xf32>
  func.return %r : tensor<9x17xf32>
}
