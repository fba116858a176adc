// RUN: %roundtrip

// Matrix types: what a matrix holds, for which operand, and who holds it.

// CHECK-LABEL: func.func @each_use(
func.func @each_use(%a: !coopmatrix.matrix<8x16xf16, a>, %b: !coopmatrix.matrix<16x8xf16, b>, %c: !coopmatrix.matrix<8x8xf32, acc>, %n: !coopmatrix.matrix<7x9xi32, none>) {
  // CHECK:      "test.op"(%a) : (!coopmatrix.matrix<8x16xf16, a>) -> ()
  "test.op"(%a) : (!coopmatrix.matrix<8x16xf16, a>) -> ()
  // CHECK-NEXT: "test.op"(%b) : (!coopmatrix.matrix<16x8xf16, b>) -> ()
  "test.op"(%b) : (!coopmatrix.matrix<16x8xf16, b>) -> ()
  // CHECK-NEXT: "test.op"(%c) : (!coopmatrix.matrix<8x8xf32, acc>) -> ()
  "test.op"(%c) : (!coopmatrix.matrix<8x8xf32, acc>) -> ()
  // CHECK-NEXT: "test.op"(%n) : (!coopmatrix.matrix<7x9xi32, none>) -> ()
  "test.op"(%n) : (!coopmatrix.matrix<7x9xi32, none>) -> ()
  func.return
}

// CHECK-LABEL: func.func @each_element_type(
func.func @each_element_type() {
  // CHECK:      %f16 = "test.op"() : () -> !coopmatrix.matrix<4x4xf16, a>
  %f16 = "test.op"() : () -> !coopmatrix.matrix<4x4xf16, a>
  // CHECK-NEXT: %bf16 = "test.op"() : () -> !coopmatrix.matrix<4x4xbf16, a>
  %bf16 = "test.op"() : () -> !coopmatrix.matrix<4x4xbf16, a>
  // CHECK-NEXT: %f32 = "test.op"() : () -> !coopmatrix.matrix<4x4xf32, a>
  %f32 = "test.op"() : () -> !coopmatrix.matrix<4x4xf32, a>
  // CHECK-NEXT: %f64 = "test.op"() : () -> !coopmatrix.matrix<4x4xf64, a>
  %f64 = "test.op"() : () -> !coopmatrix.matrix<4x4xf64, a>
  // CHECK-NEXT: %f4 = "test.op"() : () -> !coopmatrix.matrix<4x4xf4E2M1FN, a>
  %f4 = "test.op"() : () -> !coopmatrix.matrix<4x4xf4E2M1FN, a>
  // CHECK-NEXT: %i4 = "test.op"() : () -> !coopmatrix.matrix<4x4xi4, a>
  %i4 = "test.op"() : () -> !coopmatrix.matrix<4x4xi4, a>
  // CHECK-NEXT: %i8 = "test.op"() : () -> !coopmatrix.matrix<4x4xi8, a>
  %i8 = "test.op"() : () -> !coopmatrix.matrix<4x4xi8, a>
  // CHECK-NEXT: %i16 = "test.op"() : () -> !coopmatrix.matrix<4x4xi16, a>
  %i16 = "test.op"() : () -> !coopmatrix.matrix<4x4xi16, a>
  // CHECK-NEXT: %i32 = "test.op"() : () -> !coopmatrix.matrix<4x4xi32, a>
  %i32 = "test.op"() : () -> !coopmatrix.matrix<4x4xi32, a>
  // CHECK-NEXT: %i64 = "test.op"() : () -> !coopmatrix.matrix<4x4xi64, a>
  %i64 = "test.op"() : () -> !coopmatrix.matrix<4x4xi64, a>
  func.return
}

// CHECK-LABEL: func.func @sizes_of_one(
func.func @sizes_of_one() {
  // CHECK:      %row = "test.op"() : () -> !coopmatrix.matrix<1x16xf16, a>
  %row = "test.op"() : () -> !coopmatrix.matrix<1x16xf16, a>
  // CHECK-NEXT: %col = "test.op"() : () -> !coopmatrix.matrix<16x1xf16, b>
  %col = "test.op"() : () -> !coopmatrix.matrix<16x1xf16, b>
  // CHECK-NEXT: %one = "test.op"() : () -> !coopmatrix.matrix<1x1xf16, acc>
  %one = "test.op"() : () -> !coopmatrix.matrix<1x1xf16, acc>
  func.return
}

// The scope is printed where it is not the subgroup.
// CHECK-LABEL: func.func @each_scope(
func.func @each_scope() {
  // CHECK:      %0 = "test.op"() : () -> !coopmatrix.matrix<4x4xf16, a>
  %0 = "test.op"() : () -> !coopmatrix.matrix<4x4xf16, a>
  // CHECK-NEXT: %1 = "test.op"() : () -> !coopmatrix.matrix<4x4xf16, a, scope = workgroup>
  %1 = "test.op"() : () -> !coopmatrix.matrix<4x4xf16, a, scope = workgroup>
  // CHECK-NEXT: %2 = "test.op"() : () -> !coopmatrix.matrix<4x4xf16, a, scope = invocation>
  %2 = "test.op"() : () -> !coopmatrix.matrix<4x4xf16, a, scope = invocation>
  // CHECK-NEXT: %3 = "test.op"() : () -> !coopmatrix.matrix<4x4xf16, a, scope = device>
  %3 = "test.op"() : () -> !coopmatrix.matrix<4x4xf16, a, scope = device>
  // CHECK-NEXT: %4 = "test.op"() : () -> !coopmatrix.matrix<4x4xf16, a, scope = queue_family>
  %4 = "test.op"() : () -> !coopmatrix.matrix<4x4xf16, a, scope = queue_family>
  // CHECK-NEXT: %5 = "test.op"() : () -> !coopmatrix.matrix<4x4xf16, a, scope = cross_device>
  %5 = "test.op"() : () -> !coopmatrix.matrix<4x4xf16, a, scope = cross_device>
  func.return
}

// Spaces stand around `x` where a size is a name.
// CHECK-LABEL: func.func @names_of_constants(
func.func @names_of_constants() {
  // CHECK:      %0 = "test.op"() : () -> !coopmatrix.matrix<@M x @N x f16, a>
  %0 = "test.op"() : () -> !coopmatrix.matrix<@M x @N x f16, a>
  // CHECK-NEXT: %1 = "test.op"() : () -> !coopmatrix.matrix<@M x 16 x f16, a>
  %1 = "test.op"() : () -> !coopmatrix.matrix<@M x 16 x f16, a>
  // CHECK-NEXT: %2 = "test.op"() : () -> !coopmatrix.matrix<8 x @N x f16, a, scope = workgroup>
  %2 = "test.op"() : () -> !coopmatrix.matrix<8 x @N x f16, a, scope = workgroup>
  // CHECK-NEXT: %3 = "test.op"() : () -> !coopmatrix.matrix<8x16xf16, a, scope = @S>
  %3 = "test.op"() : () -> !coopmatrix.matrix<8x16xf16, a, scope = @S>
  // CHECK-NEXT: %4 = "test.op"() : () -> !coopmatrix.matrix<@M x @"a b" x i8, b, scope = @S>
  %4 = "test.op"() : () -> !coopmatrix.matrix<@M x @"a b" x i8, b, scope = @S>
  // A use has its default before its name.
  // CHECK-NEXT: %5 = "test.op"() : () -> !coopmatrix.matrix<8x8xf16, b = @U, scope = @S>
  %5 = "test.op"() : () -> !coopmatrix.matrix<8x8xf16, b = @U, scope = @S>
  func.return
}

// CHECK-LABEL: func.func @attributes(
func.func @attributes() {
  // CHECK:      "test.op"() {use = #coopmatrix<use acc>, scope = #coopmatrix<scope subgroup>} : () -> ()
  "test.op"() {use = #coopmatrix<use acc>, scope = #coopmatrix<scope subgroup>} : () -> ()
  // CHECK-NEXT: "test.op"() {layout = #coopmatrix<layout packed>, axis = #coopmatrix<axis rows>} : () -> ()
  "test.op"() {layout = #coopmatrix<layout packed>, axis = #coopmatrix<axis rows>} : () -> ()
  // CHECK-NEXT: "test.op"() {kind = #coopmatrix<reduction add>, ordering = #coopmatrix<ordering acquire_release>} : () -> ()
  "test.op"() {kind = #coopmatrix<reduction add>, ordering = #coopmatrix<ordering acquire_release>} : () -> ()
  // CHECK-NEXT: "test.op"() {checked = #coopmatrix.checked(rows, cols), signed = #coopmatrix.signed(a, b, c, result)} : () -> ()
  "test.op"() {checked = #coopmatrix.checked(rows, cols), signed = #coopmatrix.signed(a, b, c, result)} : () -> ()
  func.return
}
