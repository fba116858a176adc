// RUN: coopc-opt %s --split-input-file -p 'pack-coopmatrix-b{device=intel-cpu kernel=true}' --verify-diagnostics | filecheck %s
// RUN: not coopc-opt %root/examples/gemm.mlir -p 'pack-coopmatrix-b{device=bgm}' -o %t.mlir 2>&1 | filecheck %s --check-prefix DEVICE
// RUN: not coopc-opt %root/examples/gemm.mlir -p pack-coopmatrix-b 2>&1 | filecheck %s --check-prefix NONE

// What cannot be packed before.

// DEVICE: error: pack-coopmatrix-b: unknown device 'bgm', did you mean 'bmg'?
// NONE: error: pack-coopmatrix-b: expected a device, pack-coopmatrix-b{device=..}, or simt.target on the module, got neither

func.func @k(%b: memref<64x64xf16>, %k: index) attributes {simt.kernel} {
  // CHECK: error: coopmatrix.load: expected rows of B from a multiple of 2 on, as a channel has 2 rows
  %x = coopmatrix.load %b[%k, %k] row_major : memref<64x64xf16> -> !coopmatrix.matrix<32x16xf16, b>
  func.return
}

// -----

func.func @k(%b: memref<64x64xf16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %b[%0, %0] row_major : memref<64x64xf16> -> !coopmatrix.matrix<32x16xf16, b>
  // CHECK: error: memref.load: B is packed in advance, so only loads of it are supported
  %y = memref.load %b[%0, %0] : memref<64x64xf16>
  func.return
}

// -----

func.func @k(%b: memref<64x64xf16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %b[%0, %0] row_major : memref<64x64xf16> -> !coopmatrix.matrix<32x16xf16, b>
  // CHECK: error: coopmatrix.load: expected one B in one layout of memory, got another
  %y = coopmatrix.load %b[%0, %0] col_major : memref<64x64xf16> -> !coopmatrix.matrix<32x16xf16, b>
  func.return
}

// -----

func.func @k() attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %b = memref.alloca() : memref<64x64xf16, #simt.memory<workgroup>>
  // CHECK: error: coopmatrix.load: expected B to be an argument of the kernel
  %x = coopmatrix.load %b[%0, %0] row_major : memref<64x64xf16, #simt.memory<workgroup>> -> !coopmatrix.matrix<32x16xf16, b>
  func.return
}

// -----

// CHECK: error: func.func: expected a grid that does not depend on the sizes of B
func.func @k(%b: memref<64x?xf16>) attributes {simt.kernel, simt.grid = affine_map<(n) -> (n ceildiv 16)>} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %b[%0, %0] row_major : memref<64x?xf16> -> !coopmatrix.matrix<32x16xf16, b>
  func.return
}
