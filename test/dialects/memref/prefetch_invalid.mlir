// RUN: coopc-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: expected 2 indices, one for each dimension of the memref, got 1
func.func @rank(%a: memref<8x16xf32>, %i: index) {
  memref.prefetch %a[%i], read, locality<2>, data : memref<8x16xf32>
  func.return
}

// -----

// CHECK: expected a locality of 0 to 3, got 4
func.func @far(%a: memref<8xf32>, %i: index) {
  memref.prefetch %a[%i], read, locality<4>, data : memref<8xf32>
  func.return
}

// -----

// CHECK: prefetch_invalid.mlir:21:27: error: expected read or write, got look
func.func @neither(%a: memref<8xf32>, %i: index) {
  memref.prefetch %a[%i], look, locality<3>, data : memref<8xf32>
  func.return
}
