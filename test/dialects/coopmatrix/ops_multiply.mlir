// RUN: %roundtrip

// Constants, fills and multiplications.

// CHECK:      coopmatrix.spec_constant @M = 16 : i32
coopmatrix.spec_constant @M = 16 : i32
// CHECK-NEXT: coopmatrix.spec_constant @K = 8 : i32 id = 3 {note}
coopmatrix.spec_constant @K = 8 : i32 id = 3 {note}
// CHECK-NEXT: coopmatrix.spec_constant @S = 3 : i32
coopmatrix.spec_constant @S = 3 : i32

// CHECK-LABEL: func.func @fill_with_number(
func.func @fill_with_number(%f16: f16, %f32: f32, %i8: i8, %n: index) {
  // CHECK:      %0 = coopmatrix.fill %f32 : f32 -> !coopmatrix.matrix<8x16xf32, acc>
  %0 = coopmatrix.fill %f32 : f32 -> !coopmatrix.matrix<8x16xf32, acc>
  // CHECK-NEXT: %1 = coopmatrix.fill %f16 : f16 -> !coopmatrix.matrix<8x16xf32, acc>
  %1 = coopmatrix.fill %f16 : f16 -> !coopmatrix.matrix<8x16xf32, acc>
  // CHECK-NEXT: %2 = coopmatrix.fill %i8 : i8 -> !coopmatrix.matrix<8x16xbf16, a>
  %2 = coopmatrix.fill %i8 : i8 -> !coopmatrix.matrix<8x16xbf16, a>
  // CHECK-NEXT: %3 = coopmatrix.fill %f32 {note} : f32 -> !coopmatrix.matrix<8x16xi8, none>
  %3 = coopmatrix.fill %f32 {note} : f32 -> !coopmatrix.matrix<8x16xi8, none>
  // CHECK-NEXT: %4 = coopmatrix.fill %n : index -> !coopmatrix.matrix<@M x @K x i64, none, scope = @S>
  %4 = coopmatrix.fill %n : index -> !coopmatrix.matrix<@M x @K x i64, none, scope = @S>
  func.return
}

// CHECK-LABEL: func.func @constants(
func.func @constants() {
  // CHECK: %m = coopmatrix.spec_value @M
  %m = coopmatrix.spec_value @M
  // CHECK-NEXT: %k = coopmatrix.spec_value @K {note}
  %k = coopmatrix.spec_value @K {note}
  func.return
}

// CHECK-LABEL: func.func @fill_from_pointer(
func.func @fill_from_pointer(%f32: memref<f32>, %n: memref<index>, %slm: memref<i8, #simt.memory<workgroup>>, %opaque: !llvm.ptr) {
  // CHECK:      %0 = coopmatrix.fill %f32 : memref<f32> -> !coopmatrix.matrix<8x16xf32, acc>
  %0 = coopmatrix.fill %f32 : memref<f32> -> !coopmatrix.matrix<8x16xf32, acc>
  // CHECK-NEXT: %1 = coopmatrix.fill %n : memref<index> -> !coopmatrix.matrix<8x16xf32, acc>
  %1 = coopmatrix.fill %n : memref<index> -> !coopmatrix.matrix<8x16xf32, acc>
  // CHECK-NEXT: %2 = coopmatrix.fill %slm : memref<i8, #simt.memory<workgroup>> -> !coopmatrix.matrix<8x16xi32, acc>
  %2 = coopmatrix.fill %slm : memref<i8, #simt.memory<workgroup>> -> !coopmatrix.matrix<8x16xi32, acc>
  // CHECK-NEXT: %3 = coopmatrix.fill %opaque : !llvm.ptr -> !coopmatrix.matrix<8x16xf32, acc>
  %3 = coopmatrix.fill %opaque : !llvm.ptr -> !coopmatrix.matrix<8x16xf32, acc>
  func.return
}

// CHECK-LABEL: func.func @floats(
func.func @floats(%a: !coopmatrix.matrix<8x16xf16, a>, %b: !coopmatrix.matrix<16x4xf16, b>, %c: !coopmatrix.matrix<8x4xf32, acc>) {
  // CHECK:      %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc>
  func.return
}

// a, b, c and the result each have an element type of their own.
// CHECK-LABEL: func.func @mixed_types(
func.func @mixed_types(%a: !coopmatrix.matrix<8x16xf16, a>, %b: !coopmatrix.matrix<16x4xbf16, b>, %c: !coopmatrix.matrix<8x4xf32, acc>) {
  // CHECK:      %d = coopmatrix.mul_add %a, %b, %c {note} : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xbf16, b>, !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf16, acc>
  %d = coopmatrix.mul_add %a, %b, %c {note} : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xbf16, b>, !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf16, acc>
  func.return
}

// CHECK-LABEL: func.func @integers(
func.func @integers(%a: !coopmatrix.matrix<8x16xi8, a>, %b: !coopmatrix.matrix<16x4xi8, b>, %c: !coopmatrix.matrix<8x4xi32, acc>) {
  // CHECK:      %0 = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc>
  %0 = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc>
  // CHECK-NEXT: %1 = coopmatrix.mul_add %a, %b, %c signed(a) : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc>
  %1 = coopmatrix.mul_add %a, %b, %c signed(a) : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc>
  // CHECK-NEXT: %2 = coopmatrix.mul_add %a, %b, %c signed(a, b, c, result) : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc>
  %2 = coopmatrix.mul_add %a, %b, %c signed(a, b, c, result) : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc>
  // CHECK-NEXT: %3 = coopmatrix.mul_add %a, %b, %c saturating : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc>
  %3 = coopmatrix.mul_add %a, %b, %c saturating : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc>
  // CHECK-NEXT: %4 = coopmatrix.mul_add %a, %b, %c signed(b, result) saturating {note} : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc> -> !coopmatrix.matrix<8x4xi16, acc>
  %4 = coopmatrix.mul_add %a, %b, %c signed(b, result) saturating {note} : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc> -> !coopmatrix.matrix<8x4xi16, acc>
  func.return
}

// A name may stand for any number, so @K rows fit 16 columns.
// CHECK-LABEL: func.func @sizes_by_name(
func.func @sizes_by_name(%a: !coopmatrix.matrix<@M x 16 x f16, a>, %b: !coopmatrix.matrix<@K x 4 x f16, b>, %c: !coopmatrix.matrix<8x4xf32, acc>) {
  // CHECK:      %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<@M x 16 x f16, a>, !coopmatrix.matrix<@K x 4 x f16, b>, !coopmatrix.matrix<8x4xf32, acc>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<@M x 16 x f16, a>, !coopmatrix.matrix<@K x 4 x f16, b>, !coopmatrix.matrix<8x4xf32, acc>
  func.return
}

// CHECK-LABEL: func.func @work_group(
func.func @work_group(%a: !coopmatrix.matrix<8x16xf16, a, scope = workgroup>, %b: !coopmatrix.matrix<16x4xf16, b, scope = workgroup>, %c: !coopmatrix.matrix<8x4xf32, acc, scope = workgroup>) {
  // CHECK:      %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a, scope = workgroup>, !coopmatrix.matrix<16x4xf16, b, scope = workgroup>, !coopmatrix.matrix<8x4xf32, acc, scope = workgroup>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a, scope = workgroup>, !coopmatrix.matrix<16x4xf16, b, scope = workgroup>, !coopmatrix.matrix<8x4xf32, acc, scope = workgroup>
  func.return
}
