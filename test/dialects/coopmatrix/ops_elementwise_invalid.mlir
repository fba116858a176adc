// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Only integers have a sign.

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%z = coopmatrix.div signed %x, %x : !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.div: expected elements that are integers, as coopmatrix.div needs, got f32

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%z = coopmatrix.rem signed %x, %x : !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.rem: expected elements that are integers, as coopmatrix.rem needs, got f32

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%z = coopmatrix.min signed %x, %x : !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.min: expected elements that are integers, as coopmatrix.min needs, got f32

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%z = coopmatrix.max signed %x, %x : !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.max: expected elements that are integers, as coopmatrix.max needs, got f32

// -----

// Only integers have bits that can be named.

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%z = coopmatrix.and %x, %x : !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.and: expected elements that are integers, as coopmatrix.and needs, got f32

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xbf16, acc>
%z = coopmatrix.or %x, %x : !coopmatrix.matrix<8x4xbf16, acc>
// CHECK: coopmatrix.or: expected elements that are integers, as coopmatrix.or needs, got bf16

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf16, acc>
%z = coopmatrix.xor %x, %x : !coopmatrix.matrix<8x4xf16, acc>
// CHECK: coopmatrix.xor: expected elements that are integers, as coopmatrix.xor needs, got f16

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf64, acc>
%z = coopmatrix.shl %x, %x : !coopmatrix.matrix<8x4xf64, acc>
// CHECK: coopmatrix.shl: expected elements that are integers, as coopmatrix.shl needs, got f64

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%z = coopmatrix.shr %x, %x : !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.shr: expected elements that are integers, as coopmatrix.shr needs, got f32

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%z = coopmatrix.not %x : !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.not: expected elements that are integers, as coopmatrix.not needs, got f32

// -----

%x, %s = "test.op"() : () -> (!coopmatrix.matrix<8x4xf32, acc>, f16)
%z = coopmatrix.scale %x, %s : !coopmatrix.matrix<8x4xf32, acc>, f16
// CHECK: coopmatrix.scale: expected a scalar of f32, the element type of the matrix, got f16

// -----

// Operands and result have one type: also one use.

%x, %y = "test.op"() : () -> (!coopmatrix.matrix<8x4xf32, acc>, !coopmatrix.matrix<8x4xf32, a>)
%z = "coopmatrix.add"(%x, %y) : (!coopmatrix.matrix<8x4xf32, acc>, !coopmatrix.matrix<8x4xf32, a>) -> !coopmatrix.matrix<8x4xf32, acc>
// CHECK: attribute !coopmatrix.matrix<8x4xf32, acc> expected from variable 'T', but got !coopmatrix.matrix<8x4xf32, a>

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%z = "coopmatrix.neg"(%x) : (!coopmatrix.matrix<8x4xf32, acc>) -> !coopmatrix.matrix<8x4xf16, acc>
// CHECK: attribute !coopmatrix.matrix<8x4xf32, acc> expected from variable 'T', but got !coopmatrix.matrix<8x4xf16, acc>

// -----

%x = "test.op"() : () -> vector<4xf32>
%z = coopmatrix.abs %x : vector<4xf32>
// CHECK: vector<4xf32> should be of base attribute coopmatrix.matrix
