// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// A slot holds one element.

%m, %i = "test.op"() : () -> (!coopmatrix.matrix<7x9xi32, acc>, index)
%e = "coopmatrix.extract"(%m, %i) : (!coopmatrix.matrix<7x9xi32, acc>, index) -> f32
// CHECK: coopmatrix.extract: expected a scalar of i32, the element type of the matrix, got f32

// -----

%m, %i, %e = "test.op"() : () -> (!coopmatrix.matrix<7x9xi32, acc>, index, i64)
%n = "coopmatrix.insert"(%e, %m, %i) : (i64, !coopmatrix.matrix<7x9xi32, acc>, index) -> !coopmatrix.matrix<7x9xi32, acc>
// CHECK: coopmatrix.insert: expected a scalar of i32, the element type of the matrix, got i64

// -----

%m, %i, %e = "test.op"() : () -> (!coopmatrix.matrix<7x9xi32, acc>, index, i32)
%n = "coopmatrix.insert"(%e, %m, %i) : (i32, !coopmatrix.matrix<7x9xi32, acc>, index) -> !coopmatrix.matrix<7x9xi32, a>
// CHECK: coopmatrix.insert: expected a result of !coopmatrix.matrix<7x9xi32, acc>, the type of the operand, got !coopmatrix.matrix<7x9xi32, a>

// -----

%m, %i = "test.op"() : () -> (!coopmatrix.matrix<7x9xi32, acc>, index)
%e = coopmatrix.extract %m[%i] : i32
// CHECK: :1: error: expected a !coopmatrix.matrix, got i32

// -----

%m, %i = "test.op"() : () -> (!coopmatrix.matrix<7x9xi32, acc>, i32)
%r, %c = "coopmatrix.coord"(%m, %i) : (!coopmatrix.matrix<7x9xi32, acc>, i32) -> (index, index)
// CHECK: operand 'index' at position 1 does not verify

// -----

%n = coopmatrix.length i32 : index
// CHECK: i32 should be of base attribute coopmatrix.matrix

// -----

// A row slice is a vector of elements.

%m, %k = "test.op"() : () -> (!coopmatrix.matrix<12x12xi32, none>, index)
%v = coopmatrix.extract_row_slice %m[%k] : !coopmatrix.matrix<12x12xi32, none> -> vector<16xf32>
// CHECK: coopmatrix.extract_row_slice: expected a row slice, a vector of rank 1 and of i32, the element type of the matrix, got vector<16xf32>

// -----

%m, %k = "test.op"() : () -> (!coopmatrix.matrix<12x12xi32, none>, index)
%v = coopmatrix.extract_row_slice %m[%k] : !coopmatrix.matrix<12x12xi32, none> -> vector<4x4xi32>
// CHECK: coopmatrix.extract_row_slice: expected a row slice, a vector of rank 1 and of i32, the element type of the matrix, got vector<4x4xi32>

// -----

%m, %k = "test.op"() : () -> (!coopmatrix.matrix<12x12xi32, none>, index)
%v = coopmatrix.extract_row_slice %m[%k] : !coopmatrix.matrix<12x12xi32, none> -> vector<[4]xi32>
// CHECK: coopmatrix.extract_row_slice: expected a row slice, a vector of rank 1 and of i32, the element type of the matrix, got vector<[4]xi32>

// -----

%m, %k, %v = "test.op"() : () -> (!coopmatrix.matrix<12x12xi32, none>, index, vector<16xi8>)
%n = coopmatrix.insert_row_slice %v, %m[%k] : vector<16xi8>, !coopmatrix.matrix<12x12xi32, none>
// CHECK: coopmatrix.insert_row_slice: expected a row slice, a vector of rank 1 and of i32, the element type of the matrix, got vector<16xi8>

// -----

%m, %k, %v, %mask = "test.op"() : () -> (!coopmatrix.matrix<12x12xi32, none>, index, vector<16xi32>, vector<8xi1>)
%n = coopmatrix.insert_row_slice %v, %m[%k] mask %mask : vector<8xi1> : vector<16xi32>, !coopmatrix.matrix<12x12xi32, none>
// CHECK: coopmatrix.insert_row_slice: expected a mask of vector<16xi1>, a bit for each element, got vector<8xi1>

// -----

%m, %k, %v = "test.op"() : () -> (!coopmatrix.matrix<12x12xi32, none>, index, vector<16xi32>)
%n = "coopmatrix.insert_row_slice"(%v, %m, %k) : (vector<16xi32>, !coopmatrix.matrix<12x12xi32, none>, index) -> !coopmatrix.matrix<12x12xi32, a>
// CHECK: coopmatrix.insert_row_slice: expected a result of !coopmatrix.matrix<12x12xi32, none>, the type of the operand, got !coopmatrix.matrix<12x12xi32, a>
