// RUN: %roundtrip

// Conversions, reductions, and a region for each element.

// CHECK-LABEL: func.func @convert(
func.func @convert(%f: !coopmatrix.matrix<8x4xf32, acc>, %i: !coopmatrix.matrix<8x4xi8, acc>) {
  // CHECK:      %0 = coopmatrix.convert %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf16, acc>
  %0 = coopmatrix.convert %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf16, acc>
  // CHECK-NEXT: %1 = coopmatrix.convert %f {note} : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf32, a>
  %1 = coopmatrix.convert %f {note} : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf32, a>
  // CHECK-NEXT: %2 = coopmatrix.convert %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xi8, b>
  %2 = coopmatrix.convert %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xi8, b>
  // CHECK-NEXT: %3 = coopmatrix.convert signed %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xi8, none>
  %3 = coopmatrix.convert signed %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xi8, none>
  // CHECK-NEXT: %4 = coopmatrix.convert %i : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xi32, acc>
  %4 = coopmatrix.convert %i : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xi32, acc>
  // CHECK-NEXT: %5 = coopmatrix.convert signed %i : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xbf16, acc>
  %5 = coopmatrix.convert signed %i : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xbf16, acc>
  func.return
}

// CHECK-LABEL: func.func @bitcast(
func.func @bitcast(%f: !coopmatrix.matrix<8x4xf16, acc>) {
  // CHECK:      %0 = coopmatrix.bitcast %f : !coopmatrix.matrix<8x4xf16, acc> -> !coopmatrix.matrix<8x4xi16, acc>
  %0 = coopmatrix.bitcast %f : !coopmatrix.matrix<8x4xf16, acc> -> !coopmatrix.matrix<8x4xi16, acc>
  // CHECK-NEXT: %1 = coopmatrix.bitcast %f {note} : !coopmatrix.matrix<8x4xf16, acc> -> !coopmatrix.matrix<8x4xbf16, acc>
  %1 = coopmatrix.bitcast %f {note} : !coopmatrix.matrix<8x4xf16, acc> -> !coopmatrix.matrix<8x4xbf16, acc>
  func.return
}

// CHECK-LABEL: func.func @reduce(
func.func @reduce(%f: !coopmatrix.matrix<8x4xf32, acc>, %i: !coopmatrix.matrix<8x4xi8, a>) {
  // CHECK:      %0 = coopmatrix.reduce add rows %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x1xf32, acc>
  %0 = coopmatrix.reduce add rows %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x1xf32, acc>
  // CHECK-NEXT: %1 = coopmatrix.reduce max cols %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<1x4xf32, acc>
  %1 = coopmatrix.reduce max cols %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<1x4xf32, acc>
  // CHECK-NEXT: %2 = coopmatrix.reduce min rows %f {note} : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x1xf32, acc>
  %2 = coopmatrix.reduce min rows %f {note} : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x1xf32, acc>
  // CHECK-NEXT: %{{.*}} = coopmatrix.reduce max rows broadcast %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf32, acc>
  %b = coopmatrix.reduce max rows broadcast %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf32, acc>
  // CHECK-NEXT: %3 = coopmatrix.reduce add cols %i : !coopmatrix.matrix<8x4xi8, a> -> !coopmatrix.matrix<1x4xi8, a>
  %3 = coopmatrix.reduce add cols %i : !coopmatrix.matrix<8x4xi8, a> -> !coopmatrix.matrix<1x4xi8, a>
  // CHECK-NEXT: %4 = coopmatrix.reduce max rows signed %i : !coopmatrix.matrix<8x4xi8, a> -> !coopmatrix.matrix<8x1xi8, a>
  %4 = coopmatrix.reduce max rows signed %i : !coopmatrix.matrix<8x4xi8, a> -> !coopmatrix.matrix<8x1xi8, a>
  // CHECK-NEXT: %5 = coopmatrix.reduce min cols signed %i : !coopmatrix.matrix<8x4xi8, a> -> !coopmatrix.matrix<1x4xi8, a>
  %5 = coopmatrix.reduce min cols signed %i : !coopmatrix.matrix<8x4xi8, a> -> !coopmatrix.matrix<1x4xi8, a>
  func.return
}

// CHECK-LABEL: func.func @reduce_windows(
func.func @reduce_windows(%f: !coopmatrix.matrix<8x4xf32, acc>) {
  // CHECK-NEXT: %0 = coopmatrix.reduce add all %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<1x1xf32, acc>
  %0 = coopmatrix.reduce add all %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<1x1xf32, acc>
  // CHECK-NEXT: %1 = coopmatrix.reduce max quads %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<4x2xf32, acc>
  %1 = coopmatrix.reduce max quads %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<4x2xf32, acc>
  func.return
}

// CHECK-LABEL: func.func @transpose(
func.func @transpose(%f: !coopmatrix.matrix<8x4xf32, acc>) {
  // CHECK-NEXT: %0 = coopmatrix.transpose %f {note} : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<4x8xf32, b>
  %0 = coopmatrix.transpose %f {note} : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<4x8xf32, b>
  func.return
}

// The arguments are row, column and element; values from outside may be used.
// CHECK-LABEL: func.func @apply(
func.func @apply(%x: !coopmatrix.matrix<8x4xf32, acc>, %zero: f32) {
  // CHECK:      %y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x4xf32, acc> {
  %y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x4xf32, acc> {
    // CHECK-NEXT: %below = arith.cmpi ugt, %i, %j : index
    %below = arith.cmpi ugt, %i, %j : index
    // CHECK-NEXT: %w = arith.select %below, %v, %zero : f32
    %w = arith.select %below, %v, %zero : f32
    // CHECK-NEXT: coopmatrix.yield %w : f32
    coopmatrix.yield %w : f32
  // CHECK-NEXT: }
  }
  // CHECK-NEXT: %z = coopmatrix.apply (%k, %l, %u) in %y : !coopmatrix.matrix<8x4xf32, acc> {
  %z = coopmatrix.apply (%k, %l, %u) in %y : !coopmatrix.matrix<8x4xf32, acc> {
    // CHECK-NEXT: coopmatrix.yield %zero : f32
    coopmatrix.yield %zero : f32
  // CHECK-NEXT: } {note}
  } {note}
  func.return
}

// A work-item may read a slot of another matrix for each element.
// CHECK-LABEL: func.func @apply_extracts(
func.func @apply_extracts(%x: !coopmatrix.matrix<8x4xf32, acc>, %i: index) {
  // CHECK:      %y = coopmatrix.apply (%r, %c, %v) in %x : !coopmatrix.matrix<8x4xf32, acc> {
  %y = coopmatrix.apply (%r, %c, %v) in %x : !coopmatrix.matrix<8x4xf32, acc> {
    // CHECK-NEXT: %e = coopmatrix.extract %x[%i] : !coopmatrix.matrix<8x4xf32, acc>
    %e = coopmatrix.extract %x[%i] : !coopmatrix.matrix<8x4xf32, acc>
    // CHECK-NEXT: coopmatrix.yield %e : f32
    coopmatrix.yield %e : f32
  // CHECK-NEXT: }
  }
  func.return
}
