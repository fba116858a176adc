// RUN: %roundtrip

// Arithmetic and logic on each element.

// CHECK-LABEL: func.func @floats(
func.func @floats(%x: !coopmatrix.matrix<8x4xf32, acc>, %y: !coopmatrix.matrix<8x4xf32, acc>, %s: f32) {
  // CHECK:      %0 = coopmatrix.add %x, %y : !coopmatrix.matrix<8x4xf32, acc>
  %0 = coopmatrix.add %x, %y : !coopmatrix.matrix<8x4xf32, acc>
  // CHECK-NEXT: %1 = coopmatrix.sub %x, %y : !coopmatrix.matrix<8x4xf32, acc>
  %1 = coopmatrix.sub %x, %y : !coopmatrix.matrix<8x4xf32, acc>
  // CHECK-NEXT: %2 = coopmatrix.mul %x, %y : !coopmatrix.matrix<8x4xf32, acc>
  %2 = coopmatrix.mul %x, %y : !coopmatrix.matrix<8x4xf32, acc>
  // CHECK-NEXT: %3 = coopmatrix.div %x, %y : !coopmatrix.matrix<8x4xf32, acc>
  %3 = coopmatrix.div %x, %y : !coopmatrix.matrix<8x4xf32, acc>
  // CHECK-NEXT: %4 = coopmatrix.rem %x, %y : !coopmatrix.matrix<8x4xf32, acc>
  %4 = coopmatrix.rem %x, %y : !coopmatrix.matrix<8x4xf32, acc>
  // CHECK-NEXT: %5 = coopmatrix.min %x, %y : !coopmatrix.matrix<8x4xf32, acc>
  %5 = coopmatrix.min %x, %y : !coopmatrix.matrix<8x4xf32, acc>
  // CHECK-NEXT: %6 = coopmatrix.max %x, %y : !coopmatrix.matrix<8x4xf32, acc>
  %6 = coopmatrix.max %x, %y : !coopmatrix.matrix<8x4xf32, acc>
  // CHECK-NEXT: %7 = coopmatrix.neg %x : !coopmatrix.matrix<8x4xf32, acc>
  %7 = coopmatrix.neg %x : !coopmatrix.matrix<8x4xf32, acc>
  // CHECK-NEXT: %8 = coopmatrix.abs %x : !coopmatrix.matrix<8x4xf32, acc>
  %8 = coopmatrix.abs %x : !coopmatrix.matrix<8x4xf32, acc>
  // CHECK-NEXT: %9 = coopmatrix.scale %x, %s {note} : !coopmatrix.matrix<8x4xf32, acc>, f32
  %9 = coopmatrix.scale %x, %s {note} : !coopmatrix.matrix<8x4xf32, acc>, f32
  func.return
}

// CHECK-LABEL: func.func @unsigned_integers(
func.func @unsigned_integers(%x: !coopmatrix.matrix<8x4xi8, a>, %y: !coopmatrix.matrix<8x4xi8, a>, %s: i8) {
  // CHECK:      %0 = coopmatrix.add %x, %y {note} : !coopmatrix.matrix<8x4xi8, a>
  %0 = coopmatrix.add %x, %y {note} : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %1 = coopmatrix.sub %x, %y : !coopmatrix.matrix<8x4xi8, a>
  %1 = coopmatrix.sub %x, %y : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %2 = coopmatrix.mul %x, %y : !coopmatrix.matrix<8x4xi8, a>
  %2 = coopmatrix.mul %x, %y : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %3 = coopmatrix.div %x, %y : !coopmatrix.matrix<8x4xi8, a>
  %3 = coopmatrix.div %x, %y : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %4 = coopmatrix.rem %x, %y : !coopmatrix.matrix<8x4xi8, a>
  %4 = coopmatrix.rem %x, %y : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %5 = coopmatrix.min %x, %y : !coopmatrix.matrix<8x4xi8, a>
  %5 = coopmatrix.min %x, %y : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %6 = coopmatrix.max %x, %y : !coopmatrix.matrix<8x4xi8, a>
  %6 = coopmatrix.max %x, %y : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %7 = coopmatrix.and %x, %y : !coopmatrix.matrix<8x4xi8, a>
  %7 = coopmatrix.and %x, %y : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %8 = coopmatrix.or %x, %y : !coopmatrix.matrix<8x4xi8, a>
  %8 = coopmatrix.or %x, %y : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %9 = coopmatrix.xor %x, %y : !coopmatrix.matrix<8x4xi8, a>
  %9 = coopmatrix.xor %x, %y : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %10 = coopmatrix.shl %x, %y : !coopmatrix.matrix<8x4xi8, a>
  %10 = coopmatrix.shl %x, %y : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %11 = coopmatrix.shr %x, %y : !coopmatrix.matrix<8x4xi8, a>
  %11 = coopmatrix.shr %x, %y : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %12 = coopmatrix.neg %x {note} : !coopmatrix.matrix<8x4xi8, a>
  %12 = coopmatrix.neg %x {note} : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %13 = coopmatrix.abs %x : !coopmatrix.matrix<8x4xi8, a>
  %13 = coopmatrix.abs %x : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %14 = coopmatrix.not %x : !coopmatrix.matrix<8x4xi8, a>
  %14 = coopmatrix.not %x : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %15 = coopmatrix.scale %x, %s : !coopmatrix.matrix<8x4xi8, a>, i8
  %15 = coopmatrix.scale %x, %s : !coopmatrix.matrix<8x4xi8, a>, i8
  func.return
}

// CHECK-LABEL: func.func @signed_integers(
func.func @signed_integers(%x: !coopmatrix.matrix<8x4xi8, a>, %y: !coopmatrix.matrix<8x4xi8, a>) {
  // CHECK:      %0 = coopmatrix.div signed %x, %y {note} : !coopmatrix.matrix<8x4xi8, a>
  %0 = coopmatrix.div signed %x, %y {note} : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %1 = coopmatrix.rem signed %x, %y : !coopmatrix.matrix<8x4xi8, a>
  %1 = coopmatrix.rem signed %x, %y : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %2 = coopmatrix.min signed %x, %y : !coopmatrix.matrix<8x4xi8, a>
  %2 = coopmatrix.min signed %x, %y : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %3 = coopmatrix.max signed %x, %y : !coopmatrix.matrix<8x4xi8, a>
  %3 = coopmatrix.max signed %x, %y : !coopmatrix.matrix<8x4xi8, a>
  // CHECK-NEXT: %4 = coopmatrix.shr signed %x, %y : !coopmatrix.matrix<8x4xi8, a>
  %4 = coopmatrix.shr signed %x, %y : !coopmatrix.matrix<8x4xi8, a>
  func.return
}
