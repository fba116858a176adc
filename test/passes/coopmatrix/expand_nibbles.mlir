// RUN: coopc-opt %s -p expand-nibbles 2>&1 | filecheck %s
// RUN: coopc-opt %s -p 'set-target{device=bmg},expand-nibbles{dpas=true}' 2>&1 | filecheck %s --check-prefix DPAS

// Two numbers of 4 bits share a byte in memory; i4 becomes i8, and f4E2M1FN f8E4M3FN.

// CHECK: remark: coopmatrix.load: each element of i4 is loaded by itself: two share a byte
// CHECK: remark: coopmatrix.mul_add: operands of i4 are multiplied as i8

// Signed operands are sign extended, the others cut to 4 bits.  What DPAS has as its
// operands is loaded as bytes, and the product stays.

// CHECK-LABEL: func.func @multiply(
// CHECK-SAME:  %a: memref<8x64xi8>, %b: memref<16x64xi8>
// CHECK:       %[[ZERO:.*]] = coopmatrix.fill %{{.*}} : i8 -> !coopmatrix.matrix<8x64xi8, a>
// CHECK-NEXT:  %x = coopmatrix.apply (%{{.*}}, %[[COL:.*]], %{{.*}}) in %[[ZERO]]
// CHECK:         %[[AT:.*]] = arith.addi %k, %[[COL]] : index
// CHECK:         %[[HALF:.*]] = arith.andi %[[AT]], %c1
// CHECK:         %[[BYTE:.*]] = arith.shrsi %[[AT]], %c1
// CHECK:         memref.load %a[%{{.*}}, %[[BYTE]]] : memref<8x64xi8>
// CHECK:         arith.shli
// CHECK:         arith.shrsi %{{.*}}, %{{.*}} : i8
// CHECK:       coopmatrix.apply {{.*}} in %y
// CHECK:         arith.andi %{{.*}}, %{{.*}} : i8
// CHECK:       coopmatrix.mul_add %x, %{{.*}}, %it signed(a, c, result) : !coopmatrix.matrix<8x64xi8, a>, !coopmatrix.matrix<64x16xi8, b>
// DPAS-LABEL:  func.func @multiply(
// DPAS:        %[[BYTE:.*]] = arith.shrsi %k, %c1 : index
// DPAS-NEXT:   %x = coopmatrix.load %a[%0, %[[BYTE]]] row_major : memref<8x64xi8> -> !coopmatrix.matrix<8x64xi4, a>
// DPAS:        coopmatrix.mul_add %x, %y, %it signed(a, c, result) : !coopmatrix.matrix<8x64xi4, a>
func.func @multiply(%a: memref<8x128xi4>, %b: memref<16x128xi4>, %c: memref<8x16xi32>) {
  %0 = arith.constant 0 : index
  %64 = arith.constant 64 : index
  %128 = arith.constant 128 : index
  %f = coopmatrix.load %c[%0, %0] row_major : memref<8x16xi32> -> !coopmatrix.matrix<8x16xi32, acc>
  %s = scf.for %k = %0 to %128 step %64 iter_args(%it = %f) -> (!coopmatrix.matrix<8x16xi32, acc>) {
    %x = coopmatrix.load %a[%0, %k] row_major : memref<8x128xi4> -> !coopmatrix.matrix<8x64xi4, a>
    %y = coopmatrix.load %b[%0, %k] col_major : memref<16x128xi4> -> !coopmatrix.matrix<64x16xi4, b>
    %r = coopmatrix.mul_add %x, %y, %it signed(a, c, result) : !coopmatrix.matrix<8x64xi4, a>, !coopmatrix.matrix<64x16xi4, b>, !coopmatrix.matrix<8x16xi32, acc>
    scf.yield %r : !coopmatrix.matrix<8x16xi32, acc>
  }
  coopmatrix.store %s, %c[%0, %0] row_major : !coopmatrix.matrix<8x16xi32, acc>, memref<8x16xi32>
  func.return
}

// Neighbours along N are in one byte: DPAS has no such operand.

// DPAS-LABEL:  func.func @along_n(
// DPAS:        coopmatrix.mul_add {{.*}} : !coopmatrix.matrix<8x64xi8, a>, !coopmatrix.matrix<64x16xi8, b>
func.func @along_n(%a: memref<8x64xi4>, %b: memref<64x16xi4>, %c: !coopmatrix.matrix<8x16xi32, acc>) {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major : memref<8x64xi4> -> !coopmatrix.matrix<8x64xi4, a>
  %y = coopmatrix.load %b[%0, %0] row_major : memref<64x16xi4> -> !coopmatrix.matrix<64x16xi4, b>
  %r = coopmatrix.mul_add %x, %y, %c : !coopmatrix.matrix<8x64xi4, a>, !coopmatrix.matrix<64x16xi4, b>, !coopmatrix.matrix<8x16xi32, acc>
  func.return
}

// A load whose results are converted gives what they are converted to.  Bytes of two
// are a product with ones and sixteens.

// CHECK-LABEL: func.func @convert(
// CHECK-SAME:  %a: memref<4x?xi8, strided<[?, 1], offset: ?>>, %b: memref<4x8xi8>
// CHECK:       %y = coopmatrix.apply {{.*}} : !coopmatrix.matrix<4x16xf16, a> {
// CHECK-NOT:   coopmatrix.convert {{.*}}f8E4M3FN
// CHECK:       %[[WEIGHTS:.*]] = coopmatrix.apply {{.*}} : !coopmatrix.matrix<16x8xi8, b> {
// CHECK:       %[[SUMS:.*]] = coopmatrix.mul_add %{{.*}}, %[[WEIGHTS]], %{{.*}} signed(a, b, c, result)
// CHECK-NEXT:  %[[BYTES:.*]] = coopmatrix.convert signed %[[SUMS]] : !coopmatrix.matrix<4x8xi32, acc> -> !coopmatrix.matrix<4x8xi8, acc>
// CHECK-NEXT:  coopmatrix.store %[[BYTES]], %b[%{{.*}}, %{{.*}}] row_major : !coopmatrix.matrix<4x8xi8, acc>, memref<4x8xi8>
func.func @convert(%a: memref<4x?xf4E2M1FN, strided<[?, 1], offset: ?>>, %b: memref<4x16xi4>, %z: !coopmatrix.matrix<4x16xi4, acc>) -> !coopmatrix.matrix<4x16xf16, a> {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major : memref<4x?xf4E2M1FN, strided<[?, 1], offset: ?>> -> !coopmatrix.matrix<4x16xf4E2M1FN, a>
  %y = coopmatrix.convert %x : !coopmatrix.matrix<4x16xf4E2M1FN, a> -> !coopmatrix.matrix<4x16xf16, a>
  coopmatrix.store %z, %b[%0, %0] row_major : !coopmatrix.matrix<4x16xi4, acc>, memref<4x16xi4>
  func.return %y : !coopmatrix.matrix<4x16xf16, a>
}

// What a host gives kernels is bytes, too.
// CHECK-LABEL: simt.sequence @given(%w: memref<4x2x4xi8>) {
// CHECK:         memref.reinterpret_cast %w to offset: [4], sizes: [3, 8], strides: [8, 1] : memref<4x2x4xi8> to memref<3x8xi8, strided<[8, 1], offset: ?>>
// CHECK-NEXT:    simt.launch @part(%{{.*}}) : (memref<3x8xi8, strided<[8, 1], offset: ?>>)
func.func @part(%w: memref<3x16xi4, strided<[16, 1], offset: ?>>) attributes {simt.kernel} {
  func.return
}
simt.sequence @given(%w: memref<4x2x8xi4>) {
  %v = memref.reinterpret_cast %w to offset: [8], sizes: [3, 16], strides: [16, 1] : memref<4x2x8xi4> to memref<3x16xi4, strided<[16, 1], offset: ?>>
  simt.launch @part(%v) : (memref<3x16xi4, strided<[16, 1], offset: ?>>)
}
