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

// CHECK: builtin.module: expected what the spirv dialect of LLVM 22 has, got the scope of MakePointerVisible|NonPrivatePointer (mlir/include/mlir/Dialect/SPIRV/IR/SPIRVCooperativeMatrixOps.td:133)
func.func @shared(%m: memref<8x8xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %x = coopmatrix.load %m[%c0, %c0] row_major visible = workgroup : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %x, %m[%c0, %c0] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}
