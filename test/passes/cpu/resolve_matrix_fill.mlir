// RUN: coopc-opt %s -p resolve-matrix-fill{device=amx},check-dominance | filecheck %s

// The example of the document: a fill of zero, and a loop that inserts the value.
// CHECK-LABEL: func.func @value(
// CHECK-NEXT:  %0 = arith.constant 0 : i32
// CHECK-NEXT:  %zero = coopmatrix.fill %0 : i32 -> !coopmatrix.matrix<4x4xi32, none>
// CHECK-NEXT:  %c0 = arith.constant 0 : index
// CHECK-NEXT:  %c1 = arith.constant 1 : index
// CHECK-NEXT:  %length = coopmatrix.length !coopmatrix.matrix<4x4xi32, none> : index
// CHECK-NEXT:  %mat = scf.for %i = %c0 to %length step %c1 iter_args(%it = %zero)
// CHECK-NEXT:    %1 = coopmatrix.insert %Input, %it[%i] : !coopmatrix.matrix<4x4xi32, none>
// CHECK-NEXT:    scf.yield %1 : !coopmatrix.matrix<4x4xi32, none>
// CHECK:       func.call @foo(%mat)
func.func private @foo(!coopmatrix.matrix<4x4xi32, none>)
func.func @value(%Input: i32) {
  %mat = coopmatrix.fill %Input : i32 -> !coopmatrix.matrix<4x4xi32, none>
  func.call @foo(%mat) : (!coopmatrix.matrix<4x4xi32, none>) -> ()
  func.return
}

// What an opaque pointer points to is of the matrix's element type.
// CHECK-LABEL: func.func @pointers(
// CHECK-NEXT:  %value = llvm.load %p : !llvm.ptr -> i32
// CHECK:       coopmatrix.insert %value
// CHECK:       %value_1 = memref.load %q[] : memref<i32>
// CHECK:       coopmatrix.insert %value_1
func.func @pointers(%p: !llvm.ptr, %q: memref<i32>) {
  %m = coopmatrix.fill %p : !llvm.ptr -> !coopmatrix.matrix<4x4xi32, none>
  %n = coopmatrix.fill %q : memref<i32> -> !coopmatrix.matrix<4x4xi32, none>
  func.return
}

// Only +0 is what the device fills natively, of whatever type.
// CHECK-LABEL: func.func @zeros(
// CHECK-NEXT:  %z = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:  %m = coopmatrix.fill %z : f64
// CHECK-NEXT:  %y = arith.constant -0.000000e+00 : f32
// CHECK:       scf.for
// CHECK:       coopmatrix.insert %y
func.func @zeros() {
  %z = arith.constant 0.0 : f64
  %m = coopmatrix.fill %z : f64 -> !coopmatrix.matrix<4x4xf32, none>
  %y = arith.constant -0.0 : f32
  %n = coopmatrix.fill %y : f32 -> !coopmatrix.matrix<4x4xf32, none>
  func.return
}
