// RUN: coopc-opt %s -p canonicalize --split-input-file | filecheck %s

// Arithmetic that is known; beside each fold the near miss that stays.

!i8 = !coopmatrix.matrix<8x4xi8, acc>

// CHECK-LABEL: func.func @integer_constants(
func.func @integer_constants() {
  %c7 = arith.constant 7 : i8
  %m100 = arith.constant -100 : i8
  %x = coopmatrix.fill %m100 : i8 -> !i8
  %y = coopmatrix.fill %c7 : i8 -> !i8
  // -93; -107 wraps around to 149, which is -107 + 256 in 8 bits.
  // CHECK-NEXT: %add = arith.constant -93 : i8
  %add = coopmatrix.add %x, %y : !i8
  // CHECK:      %sub = arith.constant -107 : i8
  %sub = coopmatrix.sub %x, %y : !i8
  // -700 is 68 modulo 256.
  // CHECK:      %mul = arith.constant 68 : i8
  %mul = coopmatrix.mul %x, %y : !i8
  // -100 is 156 where it is not signed.
  // CHECK:      %div = arith.constant 22 : i8
  %div = coopmatrix.div %x, %y : !i8
  // CHECK:      %sdiv = arith.constant -14 : i8
  %sdiv = coopmatrix.div signed %x, %y : !i8
  // CHECK:      %rem = arith.constant 2 : i8
  %rem = coopmatrix.rem %x, %y : !i8
  // CHECK:      %srem = arith.constant -2 : i8
  %srem = coopmatrix.rem signed %x, %y : !i8
  // CHECK:      %min = arith.constant 7 : i8
  %min = coopmatrix.min %x, %y : !i8
  // CHECK:      %smin = arith.constant -100 : i8
  %smin = coopmatrix.min signed %x, %y : !i8
  // CHECK:      %max = arith.constant -100 : i8
  %max = coopmatrix.max %x, %y : !i8
  // CHECK:      %smax = arith.constant 7 : i8
  %smax = coopmatrix.max signed %x, %y : !i8
  "test.op"(%add, %sub, %mul, %div, %sdiv, %rem, %srem, %min, %smin, %max, %smax) : (!i8, !i8, !i8, !i8, !i8, !i8, !i8, !i8, !i8, !i8, !i8) -> ()
  func.return
}

// CHECK-LABEL: func.func @bits_of_constants(
func.func @bits_of_constants() {
  %c3 = arith.constant 3 : i8
  %m100 = arith.constant -100 : i8
  %x = coopmatrix.fill %m100 : i8 -> !i8
  %y = coopmatrix.fill %c3 : i8 -> !i8
  // CHECK-NEXT: %and = arith.constant 0 : i8
  %and = coopmatrix.and %x, %y : !i8
  // CHECK:      %or = arith.constant -97 : i8
  %or = coopmatrix.or %x, %y : !i8
  // CHECK:      %xor = arith.constant -97 : i8
  %xor = coopmatrix.xor %x, %y : !i8
  // CHECK:      %shl = arith.constant -32 : i8
  %shl = coopmatrix.shl %x, %y : !i8
  // CHECK:      %shr = arith.constant 19 : i8
  %shr = coopmatrix.shr %x, %y : !i8
  // CHECK:      %sshr = arith.constant -13 : i8
  %sshr = coopmatrix.shr signed %x, %y : !i8
  // CHECK:      %neg = arith.constant 100 : i8
  %neg = coopmatrix.neg %x : !i8
  // CHECK:      %abs = arith.constant 100 : i8
  %abs = coopmatrix.abs %x : !i8
  // CHECK:      %not = arith.constant 99 : i8
  %not = coopmatrix.not %x : !i8
  // CHECK:      %scale = arith.constant -44 : i8
  %scale = coopmatrix.scale %x, %c3 : !i8, i8
  "test.op"(%and, %or, %xor, %shl, %shr, %sshr, %neg, %abs, %not, %scale) : (!i8, !i8, !i8, !i8, !i8, !i8, !i8, !i8, !i8, !i8) -> ()
  func.return
}

// Undefined results are not made up.
// CHECK-LABEL: func.func @undefined(
func.func @undefined() {
  %c0 = arith.constant 0 : i8
  %c8 = arith.constant 8 : i8
  %m1 = arith.constant -1 : i8
  %least = arith.constant -128 : i8
  %zero = coopmatrix.fill %c0 : i8 -> !i8
  %eight = coopmatrix.fill %c8 : i8 -> !i8
  %minus = coopmatrix.fill %m1 : i8 -> !i8
  %x = coopmatrix.fill %least : i8 -> !i8
  // CHECK: %0 = coopmatrix.div %x, %zero
  %0 = coopmatrix.div %x, %zero : !i8
  // CHECK: %1 = coopmatrix.rem signed %x, %minus
  %1 = coopmatrix.rem signed %x, %minus : !i8
  // CHECK: %2 = coopmatrix.shl %x, %eight
  %2 = coopmatrix.shl %x, %eight : !i8
  "test.op"(%0, %1, %2) : (!i8, !i8, !i8) -> ()
  func.return
}

// -----

!f16 = !coopmatrix.matrix<8x4xf16, acc>

// Floats are folded where the result is exact.

// CHECK-LABEL: func.func @exact_floats(
func.func @exact_floats() {
  %c1 = arith.constant 1.5 : f16
  %c2 = arith.constant -0.25 : f16
  %x = coopmatrix.fill %c1 : f16 -> !f16
  %y = coopmatrix.fill %c2 : f16 -> !f16
  // CHECK-NEXT: %add = arith.constant 1.250000e+00 : f16
  %add = coopmatrix.add %x, %y : !f16
  // CHECK:      %sub = arith.constant 1.750000e+00 : f16
  %sub = coopmatrix.sub %x, %y : !f16
  // CHECK:      %mul = arith.constant -3.750000e-01 : f16
  %mul = coopmatrix.mul %x, %y : !f16
  // CHECK:      %neg = arith.constant -1.500000e+00 : f16
  %neg = coopmatrix.neg %x : !f16
  // CHECK:      %abs = arith.constant 2.500000e-01 : f16
  %abs = coopmatrix.abs %y : !f16
  // CHECK:      %scale = arith.constant -3.750000e-01 : f16
  %scale = coopmatrix.scale %x, %c2 : !f16, f16
  "test.op"(%add, %sub, %mul, %neg, %abs, %scale) : (!f16, !f16, !f16, !f16, !f16, !f16) -> ()
  func.return
}

// The signs of zeros come out as they would.
// CHECK-LABEL: func.func @zeros(
func.func @zeros() {
  %c0 = arith.constant 0.0 : f16
  %c2 = arith.constant -2.0 : f16
  %zero = coopmatrix.fill %c0 : f16 -> !f16
  %y = coopmatrix.fill %c2 : f16 -> !f16
  // CHECK-NEXT: %mul = arith.constant -0.000000e+00 : f16
  %mul = coopmatrix.mul %zero, %y : !f16
  // CHECK:      %neg = arith.constant -0.000000e+00 : f16
  %neg = coopmatrix.neg %zero : !f16
  // CHECK:      %sub = arith.constant 0.000000e+00 : f16
  %sub = coopmatrix.sub %y, %y : !f16
  "test.op"(%mul, %neg, %sub) : (!f16, !f16, !f16) -> ()
  func.return
}

// What rounds, overflows or is no number is left to the device.
// CHECK-LABEL: func.func @inexact_floats(
func.func @inexact_floats() {
  %c0 = arith.constant 0.0 : f16
  %c1 = arith.constant 2048.0 : f16
  %c2 = arith.constant 1.0 : f16
  %c3 = arith.constant 0x7C00 : f16
  %zero = coopmatrix.fill %c0 : f16 -> !f16
  %x = coopmatrix.fill %c1 : f16 -> !f16
  %y = coopmatrix.fill %c2 : f16 -> !f16
  %inf = coopmatrix.fill %c3 : f16 -> !f16
  // CHECK: %0 = coopmatrix.add %x, %y
  %0 = coopmatrix.add %x, %y : !f16
  // CHECK: %1 = coopmatrix.mul %x, %x
  %1 = coopmatrix.mul %x, %x : !f16
  // CHECK: %2 = coopmatrix.mul %inf, %zero
  %2 = coopmatrix.mul %inf, %zero : !f16
  // CHECK: %3 = coopmatrix.sub %inf, %inf
  %3 = coopmatrix.sub %inf, %inf : !f16
  // CHECK: %4 = coopmatrix.div %zero, %zero
  %4 = coopmatrix.div %zero, %zero : !f16
  "test.op"(%0, %1, %2, %3, %4) : (!f16, !f16, !f16, !f16, !f16) -> ()
  func.return
}

// -----

!i32 = !coopmatrix.matrix<8x4xi32, acc>

// What changes nothing, and what decides alone.

// CHECK-LABEL: func.func @neutral(
func.func @neutral(%x: !i32) {
  // CHECK-NEXT: "test.op"(%x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x)
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %m1 = arith.constant -1 : i32
  %zero = coopmatrix.fill %c0 : i32 -> !i32
  %one = coopmatrix.fill %c1 : i32 -> !i32
  %ones = coopmatrix.fill %m1 : i32 -> !i32
  %0 = coopmatrix.add %x, %zero : !i32
  %1 = coopmatrix.add %zero, %x : !i32
  %2 = coopmatrix.sub %x, %zero : !i32
  %3 = coopmatrix.mul %one, %x : !i32
  %4 = coopmatrix.div signed %x, %one : !i32
  %5 = coopmatrix.or %zero, %x : !i32
  %6 = coopmatrix.xor %x, %zero : !i32
  %7 = coopmatrix.shl %x, %zero : !i32
  %8 = coopmatrix.shr signed %x, %zero : !i32
  %9 = coopmatrix.and %x, %ones : !i32
  %10 = coopmatrix.scale %x, %c1 : !i32, i32
  "test.op"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10) : (!i32, !i32, !i32, !i32, !i32, !i32, !i32, !i32, !i32, !i32, !i32) -> ()
  func.return
}

// CHECK-LABEL: func.func @absorbing(
func.func @absorbing(%x: !i32) {
  // CHECK:      %zero = coopmatrix.fill %c0
  // CHECK-NEXT: %ones = coopmatrix.fill %m1
  // CHECK-NEXT: %r = arith.constant 0 : i32
  // CHECK-NEXT: %r_1 = coopmatrix.fill %r
  // CHECK-NEXT: %s = coopmatrix.fill %c0
  // CHECK-NEXT: "test.op"(%zero, %zero, %ones, %r_1, %s)
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %m1 = arith.constant -1 : i32
  %zero = coopmatrix.fill %c0 : i32 -> !i32
  %one = coopmatrix.fill %c1 : i32 -> !i32
  %ones = coopmatrix.fill %m1 : i32 -> !i32
  %0 = coopmatrix.mul %x, %zero : !i32
  %1 = coopmatrix.and %zero, %x : !i32
  %2 = coopmatrix.or %x, %ones : !i32
  %r = coopmatrix.rem %x, %one : !i32
  %s = coopmatrix.scale %x, %c0 : !i32, i32
  "test.op"(%0, %1, %2, %r, %s) : (!i32, !i32, !i32, !i32, !i32) -> ()
  func.return
}

// On the left, 0 is not what the operation leaves alone; x - 0 and 0 - x differ.
// CHECK-LABEL: func.func @not_neutral(
func.func @not_neutral(%x: !i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = coopmatrix.fill %c0 : i32 -> !i32
  %one = coopmatrix.fill %c1 : i32 -> !i32
  // CHECK: %0 = coopmatrix.sub %zero, %x
  %0 = coopmatrix.sub %zero, %x : !i32
  // CHECK: %1 = coopmatrix.div %one, %x
  %1 = coopmatrix.div %one, %x : !i32
  // CHECK: %2 = coopmatrix.shl %zero, %x
  %2 = coopmatrix.shl %zero, %x : !i32
  // CHECK: %3 = coopmatrix.and %x, %one
  %3 = coopmatrix.and %x, %one : !i32
  // CHECK: %4 = coopmatrix.max %x, %zero
  %4 = coopmatrix.max %x, %zero : !i32
  "test.op"(%0, %1, %2, %3, %4) : (!i32, !i32, !i32, !i32, !i32) -> ()
  func.return
}

// Constants go to the right, so that equal operations look equal.
// CHECK-LABEL: func.func @constant_to_the_right(
func.func @constant_to_the_right(%x: !i32) {
  %c3 = arith.constant 3 : i32
  %three = coopmatrix.fill %c3 : i32 -> !i32
  // CHECK: %0 = coopmatrix.add %x, %three
  %0 = coopmatrix.add %three, %x : !i32
  // CHECK: %1 = coopmatrix.sub %three, %x
  %1 = coopmatrix.sub %three, %x : !i32
  "test.op"(%0, %1) : (!i32, !i32) -> ()
  func.return
}

// CHECK-LABEL: func.func @same_operands(
func.func @same_operands(%x: !i32, %y: !i32) {
  // CHECK-NEXT: %s = arith.constant 0 : i32
  // CHECK-NEXT: %s_1 = coopmatrix.fill %s
  // CHECK-NEXT: %t = arith.constant 0 : i32
  // CHECK-NEXT: %t_1 = coopmatrix.fill %t
  // CHECK-NEXT: %o = coopmatrix.sub %x, %y
  // CHECK-NEXT: %q = coopmatrix.div %x, %x
  // CHECK-NEXT: "test.op"(%x, %x, %x, %x, %s_1, %t_1, %o, %q)
  %0 = coopmatrix.and %x, %x : !i32
  %1 = coopmatrix.or %x, %x : !i32
  %2 = coopmatrix.min signed %x, %x : !i32
  %3 = coopmatrix.max %x, %x : !i32
  %s = coopmatrix.sub %x, %x : !i32
  %t = coopmatrix.xor %x, %x : !i32
  // Other operands, and 0 / 0, which is undefined.
  %o = coopmatrix.sub %x, %y : !i32
  %q = coopmatrix.div %x, %x : !i32
  "test.op"(%0, %1, %2, %3, %s, %t, %o, %q) : (!i32, !i32, !i32, !i32, !i32, !i32, !i32, !i32) -> ()
  func.return
}

// CHECK-LABEL: func.func @double_signs(
func.func @double_signs(%x: !i32) {
  // CHECK-NEXT: %n = coopmatrix.neg %x
  // CHECK-NEXT: %0 = coopmatrix.abs %x
  // CHECK-NEXT: %1 = coopmatrix.abs %x
  // CHECK-NEXT: %m = coopmatrix.not %n
  // CHECK-NEXT: %k = coopmatrix.neg %1
  // CHECK-NEXT: "test.op"(%x, %x, %0, %1, %m, %k)
  %n = coopmatrix.neg %x : !i32
  %nn = coopmatrix.neg %n : !i32
  %b = coopmatrix.not %x : !i32
  %bb = coopmatrix.not %b : !i32
  %0 = coopmatrix.abs %n : !i32
  %1 = coopmatrix.abs %0 : !i32
  // -~x is no x, and -|x| no |x|.
  %m = coopmatrix.not %n : !i32
  %k = coopmatrix.neg %1 : !i32
  "test.op"(%nn, %bb, %0, %1, %m, %k) : (!i32, !i32, !i32, !i32, !i32, !i32) -> ()
  func.return
}

// -----

!f32 = !coopmatrix.matrix<8x4xf32, acc>

// The same of floats, as far as it holds of NaN, infinities and the two zeros.

// CHECK-LABEL: func.func @neutral_floats(
func.func @neutral_floats(%x: !f32) {
  // CHECK-NEXT: "test.op"(%x, %x, %x, %x, %x, %x)
  %c0 = arith.constant 0.0 : f32
  %m0 = arith.constant -0.0 : f32
  %c1 = arith.constant 1.0 : f32
  %zero = coopmatrix.fill %c0 : f32 -> !f32
  %minus = coopmatrix.fill %m0 : f32 -> !f32
  %one = coopmatrix.fill %c1 : f32 -> !f32
  %0 = coopmatrix.add %x, %minus : !f32
  %1 = coopmatrix.sub %x, %zero : !f32
  %2 = coopmatrix.mul %one, %x : !f32
  %3 = coopmatrix.div %x, %one : !f32
  %4 = coopmatrix.scale %x, %c1 : !f32, f32
  %n = coopmatrix.neg %x : !f32
  %5 = coopmatrix.neg %n : !f32
  "test.op"(%0, %1, %2, %3, %4, %5) : (!f32, !f32, !f32, !f32, !f32, !f32) -> ()
  func.return
}

// CHECK-LABEL: func.func @not_neutral_floats(
func.func @not_neutral_floats(%x: !f32) {
  %c0 = arith.constant 0.0 : f32
  %m0 = arith.constant -0.0 : f32
  %zero = coopmatrix.fill %c0 : f32 -> !f32
  %minus = coopmatrix.fill %m0 : f32 -> !f32
  // -0 + 0 is 0.
  // CHECK: %0 = coopmatrix.add %x, %zero
  %0 = coopmatrix.add %x, %zero : !f32
  // CHECK: %1 = coopmatrix.sub %x, %minus
  %1 = coopmatrix.sub %x, %minus : !f32
  // NaN * 0 is NaN, and -1 * 0 is -0.
  // CHECK: %2 = coopmatrix.mul %x, %zero
  %2 = coopmatrix.mul %x, %zero : !f32
  // CHECK: %3 = coopmatrix.scale %x, %c0
  %3 = coopmatrix.scale %x, %c0 : !f32, f32
  // An infinity less itself is NaN.
  // CHECK: %4 = coopmatrix.sub %x, %x
  %4 = coopmatrix.sub %x, %x : !f32
  // The rest of a division by 1 is what is behind the point.
  // CHECK: %5 = coopmatrix.rem %x, %one
  %c1 = arith.constant 1.0 : f32
  %one = coopmatrix.fill %c1 : f32 -> !f32
  %5 = coopmatrix.rem %x, %one : !f32
  "test.op"(%0, %1, %2, %3, %4, %5) : (!f32, !f32, !f32, !f32, !f32, !f32) -> ()
  func.return
}
