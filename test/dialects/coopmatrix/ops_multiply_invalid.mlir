// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// The reduction length of a is the number of rows of b.

%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<8x16xf16, b>, !coopmatrix.matrix<8x16xf32, acc>)
%d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<8x16xf16, b>, !coopmatrix.matrix<8x16xf32, acc>
// CHECK: :1: error: coopmatrix.mul_add: expected b to have K = 16 rows, got 8

// -----

// c is as high as a and as wide as b, and so is the result.

%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<4x8xf32, acc>)
%d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<4x8xf32, acc>
// CHECK: coopmatrix.mul_add: expected c to be M x N = 8 x 4, got 4 x 8

// -----

%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc>)
%d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x5xf32, acc>
// CHECK: coopmatrix.mul_add: expected result to be M x N = 8 x 4, got 8 x 5

// -----

// Names stand for any number; numbers do not.

coopmatrix.spec_constant @M = 8 : i32
%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<@M x 16 x f16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<@M x 8 x f32, acc>)
%d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<@M x 16 x f16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<@M x 8 x f32, acc>
// CHECK: coopmatrix.mul_add: expected c to be M x N = M x 4, got M x 8

// -----

// A matrix is where its use says.

%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x16xf16, b>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc>)
%d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, b>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.mul_add: expected a to have use a, got b

// -----

%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, none>, !coopmatrix.matrix<8x4xf32, acc>)
%d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, none>, !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.mul_add: expected b to have use b, got none

// -----

%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc>)
%d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf32, a>
// CHECK: coopmatrix.mul_add: expected result to have use acc, got a

// -----

// The same work-items hold all of them.

%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b, scope = workgroup>, !coopmatrix.matrix<8x4xf32, acc>)
%d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b, scope = workgroup>, !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.mul_add: expected b to have the scope of a, subgroup, got workgroup

// -----

coopmatrix.spec_constant @S = 3 : i32
%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc, scope = @S>)
%d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc, scope = @S>
// CHECK: coopmatrix.mul_add: expected c to have the scope of a, subgroup, got @S

// -----

%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xf32, acc>)
%d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.mul_add: expected b to hold floats as a does, got i8

// -----

%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc>)
%d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc> -> !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.mul_add: expected result to hold integers as a does, got f32

// -----

// Only integers have a sign, and only they saturate.

%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc>)
%d = coopmatrix.mul_add %a, %b, %c signed(c) : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.mul_add: expected c to hold integers, since it is signed, got f32

// -----

%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc>)
%d = coopmatrix.mul_add %a, %b, %c saturating : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.mul_add: expected a result of integers, which can saturate, got f32

// -----

%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc>)
%d = coopmatrix.mul_add %a, %b, %c signed(a, d) : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x4xi8, b>, !coopmatrix.matrix<8x4xi32, acc>
// CHECK: :46: error: expected one of a, b, c, result

// -----

%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, !coopmatrix.matrix<8x4xf32, acc>)
%d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>
// CHECK: :38: error: expected the types of a, b and c, got 2

// -----

%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, f32)
%d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x4xf16, b>, f32
// CHECK: :38: error: expected c to be a !coopmatrix.matrix, got f32

// -----

// A fill takes one number, or a pointer to one.

%m = "test.op"() : () -> memref<4xf32>
%c = coopmatrix.fill %m : memref<4xf32> -> !coopmatrix.matrix<8x16xf32, acc>
// CHECK: coopmatrix.fill: expected a memref of rank 0, a pointer to the one value, got memref<4xf32>

// -----

%v = "test.op"() : () -> vector<4xf32>
%c = coopmatrix.fill %v : vector<4xf32> -> !coopmatrix.matrix<8x16xf32, acc>
// CHECK: coopmatrix.fill: expected an index or a number of a type that matrices hold, or a pointer to one, got vector<4xf32>

// -----

// The truth is 1 or -1, by sign: extend it first.

%t = "test.op"() : () -> i1
%c = coopmatrix.fill %t : i1 -> !coopmatrix.matrix<8x16xi32, acc>
// CHECK: coopmatrix.fill: expected an index or a number of a type that matrices hold, or a pointer to one, got i1

// -----

%p = "test.op"() : () -> memref<f80>
%c = coopmatrix.fill %p : memref<f80> -> !coopmatrix.matrix<8x16xf32, acc>
// CHECK: coopmatrix.fill: expected an index or a number of a type that matrices hold, or a pointer to one, got memref<f80>
