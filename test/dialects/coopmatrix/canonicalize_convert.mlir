// RUN: coopc-opt %s -p canonicalize | filecheck %s

// Conversions of conversions and of fills; beside each fold the near miss that stays.

// CHECK-LABEL: func.func @same_type(
func.func @same_type(%x: !coopmatrix.matrix<8x4xf32, acc>) {
  // CHECK-NEXT: "test.op"(%x, %x)
  %y = coopmatrix.convert %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf32, acc>
  %z = coopmatrix.bitcast %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf32, acc>
  "test.op"(%y, %z) : (!coopmatrix.matrix<8x4xf32, acc>, !coopmatrix.matrix<8x4xf32, acc>) -> ()
  func.return
}

// Another use is another type.
// CHECK-LABEL: func.func @same_elements(
func.func @same_elements(%x: !coopmatrix.matrix<8x4xf32, acc>) {
  // CHECK-NEXT: coopmatrix.convert
  %y = coopmatrix.convert %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf32, a>
  "test.op"(%y) : (!coopmatrix.matrix<8x4xf32, a>) -> ()
  func.return
}

// f32 has every f16, so nothing is lost on the way; back, nothing happens at all.
// CHECK-LABEL: func.func @widened_floats(
func.func @widened_floats(%x: !coopmatrix.matrix<8x4xf16, acc>) {
  // CHECK-NEXT: %b = coopmatrix.convert %x : !coopmatrix.matrix<8x4xf16, acc> -> !coopmatrix.matrix<8x4xbf16, acc>
  // CHECK-NEXT: %i = coopmatrix.convert signed %x : !coopmatrix.matrix<8x4xf16, acc> -> !coopmatrix.matrix<8x4xi8, acc>
  // CHECK-NEXT: "test.op"(%b, %i, %x)
  %w = coopmatrix.convert %x : !coopmatrix.matrix<8x4xf16, acc> -> !coopmatrix.matrix<8x4xf32, acc>
  %b = coopmatrix.convert %w : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xbf16, acc>
  %i = coopmatrix.convert signed %w : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xi8, acc>
  %h = coopmatrix.convert %w : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf16, acc>
  "test.op"(%b, %i, %h) : (!coopmatrix.matrix<8x4xbf16, acc>, !coopmatrix.matrix<8x4xi8, acc>, !coopmatrix.matrix<8x4xf16, acc>) -> ()
  func.return
}

// CHECK-LABEL: func.func @rounded_floats(
func.func @rounded_floats(%x: !coopmatrix.matrix<8x4xf32, acc>, %y: !coopmatrix.matrix<8x4xf16, acc>) {
  // CHECK-NEXT: %h = coopmatrix.convert %x
  // CHECK-NEXT: %0 = coopmatrix.convert %h
  // CHECK-NEXT: %b = coopmatrix.convert %y
  // CHECK-NEXT: %1 = coopmatrix.convert %b
  %h = coopmatrix.convert %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf16, acc>
  %0 = coopmatrix.convert %h : !coopmatrix.matrix<8x4xf16, acc> -> !coopmatrix.matrix<8x4xf32, acc>
  %b = coopmatrix.convert %y : !coopmatrix.matrix<8x4xf16, acc> -> !coopmatrix.matrix<8x4xbf16, acc>
  %1 = coopmatrix.convert %b : !coopmatrix.matrix<8x4xbf16, acc> -> !coopmatrix.matrix<8x4xf32, acc>
  "test.op"(%0, %1) : (!coopmatrix.matrix<8x4xf32, acc>, !coopmatrix.matrix<8x4xf32, acc>) -> ()
  func.return
}

// A conversion that only changes the use joins the other one, before or after it.
// CHECK-LABEL: func.func @elements_and_use(
func.func @elements_and_use(%x: !coopmatrix.matrix<8x4xf32, acc>) {
  // CHECK-NEXT: %0 = coopmatrix.convert %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf16, a>
  // CHECK-NEXT: %1 = coopmatrix.convert %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf16, b>
  %h = coopmatrix.convert %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf16, acc>
  %0 = coopmatrix.convert %h : !coopmatrix.matrix<8x4xf16, acc> -> !coopmatrix.matrix<8x4xf16, a>
  %b = coopmatrix.convert %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf32, b>
  %1 = coopmatrix.convert %b : !coopmatrix.matrix<8x4xf32, b> -> !coopmatrix.matrix<8x4xf16, b>
  "test.op"(%0, %1) : (!coopmatrix.matrix<8x4xf16, a>, !coopmatrix.matrix<8x4xf16, b>) -> ()
  func.return
}

// Extended integers keep the sign of the first conversion; cut ones need none.
// CHECK-LABEL: func.func @widened_integers(
func.func @widened_integers(%x: !coopmatrix.matrix<8x4xi8, acc>, %y: !coopmatrix.matrix<8x4xi32, acc>) {
  // CHECK-NEXT: %0 = coopmatrix.convert signed %x : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xi16, acc>
  // CHECK-NEXT: %1 = coopmatrix.convert %x : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xf32, acc>
  // CHECK-NEXT: %2 = coopmatrix.convert %y : !coopmatrix.matrix<8x4xi32, acc> -> !coopmatrix.matrix<8x4xi8, acc>
  %s = coopmatrix.convert signed %x : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xi32, acc>
  %0 = coopmatrix.convert %s : !coopmatrix.matrix<8x4xi32, acc> -> !coopmatrix.matrix<8x4xi16, acc>
  %u = coopmatrix.convert %x : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xi32, acc>
  %1 = coopmatrix.convert signed %u : !coopmatrix.matrix<8x4xi32, acc> -> !coopmatrix.matrix<8x4xf32, acc>
  %n = coopmatrix.convert signed %y : !coopmatrix.matrix<8x4xi32, acc> -> !coopmatrix.matrix<8x4xi16, acc>
  %2 = coopmatrix.convert signed %n : !coopmatrix.matrix<8x4xi16, acc> -> !coopmatrix.matrix<8x4xi8, acc>
  "test.op"(%0, %1, %2) : (!coopmatrix.matrix<8x4xi16, acc>, !coopmatrix.matrix<8x4xf32, acc>, !coopmatrix.matrix<8x4xi8, acc>) -> ()
  func.return
}

// -1 of 8 bits is 4294967295 on this way, and no single conversion gives that.
// CHECK-LABEL: func.func @sign_changes(
func.func @sign_changes(%x: !coopmatrix.matrix<8x4xi8, acc>, %y: !coopmatrix.matrix<8x4xi32, acc>) {
  // CHECK-NEXT: coopmatrix.convert signed %x
  // CHECK-NEXT: coopmatrix.convert %s
  // CHECK-NEXT: coopmatrix.convert signed %y
  // CHECK-NEXT: coopmatrix.convert signed %n
  %s = coopmatrix.convert signed %x : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xi32, acc>
  %0 = coopmatrix.convert %s : !coopmatrix.matrix<8x4xi32, acc> -> !coopmatrix.matrix<8x4xi64, acc>
  %n = coopmatrix.convert signed %y : !coopmatrix.matrix<8x4xi32, acc> -> !coopmatrix.matrix<8x4xi8, acc>
  %1 = coopmatrix.convert signed %n : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xi16, acc>
  "test.op"(%0, %1) : (!coopmatrix.matrix<8x4xi64, acc>, !coopmatrix.matrix<8x4xi16, acc>) -> ()
  func.return
}

// f32 has every integer of 8 bits, and bf16 every unsigned one; f16 has not those of 16.
// CHECK-LABEL: func.func @integers_by_way_of_floats(
func.func @integers_by_way_of_floats(%x: !coopmatrix.matrix<8x4xi8, acc>, %y: !coopmatrix.matrix<8x4xi16, acc>) {
  // CHECK-NEXT: %0 = coopmatrix.convert signed %x : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xf16, acc>
  // CHECK-NEXT: %1 = coopmatrix.convert %x : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xi32, acc>
  // CHECK-NEXT: %h = coopmatrix.convert signed %y
  // CHECK-NEXT: %2 = coopmatrix.convert %h
  %f = coopmatrix.convert signed %x : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xf32, acc>
  %0 = coopmatrix.convert %f : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf16, acc>
  %b = coopmatrix.convert %x : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xbf16, acc>
  %1 = coopmatrix.convert signed %b : !coopmatrix.matrix<8x4xbf16, acc> -> !coopmatrix.matrix<8x4xi32, acc>
  %h = coopmatrix.convert signed %y : !coopmatrix.matrix<8x4xi16, acc> -> !coopmatrix.matrix<8x4xf16, acc>
  %2 = coopmatrix.convert %h : !coopmatrix.matrix<8x4xf16, acc> -> !coopmatrix.matrix<8x4xf32, acc>
  "test.op"(%0, %1, %2) : (!coopmatrix.matrix<8x4xf16, acc>, !coopmatrix.matrix<8x4xi32, acc>, !coopmatrix.matrix<8x4xf32, acc>) -> ()
  func.return
}

// A fill converts as a signed conversion does.
// CHECK-LABEL: func.func @converted_fill(
func.func @converted_fill(%f: f32, %i: i8) {
  // CHECK-NEXT: %0 = coopmatrix.fill %f : f32 -> !coopmatrix.matrix<8x4xf16, a>
  // CHECK-NEXT: %1 = coopmatrix.fill %i : i8 -> !coopmatrix.matrix<8x4xi32, acc>
  // CHECK-NEXT: %2 = coopmatrix.fill %i : i8 -> !coopmatrix.matrix<8x4xi4, acc>
  %x = coopmatrix.fill %f : f32 -> !coopmatrix.matrix<8x4xf32, acc>
  %0 = coopmatrix.convert %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf16, a>
  %y = coopmatrix.fill %i : i8 -> !coopmatrix.matrix<8x4xi8, acc>
  %1 = coopmatrix.convert signed %y : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xi32, acc>
  %2 = coopmatrix.convert %y : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xi4, acc>
  "test.op"(%0, %1, %2) : (!coopmatrix.matrix<8x4xf16, a>, !coopmatrix.matrix<8x4xi32, acc>, !coopmatrix.matrix<8x4xi4, acc>) -> ()
  func.return
}

// CHECK-LABEL: func.func @converted_fill_stays(
func.func @converted_fill_stays(%f: f32, %i: i8, %p: memref<f32>) {
  // Unsigned, unlike the conversions of a fill.
  // CHECK-NEXT: %y = coopmatrix.fill %i
  // CHECK-NEXT: %0 = coopmatrix.convert %y
  %y = coopmatrix.fill %i : i8 -> !coopmatrix.matrix<8x4xi8, acc>
  %0 = coopmatrix.convert %y : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xi32, acc>
  // The fill rounds to f16 first.
  // CHECK-NEXT: %h = coopmatrix.fill %f
  // CHECK-NEXT: %1 = coopmatrix.convert %h
  %h = coopmatrix.fill %f : f32 -> !coopmatrix.matrix<8x4xf16, acc>
  %1 = coopmatrix.convert %h : !coopmatrix.matrix<8x4xf16, acc> -> !coopmatrix.matrix<8x4xf32, acc>
  // Memory is read where it is read.
  // CHECK-NEXT: %q = coopmatrix.fill %p
  // CHECK-NEXT: %2 = coopmatrix.convert %q
  %q = coopmatrix.fill %p : memref<f32> -> !coopmatrix.matrix<8x4xf32, acc>
  %2 = coopmatrix.convert %q : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf32, a>
  "test.op"(%0, %1, %2) : (!coopmatrix.matrix<8x4xi32, acc>, !coopmatrix.matrix<8x4xf32, acc>, !coopmatrix.matrix<8x4xf32, a>) -> ()
  func.return
}

// Of a constant, an unsigned conversion is known too.
// CHECK-LABEL: func.func @converted_constant(
func.func @converted_constant() {
  // CHECK-NEXT: %0 = arith.constant 255 : i32
  // CHECK-NEXT: %1 = coopmatrix.fill %0 : i32 -> !coopmatrix.matrix<8x4xi32, acc>
  %c = arith.constant -1 : i8
  %y = coopmatrix.fill %c : i8 -> !coopmatrix.matrix<8x4xi8, acc>
  %0 = coopmatrix.convert %y : !coopmatrix.matrix<8x4xi8, acc> -> !coopmatrix.matrix<8x4xi32, acc>
  "test.op"(%0) : (!coopmatrix.matrix<8x4xi32, acc>) -> ()
  func.return
}

// -1.0 is no unsigned integer: that conversion is undefined, and stays.
// CHECK-LABEL: func.func @undefined_conversion(
func.func @undefined_conversion() {
  // CHECK: coopmatrix.convert
  %c = arith.constant -1.0 : f32
  %y = coopmatrix.fill %c : f32 -> !coopmatrix.matrix<8x4xf32, acc>
  %0 = coopmatrix.convert %y : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xi32, acc>
  "test.op"(%0) : (!coopmatrix.matrix<8x4xi32, acc>) -> ()
  func.return
}

// CHECK-LABEL: func.func @bitcasts(
func.func @bitcasts(%x: !coopmatrix.matrix<8x4xf16, acc>) {
  // CHECK-NEXT: %b = coopmatrix.bitcast %x : !coopmatrix.matrix<8x4xf16, acc> -> !coopmatrix.matrix<8x4xbf16, acc>
  // CHECK-NEXT: "test.op"(%b, %x)
  %i = coopmatrix.bitcast %x : !coopmatrix.matrix<8x4xf16, acc> -> !coopmatrix.matrix<8x4xi16, acc>
  %b = coopmatrix.bitcast %i : !coopmatrix.matrix<8x4xi16, acc> -> !coopmatrix.matrix<8x4xbf16, acc>
  %f = coopmatrix.bitcast %i : !coopmatrix.matrix<8x4xi16, acc> -> !coopmatrix.matrix<8x4xf16, acc>
  "test.op"(%b, %f) : (!coopmatrix.matrix<8x4xbf16, acc>, !coopmatrix.matrix<8x4xf16, acc>) -> ()
  func.return
}

// CHECK-LABEL: func.func @bitcast_constants(
func.func @bitcast_constants() {
  // CHECK-NEXT: %i = arith.constant -32768 : i16
  // CHECK-NEXT: %i_1 = coopmatrix.fill %i : i16 -> !coopmatrix.matrix<8x4xi16, acc>
  // CHECK-NEXT: %f = arith.constant 1.000000e+00 : f32
  // CHECK-NEXT: %f_1 = coopmatrix.fill %f : f32 -> !coopmatrix.matrix<8x4xf32, acc>
  %z = arith.constant -0.0 : f16
  %x = coopmatrix.fill %z : f16 -> !coopmatrix.matrix<8x4xf16, acc>
  %i = coopmatrix.bitcast %x : !coopmatrix.matrix<8x4xf16, acc> -> !coopmatrix.matrix<8x4xi16, acc>
  %one = arith.constant 0x3F800000 : i32
  %y = coopmatrix.fill %one : i32 -> !coopmatrix.matrix<8x4xi32, acc>
  %f = coopmatrix.bitcast %y : !coopmatrix.matrix<8x4xi32, acc> -> !coopmatrix.matrix<8x4xf32, acc>
  "test.op"(%i, %f) : (!coopmatrix.matrix<8x4xi16, acc>, !coopmatrix.matrix<8x4xf32, acc>) -> ()
  func.return
}

// The bits of a NaN are more than a number can say.
// CHECK-LABEL: func.func @bitcast_nan(
func.func @bitcast_nan() {
  // CHECK: coopmatrix.bitcast
  %bits = arith.constant 0x7FC00001 : i32
  %y = coopmatrix.fill %bits : i32 -> !coopmatrix.matrix<8x4xi32, acc>
  %f = coopmatrix.bitcast %y : !coopmatrix.matrix<8x4xi32, acc> -> !coopmatrix.matrix<8x4xf32, acc>
  "test.op"(%f) : (!coopmatrix.matrix<8x4xf32, acc>) -> ()
  func.return
}
