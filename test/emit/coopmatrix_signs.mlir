// RUN: coopc-opt %s -t 'spirv{device=lavapipe}' | filecheck %s
// VALID: lavapipe

// The signs of a multiplication of integers.  Of c and the result they change nothing
// here, so they are those that the driver lists.

module {
// CHECK: %s = OpCooperativeMatrixMulAddKHR %{{.*}} %a %b %{{[0-9]+}} MatrixASignedComponentsKHR|MatrixBSignedComponentsKHR|MatrixCSignedComponentsKHR|MatrixResultSignedComponentsKHR{{$}}
// CHECK: %u = OpCooperativeMatrixMulAddKHR %{{.*}} %a %b %{{[0-9]+}}{{$}}
func.func @signs(%m: memref<8x8xi8>, %c: memref<8x8xi32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %acc = coopmatrix.fill %z : i32 -> !coopmatrix.matrix<8x8xi32, acc>
  %a = coopmatrix.load %m[%0, %0] row_major
    : memref<8x8xi8> -> !coopmatrix.matrix<8x8xi8, a>
  %b = coopmatrix.load %m[%0, %0] row_major
    : memref<8x8xi8> -> !coopmatrix.matrix<8x8xi8, b>
  %s = coopmatrix.mul_add %a, %b, %acc signed(a, b) : !coopmatrix.matrix<8x8xi8, a>,
    !coopmatrix.matrix<8x8xi8, b>, !coopmatrix.matrix<8x8xi32, acc>
  %u = coopmatrix.mul_add %a, %b, %acc signed(c, result) : !coopmatrix.matrix<8x8xi8, a>,
    !coopmatrix.matrix<8x8xi8, b>, !coopmatrix.matrix<8x8xi32, acc>
  func.return
}
}
