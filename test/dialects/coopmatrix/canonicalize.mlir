// RUN: coopc-opt %s -p canonicalize --split-input-file | filecheck %s

// Each fold, and beside it the near miss that has to stay.  Matrices that are used go
// to "test.op": what nothing uses is erased.

// A constant is filled in the type of the elements, rounded once.

// CHECK-LABEL: func.func @fill_converts_constant(
func.func @fill_converts_constant() {
  %f = arith.constant 0.1 : f32
  %n = arith.constant -1 : index
  %i = arith.constant 300 : i32
  // CHECK-NEXT: %h = arith.constant 9.997560e-02 : f16
  // CHECK-NEXT: %h_1 = coopmatrix.fill %h : f16 -> !coopmatrix.matrix<8x4xf16, acc>
  %h = coopmatrix.fill %f : f32 -> !coopmatrix.matrix<8x4xf16, acc>
  // CHECK-NEXT: %s = arith.constant -1.000000e+00 : f32
  // CHECK-NEXT: %s_1 = coopmatrix.fill %s : f32 -> !coopmatrix.matrix<8x4xf32, acc>
  %s = coopmatrix.fill %n : index -> !coopmatrix.matrix<8x4xf32, acc>
  // CHECK-NEXT: %b = arith.constant 44 : i8
  // CHECK-NEXT: %b_1 = coopmatrix.fill %b : i8 -> !coopmatrix.matrix<8x4xi8, acc>
  %b = coopmatrix.fill %i : i32 -> !coopmatrix.matrix<8x4xi8, acc>
  "test.op"(%h, %s, %b) : (!coopmatrix.matrix<8x4xf16, acc>, !coopmatrix.matrix<8x4xf32, acc>, !coopmatrix.matrix<8x4xi8, acc>) -> ()
  func.return
}

// CHECK-LABEL: func.func @fill_keeps_undefined_and_unknown(
func.func @fill_keeps_undefined_and_unknown(%x: f32, %p: memref<f32>) {
  // 300.0 does not fit in i8.
  // CHECK:      coopmatrix.fill %f : f32 -> !coopmatrix.matrix<8x4xi8, acc>
  // CHECK-NEXT: coopmatrix.fill %x : f32 -> !coopmatrix.matrix<8x4xf16, acc>
  // CHECK-NEXT: coopmatrix.fill %p : memref<f32> -> !coopmatrix.matrix<8x4xf16, acc>
  %f = arith.constant 300.0 : f32
  %0 = coopmatrix.fill %f : f32 -> !coopmatrix.matrix<8x4xi8, acc>
  %1 = coopmatrix.fill %x : f32 -> !coopmatrix.matrix<8x4xf16, acc>
  %2 = coopmatrix.fill %p : memref<f32> -> !coopmatrix.matrix<8x4xf16, acc>
  "test.op"(%0, %1, %2) : (!coopmatrix.matrix<8x4xi8, acc>, !coopmatrix.matrix<8x4xf16, acc>, !coopmatrix.matrix<8x4xf16, acc>) -> ()
  func.return
}

// The sign of zero is kept.
// CHECK-LABEL: func.func @fill_negative_zero(
func.func @fill_negative_zero() {
  // CHECK-NEXT: arith.constant -0.000000e+00 : f16
  %z = arith.constant -0.0 : f32
  %0 = coopmatrix.fill %z : f32 -> !coopmatrix.matrix<8x4xf16, acc>
  "test.op"(%0) : (!coopmatrix.matrix<8x4xf16, acc>) -> ()
  func.return
}

// -----

// Integers times 0 plus c is c.

// CHECK-LABEL: func.func @zero_a(
// CHECK-SAME:  %c: !coopmatrix.matrix<8x4xi32, acc>
func.func @zero_a(%b: !coopmatrix.matrix<16x4xi8, b>, %c: !coopmatrix.matrix<8x4xi32, acc>) {
  // CHECK-NEXT: "test.op"(%c)
  %zero = arith.constant 0 : i8
  %a = coopmatrix.fill %zero : i8 -> !coopmatrix.matrix<8x16xi8, a>
  %d = coopmatrix.mul_add %a, %b, %c signed(a, b) : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc>
  "test.op"(%d) : (!coopmatrix.matrix<8x4xi32, acc>) -> ()
  func.return
}

// CHECK-LABEL: func.func @zero_b_saturating(
func.func @zero_b_saturating(%a: !coopmatrix.matrix<8x16xi8, a>, %c: !coopmatrix.matrix<8x4xi32, acc>) {
  // CHECK-NEXT: "test.op"(%c)
  %zero = arith.constant 0 : i32
  %b = coopmatrix.fill %zero : i32 -> !coopmatrix.matrix<16x4xi8, b>
  %d = coopmatrix.mul_add %a, %b, %c signed(c, result) saturating : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc>
  "test.op"(%d) : (!coopmatrix.matrix<8x4xi32, acc>) -> ()
  func.return
}

// An unsigned c may be more than a signed result, which then saturates.
// CHECK-LABEL: func.func @zero_saturates_other_sign(
func.func @zero_saturates_other_sign(%a: !coopmatrix.matrix<8x16xi8, a>, %c: !coopmatrix.matrix<8x4xi32, acc>) {
  // CHECK: coopmatrix.mul_add
  %zero = arith.constant 0 : i8
  %b = coopmatrix.fill %zero : i8 -> !coopmatrix.matrix<16x4xi8, b>
  %d = coopmatrix.mul_add %a, %b, %c signed(result) saturating : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc>
  "test.op"(%d) : (!coopmatrix.matrix<8x4xi32, acc>) -> ()
  func.return
}

// CHECK-LABEL: func.func @zero_converts_c(
func.func @zero_converts_c(%a: !coopmatrix.matrix<8x16xi8, a>, %c: !coopmatrix.matrix<8x4xi32, acc>) {
  // CHECK: coopmatrix.mul_add
  %zero = arith.constant 0 : i8
  %b = coopmatrix.fill %zero : i8 -> !coopmatrix.matrix<16x4xi8, b>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc> -> !coopmatrix.matrix<8x4xi64, acc>
  "test.op"(%d) : (!coopmatrix.matrix<8x4xi64, acc>) -> ()
  func.return
}

// Zero times NaN is NaN.
// CHECK-LABEL: func.func @zero_of_floats(
func.func @zero_of_floats(%a: !coopmatrix.matrix<8x16xf16, a>, %c: !coopmatrix.matrix<8x4xf32, acc>) {
  // CHECK: coopmatrix.mul_add
  %zero = arith.constant 0.0 : f16
  %b = coopmatrix.fill %zero : f16 -> !coopmatrix.matrix<16x4xf16, b>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc>
  "test.op"(%d) : (!coopmatrix.matrix<8x4xf32, acc>) -> ()
  func.return
}

// CHECK-LABEL: func.func @one_is_not_zero(
func.func @one_is_not_zero(%a: !coopmatrix.matrix<8x16xi8, a>, %c: !coopmatrix.matrix<8x4xi32, acc>) {
  // CHECK: coopmatrix.mul_add
  %one = arith.constant 1 : i8
  %b = coopmatrix.fill %one : i8 -> !coopmatrix.matrix<16x4xi8, b>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc>
  "test.op"(%d) : (!coopmatrix.matrix<8x4xi32, acc>) -> ()
  func.return
}

// -----

// What is known of rows, of columns, and of elements.

// CHECK-LABEL: func.func @reduce_one_column(
func.func @reduce_one_column(%x: !coopmatrix.matrix<8x1xf32, acc>) {
  // CHECK-NEXT: "test.op"(%x)
  %y = coopmatrix.reduce add rows %x : !coopmatrix.matrix<8x1xf32, acc> -> !coopmatrix.matrix<8x1xf32, acc>
  "test.op"(%y) : (!coopmatrix.matrix<8x1xf32, acc>) -> ()
  func.return
}

// The other axis is reduced to one element of 8.
// CHECK-LABEL: func.func @reduce_one_column_over_rows(
func.func @reduce_one_column_over_rows(%x: !coopmatrix.matrix<8x1xf32, acc>) {
  // CHECK-NEXT: coopmatrix.reduce add cols %x
  %y = coopmatrix.reduce add cols %x : !coopmatrix.matrix<8x1xf32, acc> -> !coopmatrix.matrix<1x1xf32, acc>
  "test.op"(%y) : (!coopmatrix.matrix<1x1xf32, acc>) -> ()
  func.return
}

// CHECK-LABEL: func.func @reduce_fill(
func.func @reduce_fill(%v: f32) {
  // CHECK-NEXT: %y = coopmatrix.fill %v : f32 -> !coopmatrix.matrix<1x4xf32, acc>
  %x = coopmatrix.fill %v : f32 -> !coopmatrix.matrix<8x4xf32, acc>
  %y = coopmatrix.reduce max cols %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<1x4xf32, acc>
  // 4 elements of 100 are 400, in 8 bits -112.
  // CHECK-NEXT: %z = arith.constant -112 : i8
  // CHECK-NEXT: %z_1 = coopmatrix.fill %z : i8 -> !coopmatrix.matrix<8x1xi8, acc>
  %c = arith.constant 100 : i8
  %i = coopmatrix.fill %c : i8 -> !coopmatrix.matrix<8x4xi8, acc>
  %z = coopmatrix.reduce add rows %i : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x1xi8, acc>
  "test.op"(%y, %z) : (!coopmatrix.matrix<1x4xf32, acc>, !coopmatrix.matrix<8x1xi8, acc>) -> ()
  func.return
}

// How often a sum of floats rounds is open, and what a pointer points to may change.
// CHECK-LABEL: func.func @reduce_fill_stays(
func.func @reduce_fill_stays(%p: memref<f32>) {
  // CHECK: coopmatrix.reduce add
  // CHECK: coopmatrix.reduce max
  %c = arith.constant 0.1 : f32
  %x = coopmatrix.fill %c : f32 -> !coopmatrix.matrix<8x4xf32, acc>
  %y = coopmatrix.reduce add cols %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<1x4xf32, acc>
  %q = coopmatrix.fill %p : memref<f32> -> !coopmatrix.matrix<8x4xf32, acc>
  %z = coopmatrix.reduce max cols %q : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<1x4xf32, acc>
  "test.op"(%y, %z) : (!coopmatrix.matrix<1x4xf32, acc>, !coopmatrix.matrix<1x4xf32, acc>) -> ()
  func.return
}

// A sum over a number of elements that is not known yet.
coopmatrix.spec_constant @M = 8 : i32
// CHECK-LABEL: func.func @reduce_unknown_rows(
func.func @reduce_unknown_rows() {
  // CHECK: coopmatrix.reduce add
  %c = arith.constant 3 : i8
  %i = coopmatrix.fill %c : i8 -> !coopmatrix.matrix<@M x 4 x i8, acc>
  %z = coopmatrix.reduce add cols %i : !coopmatrix.matrix<@M x 4 x i8, acc> -> !coopmatrix.matrix<1x4xi8, acc>
  "test.op"(%z) : (!coopmatrix.matrix<1x4xi8, acc>) -> ()
  func.return
}

// CHECK-LABEL: func.func @apply_yields_element(
func.func @apply_yields_element(%x: !coopmatrix.matrix<8x4xf32, acc>) {
  // CHECK-NEXT: "test.op"(%x)
  %y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x4xf32, acc> {
    coopmatrix.yield %v : f32
  }
  "test.op"(%y) : (!coopmatrix.matrix<8x4xf32, acc>) -> ()
  func.return
}

// Each work-item yields its own value.
// CHECK-LABEL: func.func @apply_yields_other(
func.func @apply_yields_other(%x: !coopmatrix.matrix<8x4xf32, acc>, %w: f32) {
  // CHECK-NEXT: coopmatrix.apply
  %y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x4xf32, acc> {
    coopmatrix.yield %w : f32
  }
  "test.op"(%y) : (!coopmatrix.matrix<8x4xf32, acc>) -> ()
  func.return
}

// -----

// The one fold on the slots of a work-item.

// CHECK-LABEL: func.func @extract_of_insert(
func.func @extract_of_insert(%m: !coopmatrix.matrix<7x9xi32, acc>, %i: index, %e: i32) {
  // CHECK-NEXT: "test.op"(%e)
  %n = coopmatrix.insert %e, %m[%i] : !coopmatrix.matrix<7x9xi32, acc>
  %v = coopmatrix.extract %n[%i] : !coopmatrix.matrix<7x9xi32, acc>
  "test.op"(%v) : (i32) -> ()
  func.return
}

// Other slots, slots of fills, and how many there are depend on the distribution.
// CHECK-LABEL: func.func @slots_stay(
func.func @slots_stay(%m: !coopmatrix.matrix<7x9xi32, acc>, %i: index, %j: index, %e: i32) {
  // CHECK-NEXT: %n = coopmatrix.insert
  // CHECK-NEXT: %v = coopmatrix.extract %n[%j]
  %n = coopmatrix.insert %e, %m[%i] : !coopmatrix.matrix<7x9xi32, acc>
  %v = coopmatrix.extract %n[%j] : !coopmatrix.matrix<7x9xi32, acc>
  // CHECK-NEXT: %f = coopmatrix.fill
  // CHECK-NEXT: %w = coopmatrix.extract %f[%i]
  %f = coopmatrix.fill %e : i32 -> !coopmatrix.matrix<7x9xi32, acc>
  %w = coopmatrix.extract %f[%i] : !coopmatrix.matrix<7x9xi32, acc>
  // CHECK-NEXT: coopmatrix.length
  %l = coopmatrix.length !coopmatrix.matrix<7x9xi32, acc> : index
  "test.op"(%v, %w, %l) : (i32, i32, index) -> ()
  func.return
}
