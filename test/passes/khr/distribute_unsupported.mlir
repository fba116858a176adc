// RUN: coopc-opt %s -p "set-target{device=lavapipe},distribute-unsupported" 2>&1 | filecheck %s

// Kernels whose products the device does not multiply are code per lane; others stay.

// CHECK:       remark: coopmatrix.mul_add: lavapipe does not multiply f32 * f32 + f32 -> f32: its lanes compute it, as vectors
// CHECK:       remark: coopmatrix.mul_add: lavapipe does not multiply 8 x 5 by 5 x 8 of f16 * f16 + f32 -> f32: its lanes compute it, as vectors
// CHECK-NOT:   remark

// CHECK-LABEL: func.func @floats(
// CHECK-SAME:  coopmatrix.distribution = #layout.coopmatrix, simt.subgroup_size = 8 : i32
// CHECK-NOT:   coopmatrix.
// CHECK:       simt.broadcast
// CHECK-LABEL: func.func @other_size(
// CHECK-NOT:   coopmatrix.mul_add
func.func @floats(%a: memref<8x8xf32>, %c: memref<8x8xf32>) attributes {simt.kernel} {
  %z = arith.constant 0 : index
  %x = coopmatrix.load %a[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, a>
  %y = coopmatrix.load %a[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, b>
  %s = coopmatrix.load %c[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %d = coopmatrix.mul_add %x, %y, %s : !coopmatrix.matrix<8x8xf32, a>, !coopmatrix.matrix<8x8xf32, b>, !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %d, %c[%z, %z] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}

func.func @other_size(%a: memref<8x5xf16>, %b: memref<5x8xf16>, %c: memref<8x8xf32>) attributes {simt.kernel} {
  %z = arith.constant 0 : index
  %x = coopmatrix.load %a[%z, %z] row_major : memref<8x5xf16> -> !coopmatrix.matrix<8x5xf16, a>
  %y = coopmatrix.load %b[%z, %z] row_major : memref<5x8xf16> -> !coopmatrix.matrix<5x8xf16, b>
  %s = coopmatrix.load %c[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %d = coopmatrix.mul_add %x, %y, %s : !coopmatrix.matrix<8x5xf16, a>, !coopmatrix.matrix<5x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %d, %c[%z, %z] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}

// One product that the device has: the kernel is left to the matrix engine.
// CHECK-LABEL: func.func @mixed(
// CHECK:       coopmatrix.mul_add
// CHECK:       coopmatrix.mul_add
func.func @mixed(%a: memref<8x8xf16>, %c: memref<8x8xf32>) attributes {simt.kernel} {
  %z = arith.constant 0 : index
  %x = coopmatrix.load %a[%z, %z] row_major : memref<8x8xf16> -> !coopmatrix.matrix<8x8xf16, a>
  %y = coopmatrix.load %a[%z, %z] row_major : memref<8x8xf16> -> !coopmatrix.matrix<8x8xf16, b>
  %s = coopmatrix.load %c[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %d = coopmatrix.mul_add %x, %y, %s : !coopmatrix.matrix<8x8xf16, a>, !coopmatrix.matrix<8x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
  %u = coopmatrix.load %c[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, a>
  %v = coopmatrix.load %c[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, b>
  %e = coopmatrix.mul_add %u, %v, %d : !coopmatrix.matrix<8x8xf32, a>, !coopmatrix.matrix<8x8xf32, b>, !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %e, %c[%z, %z] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}

// More elements than a lane's registers hold: left to `legalize-coopmatrix-khr`.
// CHECK-LABEL: func.func @large(
// CHECK-NOT:   coopmatrix.distribution
// CHECK:       coopmatrix.mul_add
func.func @large(%a: memref<64x32xf32>, %b: memref<32x64xf32>, %c: memref<64x64xf32>) attributes {simt.kernel} {
  %z = arith.constant 0 : index
  %x = coopmatrix.load %a[%z, %z] row_major : memref<64x32xf32> -> !coopmatrix.matrix<64x32xf32, a>
  %y = coopmatrix.load %b[%z, %z] row_major : memref<32x64xf32> -> !coopmatrix.matrix<32x64xf32, b>
  %s = coopmatrix.load %c[%z, %z] row_major : memref<64x64xf32> -> !coopmatrix.matrix<64x64xf32, acc>
  %d = coopmatrix.mul_add %x, %y, %s : !coopmatrix.matrix<64x32xf32, a>, !coopmatrix.matrix<32x64xf32, b>, !coopmatrix.matrix<64x64xf32, acc>
  coopmatrix.store %d, %c[%z, %z] row_major : !coopmatrix.matrix<64x64xf32, acc>, memref<64x64xf32>
  func.return
}

// No whole subgroups: the other kernels are distributed without it.
// CHECK-LABEL: func.func @odd_group(
// CHECK-NOT:   coopmatrix.distribution
// CHECK:       coopmatrix.mul_add
func.func @odd_group(%a: memref<8x8xf32>, %c: memref<8x8xf32>) attributes {simt.kernel, simt.work_group_size = array<i32: 12>} {
  %z = arith.constant 0 : index
  %x = coopmatrix.load %a[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, a>
  %y = coopmatrix.load %a[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, b>
  %s = coopmatrix.load %c[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %d = coopmatrix.mul_add %x, %y, %s : !coopmatrix.matrix<8x8xf32, a>, !coopmatrix.matrix<8x8xf32, b>, !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %d, %c[%z, %z] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}

// CHECK-LABEL: func.func @other_distribution(
// CHECK-SAME:  coopmatrix.distribution = #layout.row_slice
// CHECK:       coopmatrix.mul_add
func.func @other_distribution(%a: memref<8x8xf32>, %c: memref<8x8xf32>) attributes {simt.kernel, coopmatrix.distribution = #layout.row_slice} {
  %z = arith.constant 0 : index
  %x = coopmatrix.load %a[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, a>
  %y = coopmatrix.load %a[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, b>
  %s = coopmatrix.load %c[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %d = coopmatrix.mul_add %x, %y, %s : !coopmatrix.matrix<8x8xf32, a>, !coopmatrix.matrix<8x8xf32, b>, !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %d, %c[%z, %z] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}

// CHECK-LABEL: func.func @calls(
// CHECK:       coopmatrix.mul_add
func.func @calls(%a: memref<8x8xf32>, %c: memref<8x8xf32>) attributes {simt.kernel} {
  %z = arith.constant 0 : index
  %x = coopmatrix.load %a[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, a>
  %y = coopmatrix.load %a[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, b>
  %s = coopmatrix.load %c[%z, %z] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %d = coopmatrix.mul_add %x, %y, %s : !coopmatrix.matrix<8x8xf32, a>, !coopmatrix.matrix<8x8xf32, b>, !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %d, %c[%z, %z] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.call @helper() : () -> ()
  func.return
}
func.func private @helper() {
  func.return
}
