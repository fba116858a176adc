// RUN: coopc-opt %s -p 'split-f32-products{to=bf16x3 device=nvidia}' --validate -o %t
// RUN: filecheck %s --input-file %t
// RUN: coopc-opt %s -p 'split-f32-products{to=f16x3 device=nvidia}' --validate -o %t
// RUN: filecheck %s --check-prefix F16 --input-file %t
// RUN: coopc-opt %s -p 'split-f32-products{to=bf16 device=nvidia}' | filecheck %s --check-prefix ONE
// RUN: coopc-opt %s -p 'split-f32-products{to=tf32 device=bmg}' | filecheck %s --check-prefix TF32
// RUN: coopc-opt %s -p split-f32-products | filecheck %s --check-prefix IEEE
// RUN: coopc-opt %s -p 'split-f32-products{to=bf16x3 device=lavapipe}' 2>&1 | filecheck %s --check-prefix KEPT

// Products of f32 become products of parts where that is asked for.

// CHECK: builtin.module attributes {coopmatrix.precision = "bf16x3"}
// F16:   builtin.module attributes {coopmatrix.precision = "f16x3"}
// TF32:  builtin.module attributes {coopmatrix.precision = "tf32"}
// TF32:  coopmatrix.mul_add {{.*}} : !coopmatrix.matrix<16x16xf32, a>
// IEEE:  builtin.module {
// IEEE:  coopmatrix.mul_add {{.*}} : !coopmatrix.matrix<16x16xf32, a>
// KEPT:  remark: coopmatrix.mul_add: the product of f32 stays exact: lavapipe does not multiply bf16 into f32
// KEPT:  builtin.module {

// Two parts of each operand, which is loaded as an accumulator; parts are made once.
// CHECK-LABEL: func.func @loaded(
// CHECK:       %[[X:.*]] = coopmatrix.load %a[%0, %0] row_major : memref<16x16xf32> -> !coopmatrix.matrix<16x16xf32, acc>
// CHECK-NEXT:  %[[H:.*]] = coopmatrix.apply (%{{.*}}, %{{.*}}, %{{.*}}) in %[[X]]
// CHECK-NOT:     arith.truncf
// CHECK:       %[[L:.*]] = coopmatrix.apply (%{{.*}}, %{{.*}}, %[[V:.*]]) in %[[X]]
// CHECK:         %[[T:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK-NEXT:    %[[E:.*]] = arith.extf %[[T]] : bf16 to f32
// CHECK-NEXT:    arith.subf %[[V]], %[[E]] : f32
// CHECK:       %ma_hi = coopmatrix.convert %[[H]] : !coopmatrix.matrix<16x16xf32, acc> -> !coopmatrix.matrix<16x16xbf16, a>
// CHECK-NEXT:  %ma_lo = coopmatrix.convert %[[L]]
// CHECK:       coopmatrix.load %b[%0, %0] col_major
// CHECK:       %[[S:.*]] = coopmatrix.mul_add %ma_hi, %mb_lo, %mc :
// CHECK-NEXT:  %[[S2:.*]] = coopmatrix.mul_add %ma_lo, %mb_hi, %[[S]] :
// CHECK-NEXT:  %r = coopmatrix.mul_add %ma_hi, %mb_hi, %[[S2]] :
// CHECK-NEXT:  coopmatrix.mul_add %ma_hi, %mb_lo, %r :
// CHECK-NEXT:  coopmatrix.mul_add
// CHECK-NEXT:  %s = coopmatrix.mul_add
// CHECK-NEXT:  coopmatrix.store %s

// In f16 the second parts are larger, and so are their products.
// F16-LABEL: func.func @loaded(
// F16:         arith.mulf %{{.*}}, %{{.*}} : f32
// F16:       %[[Z:.*]] = coopmatrix.fill
// F16-NEXT:  %[[S:.*]] = coopmatrix.mul_add %ma_hi, %mb_lo, %[[Z]] :
// F16-NEXT:  %[[S2:.*]] = coopmatrix.mul_add %ma_lo, %mb_hi, %[[S]] :
// F16-NEXT:  %[[P:.*]] = coopmatrix.mul_add %ma_hi, %mb_hi, %mc :
// F16-NEXT:  %[[U:.*]] = arith.constant 0.00048828125 : f32
// F16-NEXT:  %[[Q:.*]] = coopmatrix.scale %[[S2]], %[[U]]
// F16-NEXT:  coopmatrix.add %[[P]], %[[Q]]

// ONE-LABEL: func.func @loaded(
// ONE-NOT:   coopmatrix.apply
// ONE:       %ma_hi = coopmatrix.convert %ma : !coopmatrix.matrix<16x16xf32, acc> -> !coopmatrix.matrix<16x16xbf16, a>
// ONE:       %r = coopmatrix.mul_add %ma_hi, %mb_hi, %mc :
func.func @loaded(%a: memref<16x16xf32>, %b: memref<16x16xf32>, %c: memref<16x16xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %ma = coopmatrix.load %a[%0, %0] row_major : memref<16x16xf32> -> !coopmatrix.matrix<16x16xf32, a>
  %mb = coopmatrix.load %b[%0, %0] col_major : memref<16x16xf32> -> !coopmatrix.matrix<16x16xf32, b>
  %mc = coopmatrix.load %c[%0, %0] row_major : memref<16x16xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  %r = coopmatrix.mul_add %ma, %mb, %mc : !coopmatrix.matrix<16x16xf32, a>, !coopmatrix.matrix<16x16xf32, b>, !coopmatrix.matrix<16x16xf32, acc>
  %s = coopmatrix.mul_add %ma, %mb, %r : !coopmatrix.matrix<16x16xf32, a>, !coopmatrix.matrix<16x16xf32, b>, !coopmatrix.matrix<16x16xf32, acc>
  coopmatrix.store %s, %c[%0, %0] row_major : !coopmatrix.matrix<16x16xf32, acc>, memref<16x16xf32>
  func.return
}

// What is not loaded here is converted, and other types stay.
// CHECK-LABEL: func.func @given(
// CHECK:       coopmatrix.convert %a : !coopmatrix.matrix<16x16xf32, a> -> !coopmatrix.matrix<16x16xf32, acc>
// CHECK:       coopmatrix.mul_add %d, %e, %c : !coopmatrix.matrix<16x16xf16, a>
func.func @given(%a: !coopmatrix.matrix<16x16xf32, a>, %b: !coopmatrix.matrix<16x16xf32, b>, %c: !coopmatrix.matrix<16x16xf32, acc>, %d: !coopmatrix.matrix<16x16xf16, a>, %e: !coopmatrix.matrix<16x16xf16, b>) -> !coopmatrix.matrix<16x16xf32, acc> {
  %r = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<16x16xf32, a>, !coopmatrix.matrix<16x16xf32, b>, !coopmatrix.matrix<16x16xf32, acc>
  %s = coopmatrix.mul_add %d, %e, %c : !coopmatrix.matrix<16x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<16x16xf32, acc>
  func.return %r : !coopmatrix.matrix<16x16xf32, acc>
}
