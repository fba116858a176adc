// RUN: coopc-opt %s --split-input-file --verify-diagnostics -p expand-nibbles 2>&1 | filecheck %s

// CHECK: func.func: expected rows that begin at whole bytes, with two i4 in each, got memref<4x5xi4>: give rows a stride that is even
func.func @odd_rows(%m: memref<4x5xi4>) {
  func.return
}

// -----

// CHECK: func.func: expected a dimension of stride 1, along which two f4E2M1FN share a byte, got memref<4x4xf4E2M1FN, strided<[8, 2]>>
func.func @strided(%m: memref<4x4xf4E2M1FN, strided<[8, 2]>>) {
  func.return
}

// -----

func.func @odd_matrix(%m: memref<4x8xi4>, %x: !coopmatrix.matrix<4x5xi4, acc>) {
  %0 = arith.constant 0 : index
  // CHECK: coopmatrix.store: expected an even number of elements of 4 bits, two in a byte, got 5
  coopmatrix.store %x, %m[%0, %0] row_major : !coopmatrix.matrix<4x5xi4, acc>, memref<4x8xi4>
  func.return
}

// -----

func.func @odd_position(%m: memref<4x8xi4>, %x: !coopmatrix.matrix<4x4xi4, acc>, %i: index) {
  %0 = arith.constant 0 : index
  // CHECK: coopmatrix.store: expected position 1 of elements of 4 bits, two in a byte, to be a multiple of 2, got %i
  coopmatrix.store %x, %m[%0, %i] row_major : !coopmatrix.matrix<4x4xi4, acc>, memref<4x8xi4>
  func.return
}

// -----

func.func @odd_check(%m: memref<4x5xi4, strided<[6, 1]>>, %x: !coopmatrix.matrix<4x6xi4, acc>) {
  %0 = arith.constant 0 : index
  // CHECK: coopmatrix.store: expected an even size to check elements of 4 bits, two in a byte, got memref<4x5xi4, strided<[6, 1]>>
  coopmatrix.store %x, %m[%0, %0] row_major checked(cols) : !coopmatrix.matrix<4x6xi4, acc>, memref<4x5xi4, strided<[6, 1]>>
  func.return
}

// -----

func.func @one(%m: memref<4x8xi4>, %x: i4) {
  %0 = arith.constant 0 : index
  // CHECK: memref.store is not supported on numbers of 4 bits
  memref.store %x, %m[%0, %0] : memref<4x8xi4>
  func.return
}

// -----

func.func @saturating(%a: !coopmatrix.matrix<4x4xi4, a>, %b: !coopmatrix.matrix<4x4xi4, b>, %c: !coopmatrix.matrix<4x4xi4, acc>) {
  // CHECK: coopmatrix.mul_add: i4 does not saturate: add in i8 or more
  %d = coopmatrix.mul_add %a, %b, %c saturating : !coopmatrix.matrix<4x4xi4, a>, !coopmatrix.matrix<4x4xi4, b>, !coopmatrix.matrix<4x4xi4, acc>
  func.return
}

// -----

// CHECK: func.func: expected i4 in memory, not as an argument
func.func @argument(%x: i4) attributes {simt.kernel} {
  func.return
}

// -----

func.func @within(%m: memref<4x8xi4>) {
  // CHECK: memref.reinterpret_cast: expected constant sizes, and strides and an offset of whole bytes
  %v = memref.reinterpret_cast %m to offset: [3], sizes: [2, 4], strides: [8, 1] : memref<4x8xi4> to memref<2x4xi4, strided<[8, 1], offset: ?>>
  func.return
}
