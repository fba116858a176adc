// RUN: %roundtrip

// Loads, stores and prefetches: layouts, checks, and how the access is done.

// CHECK-LABEL: func.func @load_layouts(
func.func @load_layouts(%m: memref<64x64xf16>, %p: memref<32x128xf16>, %i: index) {
  // CHECK:      %a = coopmatrix.load %m[%i, %i] row_major : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %a = coopmatrix.load %m[%i, %i] row_major : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  // CHECK-NEXT: %t = coopmatrix.load %m[%i, %i] col_major : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %t = coopmatrix.load %m[%i, %i] col_major : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  // CHECK-NEXT: %b = coopmatrix.load %p[%i, %i] packed : memref<32x128xf16> -> !coopmatrix.matrix<16x16xf16, b>
  %b = coopmatrix.load %p[%i, %i] packed : memref<32x128xf16> -> !coopmatrix.matrix<16x16xf16, b>
  func.return
}

// A constant may set the layout, which has its default before the name.
coopmatrix.spec_constant @L = 1 : i32
// CHECK-LABEL: func.func @named_layouts(
func.func @named_layouts(%m: memref<64x64xf16>, %i: index) {
  // CHECK:      %a = coopmatrix.load %m[%i, %i] col_major = @L checked(rows) volatile : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %a = coopmatrix.load %m[%i, %i] col_major = @L checked(rows) volatile : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  // CHECK-NEXT: coopmatrix.store %a, %m[%i, %i] col_major = @L : !coopmatrix.matrix<8x16xf16, a>, memref<64x64xf16>
  coopmatrix.store %a, %m[%i, %i] col_major = @L : !coopmatrix.matrix<8x16xf16, a>, memref<64x64xf16>
  func.return
}

// Bits are packed in groups of 32: 8 of i4, 4 of i8, one of f32.
// CHECK-LABEL: func.func @load_packed(
func.func @load_packed(%i4: memref<8x8xi4>, %i8: memref<8x8xi8>, %f32: memref<8x8xf32>, %i: index) {
  // CHECK:      %0 = coopmatrix.load %i4[%i, %i] packed : memref<8x8xi4> -> !coopmatrix.matrix<64x1xi4, b>
  %0 = coopmatrix.load %i4[%i, %i] packed : memref<8x8xi4> -> !coopmatrix.matrix<64x1xi4, b>
  // CHECK-NEXT: %1 = coopmatrix.load %i8[%i, %i] packed : memref<8x8xi8> -> !coopmatrix.matrix<32x2xi8, b>
  %1 = coopmatrix.load %i8[%i, %i] packed : memref<8x8xi8> -> !coopmatrix.matrix<32x2xi8, b>
  // CHECK-NEXT: %2 = coopmatrix.load %f32[%i, %i] packed : memref<8x8xf32> -> !coopmatrix.matrix<7x8xf32, b>
  %2 = coopmatrix.load %f32[%i, %i] packed : memref<8x8xf32> -> !coopmatrix.matrix<7x8xf32, b>
  func.return
}

// Bytes of two numbers of 4 bits; what is checked is a byte.
// CHECK-LABEL: func.func @bytes(
func.func @bytes(%m: memref<8x?xi8>, %i: index) {
  // CHECK:      %x = coopmatrix.load %m[%i, %i] row_major checked(cols) : memref<8x?xi8> -> !coopmatrix.matrix<8x16xi4, acc>
  %x = coopmatrix.load %m[%i, %i] row_major checked(cols) : memref<8x?xi8> -> !coopmatrix.matrix<8x16xi4, acc>
  // CHECK-NEXT: coopmatrix.store %x, %m[%i, %i] row_major : !coopmatrix.matrix<8x16xi4, acc>, memref<8x?xi8>
  coopmatrix.store %x, %m[%i, %i] row_major : !coopmatrix.matrix<8x16xi4, acc>, memref<8x?xi8>
  func.return
}

// CHECK-LABEL: func.func @load_checked(
func.func @load_checked(%m: memref<64x?xf16>, %i: index) {
  // CHECK:      %r = coopmatrix.load %m[%i, %i] row_major checked(rows) : memref<64x?xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %r = coopmatrix.load %m[%i, %i] row_major checked(rows) : memref<64x?xf16> -> !coopmatrix.matrix<8x16xf16, a>
  // CHECK-NEXT: %c = coopmatrix.load %m[%i, %i] row_major checked(cols) : memref<64x?xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %c = coopmatrix.load %m[%i, %i] row_major checked(cols) : memref<64x?xf16> -> !coopmatrix.matrix<8x16xf16, a>
  // CHECK-NEXT: %b = coopmatrix.load %m[%i, %i] col_major checked(rows, cols) : memref<64x?xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %b = coopmatrix.load %m[%i, %i] col_major checked(rows, cols) : memref<64x?xf16> -> !coopmatrix.matrix<8x16xf16, a>
  func.return
}

// CHECK-LABEL: func.func @load_memory_operands(
func.func @load_memory_operands(%m: memref<64x64xf16>, %i: index) {
  // CHECK:      %v = coopmatrix.load %m[%i, %i] row_major volatile : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %v = coopmatrix.load %m[%i, %i] row_major volatile : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  // CHECK-NEXT: %n = coopmatrix.load %m[%i, %i] row_major nontemporal : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %n = coopmatrix.load %m[%i, %i] row_major nontemporal : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  // CHECK-NEXT: %a = coopmatrix.load %m[%i, %i] row_major alignment = 16 : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %a = coopmatrix.load %m[%i, %i] row_major alignment = 16 : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  // CHECK-NEXT: %all = coopmatrix.load %m[%i, %i] row_major checked(rows) volatile nontemporal alignment = 1 {note} : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %all = coopmatrix.load %m[%i, %i] row_major checked(rows) volatile nontemporal alignment = 1 {note} : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  func.return
}

// Leading dimensions are indices; strides, offsets and memory spaces are the memref's.
// CHECK-LABEL: func.func @load_memrefs(
func.func @load_memrefs(%batch: memref<2x?x64x64xf16>, %strided: memref<?x?xf16, strided<[?, 2], offset: ?>>, %slm: memref<16x16xf16, #simt.memory<workgroup>>, %i: index) {
  // CHECK:      %0 = coopmatrix.load %batch[%i, %i, %i, %i] row_major : memref<2x?x64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %0 = coopmatrix.load %batch[%i, %i, %i, %i] row_major : memref<2x?x64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  // CHECK-NEXT: %1 = coopmatrix.load %strided[%i, %i] row_major : memref<?x?xf16, strided<[?, 2], offset: ?>> -> !coopmatrix.matrix<8x16xf16, a>
  %1 = coopmatrix.load %strided[%i, %i] row_major : memref<?x?xf16, strided<[?, 2], offset: ?>> -> !coopmatrix.matrix<8x16xf16, a>
  // CHECK-NEXT: %2 = coopmatrix.load %slm[%i, %i] row_major : memref<16x16xf16, #simt.memory<workgroup>> -> !coopmatrix.matrix<8x16xf16, a>
  %2 = coopmatrix.load %slm[%i, %i] row_major : memref<16x16xf16, #simt.memory<workgroup>> -> !coopmatrix.matrix<8x16xf16, a>
  func.return
}

// A stride of 0 reads one row for all.
// CHECK-LABEL: func.func @load_row_for_all(
func.func @load_row_for_all(%m: memref<64x64xf16, strided<[0, 1]>>, %i: index) {
  // CHECK:      %a = coopmatrix.load %m[%i, %i] row_major : memref<64x64xf16, strided<[0, 1]>> -> !coopmatrix.matrix<8x16xf16, a>
  %a = coopmatrix.load %m[%i, %i] row_major : memref<64x64xf16, strided<[0, 1]>> -> !coopmatrix.matrix<8x16xf16, a>
  func.return
}

// CHECK-LABEL: func.func @store(
func.func @store(%c: !coopmatrix.matrix<8x16xf32, acc>, %m: memref<64x64xf32>, %i: index) {
  // CHECK:      coopmatrix.store %c, %m[%i, %i] row_major : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
  coopmatrix.store %c, %m[%i, %i] row_major : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
  // CHECK-NEXT: coopmatrix.store %c, %m[%i, %i] col_major : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
  coopmatrix.store %c, %m[%i, %i] col_major : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
  // CHECK-NEXT: coopmatrix.store %c, %m[%i, %i] row_major checked(rows, cols) volatile nontemporal alignment = 64 {note} : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
  coopmatrix.store %c, %m[%i, %i] row_major checked(rows, cols) volatile nontemporal alignment = 64 {note} : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
  func.return
}

// CHECK-LABEL: func.func @store_packed(
func.func @store_packed(%b: !coopmatrix.matrix<32x16xi8, b>, %m: memref<8x64xi8>, %i: index) {
  // CHECK:      coopmatrix.store %b, %m[%i, %i] packed : !coopmatrix.matrix<32x16xi8, b>, memref<8x64xi8>
  coopmatrix.store %b, %m[%i, %i] packed : !coopmatrix.matrix<32x16xi8, b>, memref<8x64xi8>
  func.return
}

// CHECK-LABEL: func.func @prefetch(
func.func @prefetch(%m: memref<64x64xf16>, %i: index) {
  // CHECK:      coopmatrix.prefetch %m[%i, %i] row_major : memref<64x64xf16>, !coopmatrix.matrix<8x16xf16, a>
  coopmatrix.prefetch %m[%i, %i] row_major : memref<64x64xf16>, !coopmatrix.matrix<8x16xf16, a>
  // CHECK-NEXT: coopmatrix.prefetch %m[%i, %i] col_major checked(cols) level = 3 {note} : memref<64x64xf16>, !coopmatrix.matrix<8x16xf16, a>
  coopmatrix.prefetch %m[%i, %i] col_major checked(cols) level = 3 {note} : memref<64x64xf16>, !coopmatrix.matrix<8x16xf16, a>
  func.return
}

// Memory may hold vectors, or other numbers than the matrix.

// CHECK-LABEL: func.func @pointee
func.func @pointee(%m: memref<8x4xvector<4xf16>>, %n: memref<8x8xi32>, %i: index) {
  // CHECK: coopmatrix.load %m[%i, %i] row_major : memref<8x4xvector<4xf16>> -> !coopmatrix.matrix<8x16xf16, a>
  %a = coopmatrix.load %m[%i, %i] row_major : memref<8x4xvector<4xf16>> -> !coopmatrix.matrix<8x16xf16, a>
  // CHECK: coopmatrix.store %{{.*}}, %n[%i, %i] col_major : !coopmatrix.matrix<8x16xf16, a>, memref<8x8xi32>
  coopmatrix.store %a, %n[%i, %i] col_major : !coopmatrix.matrix<8x16xf16, a>, memref<8x8xi32>
  func.return
}

// Under Vulkan's memory model, data is handed over to a scope.

// CHECK-LABEL: func.func @handed_over
func.func @handed_over(%m: memref<8x8xf32>, %i: index) {
  // CHECK: coopmatrix.load %m[%i, %i] row_major alignment = 16 visible = workgroup :
  %a = coopmatrix.load %m[%i, %i] row_major alignment = 16 visible = workgroup : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  // CHECK: coopmatrix.store %a, %m[%i, %i] row_major available = device :
  coopmatrix.store %a, %m[%i, %i] row_major available = device : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}

// Interleaved blocks of Arm: rows of the memref are rows or columns of blocks.

func.func @blocks(%m: memref<2x256xf16>, %n: memref<4x64xf32>, %i: index) {
  // CHECK: %a = coopmatrix.load %m[%i, %i] row_blocked interleave = 4 : memref<2x256xf16> -> !coopmatrix.matrix<8x64xf16, a>
  %a = coopmatrix.load %m[%i, %i] row_blocked interleave = 4 : memref<2x256xf16> -> !coopmatrix.matrix<8x64xf16, a>
  // CHECK-NEXT: %c = coopmatrix.load %n[%i, %i] col_blocked : memref<4x64xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  %c = coopmatrix.load %n[%i, %i] col_blocked : memref<4x64xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  // CHECK-NEXT: coopmatrix.store %c, %n[%i, %i] row_blocked interleave = 2 volatile : !coopmatrix.matrix<16x16xf32, acc>, memref<4x64xf32>
  coopmatrix.store %c, %n[%i, %i] row_blocked interleave = 2 volatile : !coopmatrix.matrix<16x16xf32, acc>, memref<4x64xf32>
  func.return
}
