// RUN: coopc-opt %s --split-input-file --verify-diagnostics -p "inline-calls{matrices=true}" | filecheck %s

// CHECK: error: func.call: recursion is not supported: @again calls itself
func.func @again(%m: !coopmatrix.matrix<8x8xf32, acc>) {
  func.call @more(%m) : (!coopmatrix.matrix<8x8xf32, acc>) -> ()
  func.return
}
func.func @more(%m: !coopmatrix.matrix<8x8xf32, acc>) {
  func.call @again(%m) : (!coopmatrix.matrix<8x8xf32, acc>) -> ()
  func.return
}

// -----

// What has no body stays, and what nobody calls.
// CHECK-LABEL: builtin.module
// CHECK:       func.func private @outside(
// CHECK:       func.func @nobody(
// CHECK-NEXT:  func.call @outside(
func.func private @outside(!coopmatrix.matrix<8x8xf32, acc>)
func.func @nobody(%m: !coopmatrix.matrix<8x8xf32, acc>) {
  func.call @outside(%m) : (!coopmatrix.matrix<8x8xf32, acc>) -> ()
  func.return
}
