// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Layouts that contradict themselves, with both numbers, and text that is no layout.

"test.op"() {l = #layout.coopmatrix<4x15, lanes = 12>} : () -> ()
// CHECK: :36: error: expected a subgroup size that is a power of two, got 12

// -----

"test.op"() {l = #layout.coopmatrix<4x15, lanes = 16, channels = 2>} : () -> ()
// CHECK: error: expected a number of channels that is a power of two and divides the 15 columns, got 2

// -----

"test.op"() {l = #layout.coopmatrix<64x2, lanes = 16, k1 = 3>} : () -> ()
// CHECK: error: expected K1 to divide the 4 row blocks, got 3

// -----

"test.op"() {l = #layout.coopmatrix<4x15, channels = 1>} : () -> ()
// CHECK: error: expected lanes of the matrix, got none

// -----

"test.op"() {l = #layout.coopmatrix<4x15, lane = 16>} : () -> ()
// CHECK: :43: error: expected one of lanes, channels, k1, got 'lane', did you mean 'lanes'?

// -----

"test.op"() {l = #layout.row_slice<7x9, lanes = 16, lanes = 8>} : () -> ()
// CHECK: :53: error: expected lanes once, got it twice

// -----

"test.op"() {l = #layout.row_slice<7x0, lanes = 16>} : () -> ()
// CHECK: error: expected rows, columns and lanes to be at least 1, got 7 x 0 over 16 lanes

// -----

"test.op"() {l = #layout.dpas<repeat_count = 3>} : () -> ()
// CHECK: error: expected a repeat count of 1, 2, 4 or 8, got 3

// -----

"test.op"() {l = #layout.dpas<execution_size = 32>} : () -> ()
// CHECK: error: expected an execution size of 8 or 16, got 32

// -----

"test.op"() {l = #layout.linear<(lane = [[0, 1]]) -> (dim0 = 3, dim1 = 2)>} : () -> ()
// CHECK: error: expected the size of dim0 to be a power of two, got 3

// -----

"test.op"() {l = #layout.linear<(lane = [[0, 2]]) -> (dim0 = 2, dim1 = 2)>} : () -> ()
// CHECK: error: expected the bases of lane to be below 2 in dim1, got 2

// -----

"test.op"() {l = #layout.linear<(lane = [[1]]) -> (dim0 = 2, dim1 = 2)>} : () -> ()
// CHECK: error: expected a basis of lane to have 2 coordinates, got (1,)

// -----

"test.op"() {l = #layout.linear<(lane = [], lane = []) -> (dim0 = 1)>} : () -> ()
// CHECK: :45: error: expected lane once, got it twice

// -----

"test.op"() {l = #layout.strided<(lane = [0 : [1, 0]]) -> (row = 4, col = 3)>} : () -> ()
// CHECK: error: expected digits of lane to have a size of at least 1 and 2 strides of at least 0, got 0, (1, 0)

// -----

"test.op"() {l = #layout.strided} : () -> ()
// CHECK: :33: error: {{.*}}'<'
