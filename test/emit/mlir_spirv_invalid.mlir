// RUN: coopc-opt %s --split-input-file --verify-diagnostics -t 'mlir-spirv{device=lavapipe}' \
// RUN:   | filecheck %s

// What upstream's dialect lacks is refused by its name, and the line of upstream's
// source that would list it.

// CHECK: builtin.module: expected what the spirv dialect of LLVM 22 has, got OpAtomicStore (mlir/include/mlir/Dialect/SPIRV/IR/SPIRVBase.td:4617)
func.func @atomic(%m: memref<?xi32>, %x: i32) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  memref.store %x, %m[%c0] {simt.ordering = "release"} : memref<?xi32>
  func.return
}

// -----

// CHECK: builtin.module: expected what the spirv dialect of LLVM 22 has, got SPV_NV_cooperative_matrix2 (mlir/include/mlir/Dialect/SPIRV/IR/SPIRVBase.td:430)
func.func @reduce(%m: memref<16x16xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %x = coopmatrix.load %m[%c0, %c0] row_major : memref<16x16xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  %y = coopmatrix.reduce max rows %x : !coopmatrix.matrix<16x16xf32, acc> -> !coopmatrix.matrix<16x16xf32, acc>
  coopmatrix.store %y, %m[%c0, %c0] row_major : !coopmatrix.matrix<16x16xf32, acc>, memref<16x16xf32>
  func.return
}
