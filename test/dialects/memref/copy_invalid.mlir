// RUN: coopc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: memref.copy: expected memrefs of one shape, got memref<?x2xf32>, memref<16x3xf32>
func.func @f(%a: memref<?x2xf32>, %b: memref<16x3xf32>) {
  memref.copy %a, %b : memref<?x2xf32> to memref<16x3xf32>
  func.return
}

// -----

// CHECK: memref.copy: expected memrefs of one shape, got memref<2xf32>, memref<2x1xf32>
func.func @f(%a: memref<2xf32>, %b: memref<2x1xf32>) {
  memref.copy %a, %b : memref<2xf32> to memref<2x1xf32>
  func.return
}

// -----

// CHECK: memref.copy: expected memrefs of one element type, got memref<?xf32>, memref<4xi32>
func.func @f(%a: memref<?xf32>, %b: memref<4xi32>) {
  memref.copy %a, %b : memref<?xf32> to memref<4xi32>
  func.return
}
