// RUN: coopc-opt %s -p 'widen-products{device=nvidia}' 2>&1 | filecheck %s
// RUN: coopc-opt %s -p 'widen-products{device=rdna4}' 2>&1 | filecheck %s --check-prefix NATIVE
// RUN: coopc-opt %s -p 'coopc-khr{device=nvidia}' --validate -o %t
// RUN: filecheck %s --check-prefix KHR --input-file %t

// Where a device has no products of f8, operands become the first type that has all
// their numbers and that it multiplies.

// CHECK:  remark: coopmatrix.mul_add: nvidia does not multiply f8E4M3FN * f8E5M2 + f32 -> f32: the operands become f16 and f16
// NATIVE-NOT: coopmatrix.convert
// KHR: coopmatrix.mul_add {{.*}} : !coopmatrix.matrix<16x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>

// CHECK-LABEL: func.func @f8(
// CHECK:       %[[A:.*]] = coopmatrix.convert %{{.*}} : !coopmatrix.matrix<16x16xf8E4M3FN, a> -> !coopmatrix.matrix<16x16xf16, a>
// CHECK:       %[[B:.*]] = coopmatrix.convert %{{.*}} : !coopmatrix.matrix<16x16xf8E5M2, b> -> !coopmatrix.matrix<16x16xf16, b>
// CHECK-NEXT:  coopmatrix.mul_add %[[A]], %[[B]], %{{.*}} : !coopmatrix.matrix<16x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<16x16xf32, acc>
func.func @f8(%a: memref<16x16xf8E4M3FN>, %b: memref<16x16xf8E5M2>, %c: memref<16x16xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %ma = coopmatrix.load %a[%0, %0] row_major : memref<16x16xf8E4M3FN> -> !coopmatrix.matrix<16x16xf8E4M3FN, a>
  %mb = coopmatrix.load %b[%0, %0] row_major : memref<16x16xf8E5M2> -> !coopmatrix.matrix<16x16xf8E5M2, b>
  %mc = coopmatrix.load %c[%0, %0] row_major : memref<16x16xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  %r = coopmatrix.mul_add %ma, %mb, %mc : !coopmatrix.matrix<16x16xf8E4M3FN, a>, !coopmatrix.matrix<16x16xf8E5M2, b>, !coopmatrix.matrix<16x16xf32, acc>
  coopmatrix.store %r, %c[%0, %0] row_major : !coopmatrix.matrix<16x16xf32, acc>, memref<16x16xf32>
  func.return
}

// What is multiplied as it is, and what no wider type makes a product, stays.
// CHECK-LABEL: func.func @kept(
// CHECK-NOT:   coopmatrix.convert
func.func @kept(%a: !coopmatrix.matrix<16x16xf16, a>, %b: !coopmatrix.matrix<16x16xf16, b>, %c: !coopmatrix.matrix<16x16xf32, acc>, %d: !coopmatrix.matrix<16x16xf8E5M2, a>, %e: !coopmatrix.matrix<16x16xf64, acc>) {
  %r = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<16x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<16x16xf32, acc>
  %s = coopmatrix.mul_add %d, %b, %e : !coopmatrix.matrix<16x16xf8E5M2, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<16x16xf64, acc>
  func.return
}
