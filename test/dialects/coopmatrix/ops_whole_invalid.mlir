// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// A conversion changes elements and use, not who holds how much.

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = coopmatrix.convert %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<4x8xf16, acc>
// CHECK: coopmatrix.convert: expected a result of 8 x 4, as the value has, got 4 x 8

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = coopmatrix.convert %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf16, acc, scope = workgroup>
// CHECK: coopmatrix.convert: expected a result of scope subgroup, as the value has, got workgroup

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = coopmatrix.convert signed %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf16, acc>
// CHECK: coopmatrix.convert: expected integers in the value or the result, which can be signed, got f32 and f16

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = coopmatrix.bitcast %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xi16, acc>
// CHECK: coopmatrix.bitcast: expected elements of 32 bits, as the value has, got i16

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = coopmatrix.bitcast %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xi32, a>
// CHECK: coopmatrix.bitcast: expected a result of use acc, as the value has, got a

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = coopmatrix.bitcast %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<4x8xi32, acc>
// CHECK: coopmatrix.bitcast: expected a result of 8 x 4, as the value has, got 4 x 8

// -----

// Rows and columns are swapped; the element type and the scope stay.

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = coopmatrix.transpose %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf32, b>
// CHECK: coopmatrix.transpose: expected a result of 4 x 8 of f32, and of the scope of the value, got !coopmatrix.matrix<8x4xf32, b>

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = coopmatrix.transpose %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<4x8xf16, b>
// CHECK: coopmatrix.transpose: expected a result of 4 x 8 of f32, and of the scope of the value, got !coopmatrix.matrix<4x8xf16, b>

// -----

// Quads are whole.

%x = "test.op"() : () -> !coopmatrix.matrix<8x5xf32, acc>
%y = coopmatrix.reduce add quads broadcast %x : !coopmatrix.matrix<8x5xf32, acc> -> !coopmatrix.matrix<8x5xf32, acc>
// CHECK: coopmatrix.reduce: expected even numbers of rows and columns for quads, got !coopmatrix.matrix<8x5xf32, acc>

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = coopmatrix.reduce add quads %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.reduce: expected !coopmatrix.matrix<4x2xf32, acc>, one element for each of the quads, got !coopmatrix.matrix<8x4xf32, acc>

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = coopmatrix.reduce add all %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<8x1xf32, acc>
// CHECK: coopmatrix.reduce: expected !coopmatrix.matrix<1x1xf32, acc>, one element of all, got !coopmatrix.matrix<8x1xf32, acc>

// -----

// Rows are reduced to a column of one element each, and columns to a row.

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = coopmatrix.reduce add rows %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<1x4xf32, acc>
// CHECK: coopmatrix.reduce: expected !coopmatrix.matrix<8x1xf32, acc>, one element for each of the rows, got !coopmatrix.matrix<1x4xf32, acc>

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = coopmatrix.reduce max cols signed %x : !coopmatrix.matrix<8x4xf32, acc> -> !coopmatrix.matrix<1x4xf32, acc>
// CHECK: coopmatrix.reduce: expected max or min of integers, which can be signed, got max of f32

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xi32, acc>
%y = coopmatrix.reduce add cols signed %x : !coopmatrix.matrix<8x4xi32, acc> -> !coopmatrix.matrix<1x4xi32, acc>
// CHECK: coopmatrix.reduce: expected max or min of integers, which can be signed, got add of i32

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xi32, acc>
%y = coopmatrix.reduce mul cols %x : !coopmatrix.matrix<8x4xi32, acc> -> !coopmatrix.matrix<1x4xi32, acc>
// CHECK: :24: error: expected one of add, max, min

// -----

// The body gives an element for a row, a column and an element.

%x, %n = "test.op"() : () -> (!coopmatrix.matrix<8x4xf32, acc>, index)
%y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x4xf32, acc> {
  coopmatrix.yield %i : index
}
// CHECK: coopmatrix.apply: expected a scalar of f32, the element type of the matrix, got index

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = "coopmatrix.apply"(%x) ({
^bb0(%v: f32):
  coopmatrix.yield %v : f32
}) : (!coopmatrix.matrix<8x4xf32, acc>) -> !coopmatrix.matrix<8x4xf32, acc>
// CHECK: coopmatrix.apply: expected a body of (index, index, f32): row, column and element, got (f32)

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = "coopmatrix.apply"(%x) ({
^bb0(%i: index, %j: index, %v: f32):
  coopmatrix.yield %v : f32
}) : (!coopmatrix.matrix<8x4xf32, acc>) -> !coopmatrix.matrix<8x4xf32, a>
// CHECK: coopmatrix.apply: expected a result of !coopmatrix.matrix<8x4xf32, acc>, the type of the operand, got !coopmatrix.matrix<8x4xf32, a>

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x4xf32, acc> {
  "test.termop"() : () -> ()
}
// CHECK: coopmatrix.apply: expected a body that ends in coopmatrix.yield, got test.termop

// -----

// Work-items run the body as often as they own elements, so never together.

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x4xf32, acc> {
  %z = coopmatrix.neg %x : !coopmatrix.matrix<8x4xf32, acc>
  coopmatrix.yield %v : f32
}
// CHECK: coopmatrix.apply: coopmatrix.neg is collective and cannot be in a body that each work-item runs by itself

// -----

%x, %c = "test.op"() : () -> (!coopmatrix.matrix<8x4xf32, acc>, i1)
%y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x4xf32, acc> {
  scf.if %c {
    simt.barrier workgroup
  }
  coopmatrix.yield %v : f32
}
// CHECK: coopmatrix.apply: simt.barrier is collective and cannot be in a body that each work-item runs by itself

// -----

%x = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%y = coopmatrix.apply (%i, %j) in %x : !coopmatrix.matrix<8x4xf32, acc> {
  coopmatrix.yield %x : f32
}
// CHECK: :30: error: Expected ','

// -----

%x = "test.op"() : () -> f32
%y = coopmatrix.apply (%i, %j, %v) in %x : f32 {
  coopmatrix.yield %v : f32
}
// CHECK: :44: error: expected a !coopmatrix.matrix, got f32

// -----

%x = "test.op"() : () -> f32
coopmatrix.yield %x : f32
// CHECK: 'coopmatrix.yield' expects parent op 'coopmatrix.apply'
