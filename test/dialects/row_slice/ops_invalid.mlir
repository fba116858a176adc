// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// A length is over at least one lane.

%n = row_slice.length !coopmatrix.matrix<4x4xf32, acc> lanes 0 : index
// CHECK: row_slice.length: expected at least 1 lane, got 0

// -----

%m, %i = "test.op"() : () -> (!coopmatrix.matrix<4x4xf32, acc>, index)
%t = row_slice.id %m[%i] : !coopmatrix.matrix<4x4xf32, acc>
%e = row_slice.extract_element %t : i32
// CHECK: row_slice.extract_element: expected elements of f32, those of the matrix, got i32

// -----

%t = "test.op"() : () -> !row_slice.token
%e = row_slice.extract_element %t : vector<4x4xf32>
// CHECK: row_slice.extract_element: expected a vector of rank 1, an element for each lane, got vector<4x4xf32>

// -----

%t, %v, %c = "test.op"() : () -> (!row_slice.token, vector<4xf32>, i1)
row_slice.insert_element %v, %t mask %c : i1 : vector<4xf32>
// CHECK: row_slice.insert_element: expected a mask of vector<4xi1>, a bit for each element, got i1

// -----

%m, %i = "test.op"() : () -> (!coopmatrix.matrix<4x4xf32, acc>, index)
%t = row_slice.id %m[%i] : !coopmatrix.matrix<4x4xf32, acc>
%n = row_slice.insert_to_matrix %t : !coopmatrix.matrix<4x8xf32, acc>
// CHECK: row_slice.insert_to_matrix: expected !coopmatrix.matrix<4x4xf32, acc>, the matrix of the token, got !coopmatrix.matrix<4x8xf32, acc>
