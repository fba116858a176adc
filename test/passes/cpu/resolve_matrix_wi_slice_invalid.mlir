// RUN: coopc-opt %s --split-input-file --verify-diagnostics -p resolve-matrix-wi-slice | filecheck %s

// Each work-item's own matrices have no row slices.

// CHECK: expected a matrix of a subgroup or a work-group, got !coopmatrix.matrix<4x4xi32, acc, scope = invocation>
func.func @own() {
  %n = coopmatrix.length !coopmatrix.matrix<4x4xi32, acc, scope = invocation> : index
  func.return
}

// -----

// CHECK: expected coopmatrix.distribution to be absent or #layout.row_slice, got #layout.coopmatrix
func.func @elsewhere() attributes {simt.kernel, coopmatrix.distribution = #layout.coopmatrix} {
  %n = coopmatrix.length !coopmatrix.matrix<4x4xi32, acc> : index
  func.return
}

// -----

// CHECK: expected numbers for sizes and scope, got !coopmatrix.matrix<@M x 4 x i32, acc>
coopmatrix.spec_constant @M = 4 : i32
func.func @named() {
  %n = coopmatrix.length !coopmatrix.matrix<@M x 4 x i32, acc> : index
  func.return
}
