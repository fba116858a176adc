// RUN: %roundtrip

// The slots of a work-item, and row slices.

// CHECK-LABEL: func.func @slots(
func.func @slots(%m: !coopmatrix.matrix<7x9xi32, acc>, %i: index, %e: i32) {
  // CHECK:      %n = coopmatrix.length !coopmatrix.matrix<7x9xi32, acc> : index
  %n = coopmatrix.length !coopmatrix.matrix<7x9xi32, acc> : index
  // CHECK-NEXT: %n2 = coopmatrix.length !coopmatrix.matrix<7x9xi32, acc, scope = workgroup> {note} : index
  %n2 = coopmatrix.length !coopmatrix.matrix<7x9xi32, acc, scope = workgroup> {note} : index
  // CHECK-NEXT: %v = coopmatrix.extract %m[%i] {note} : !coopmatrix.matrix<7x9xi32, acc>
  %v = coopmatrix.extract %m[%i] {note} : !coopmatrix.matrix<7x9xi32, acc>
  // CHECK-NEXT: %w = coopmatrix.insert %v, %m[%i] {note} : !coopmatrix.matrix<7x9xi32, acc>
  %w = coopmatrix.insert %v, %m[%i] {note} : !coopmatrix.matrix<7x9xi32, acc>
  // CHECK-NEXT: %row, %col = coopmatrix.coord %m[%i] {note} : !coopmatrix.matrix<7x9xi32, acc>
  %row, %col = coopmatrix.coord %m[%i] {note} : !coopmatrix.matrix<7x9xi32, acc>
  func.return
}

// Slots are a work-item's own, so they may be used in divergent control flow.
// CHECK-LABEL: func.func @divergent(
func.func @divergent(%m: !coopmatrix.matrix<7x9xi32, acc>, %i: index, %e: i32, %lane: i1) {
  // CHECK:      %r = scf.if %lane -> (i32) {
  %r = scf.if %lane -> (i32) {
    // CHECK-NEXT: %v = coopmatrix.extract %m[%i] : !coopmatrix.matrix<7x9xi32, acc>
    %v = coopmatrix.extract %m[%i] : !coopmatrix.matrix<7x9xi32, acc>
    // CHECK-NEXT: scf.yield %v : i32
    scf.yield %v : i32
  // CHECK-NEXT: } else {
  } else {
    // CHECK-NEXT: scf.yield %e : i32
    scf.yield %e : i32
  // CHECK-NEXT: }
  }
  func.return
}

// CHECK-LABEL: func.func @row_slices(
func.func @row_slices(%m: !coopmatrix.matrix<12x12xi32, none>, %k: index, %mask: vector<16xi1>) {
  // CHECK:      %v = coopmatrix.extract_row_slice %m[%k] {note} : !coopmatrix.matrix<12x12xi32, none> -> vector<16xi32>
  %v = coopmatrix.extract_row_slice %m[%k] {note} : !coopmatrix.matrix<12x12xi32, none> -> vector<16xi32>
  // CHECK-NEXT: %n = coopmatrix.insert_row_slice %v, %m[%k] {note} : vector<16xi32>, !coopmatrix.matrix<12x12xi32, none>
  %n = coopmatrix.insert_row_slice %v, %m[%k] {note} : vector<16xi32>, !coopmatrix.matrix<12x12xi32, none>
  // CHECK-NEXT: %o = coopmatrix.insert_row_slice %v, %m[%k] mask %mask : vector<16xi1> : vector<16xi32>, !coopmatrix.matrix<12x12xi32, none>
  %o = coopmatrix.insert_row_slice %v, %m[%k] mask %mask : vector<16xi1> : vector<16xi32>, !coopmatrix.matrix<12x12xi32, none>
  func.return
}
