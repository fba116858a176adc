// RUN: %roundtrip

// Every layout is an attribute.  What is longer than 30 characters is printed once, as
// an alias above the module.

// CHECK:      #dpas = #layout.dpas<repeat_count = 8, execution_size = 8>
// CHECK-NEXT: #coopmatrix = #layout.coopmatrix<4x15, lanes = 16>
// CHECK-NEXT: #coopmatrix1 = #layout.coopmatrix<32x2, lanes = 16, k1 = 2>
// CHECK-NEXT: #coopmatrix2 = #layout.coopmatrix<8x16, lanes = 8, channels = 2>
// CHECK-NEXT: #row_slice = #layout.row_slice<7x9, lanes = 16>
// CHECK-NEXT: #linear = #layout.linear<(register = [[1, 1]], lane = [[0, 1], [0, 2]], warp = []) -> (dim0 = 2, dim1 = 4)>
// CHECK-NEXT: #strided = #layout.strided<(lane = [4 : [1, 0], 4 : [0, 1]], component = [4 : [0, 4]]) -> (row = 4, col = 15)>
// CHECK-NEXT: builtin.module {

// CHECK-LABEL: func.func @families(
// Rules for matrices of every type: what a kernel names.
func.func @families() attributes {coopmatrix.distribution = #layout.coopmatrix} {
  // CHECK-SAME: attributes {coopmatrix.distribution = #layout.coopmatrix}
  // CHECK:      "test.op"() {a = #layout.row_slice, b = #layout.dpas, c = #layout.dpas<repeat_count = 4>} : () -> ()
  "test.op"() {a = #layout.row_slice, b = #layout.dpas, c = #layout.dpas<repeat_count = 4>} : () -> ()
  // 8 is the default, and is printed only where something follows.
  // CHECK-NEXT: "test.op"() {a = #layout.dpas, b = #dpas} : () -> ()
  "test.op"() {a = #layout.dpas<repeat_count = 8>, b = #layout.dpas<execution_size = 8>} : () -> ()
  func.return
}

// CHECK-LABEL: func.func @of_one_matrix(
func.func @of_one_matrix() {
  // CHECK:      "test.op"() {a = #coopmatrix, b = #coopmatrix1, c = #coopmatrix2} : () -> ()
  "test.op"() {a = #layout.coopmatrix<4x15, lanes = 16, k1 = 1>, b = #layout.coopmatrix<32x2, k1 = 2, lanes = 16>, c = #layout.coopmatrix<8x16, lanes = 8, channels = 2>} : () -> ()
  // CHECK-NEXT: "test.op"() {a = #row_slice} : () -> ()
  "test.op"() {a = #layout.row_slice<7x9, lanes = 16>} : () -> ()
  func.return
}

// CHECK-LABEL: func.func @by_numbers(
func.func @by_numbers() {
  // CHECK:      "test.op"() {a = #linear, b = #strided} : () -> ()
  "test.op"() {a = #layout.linear<(register = [[1, 1]], lane = [[0, 1], [0, 2]], warp = []) -> (dim0 = 2, dim1 = 4)>, b = #layout.strided<(lane = [4 : [1, 0], 4 : [0, 1]], component = [4 : [0, 4]]) -> (row = 4, col = 15)>} : () -> ()
  // The same attribute is the same alias.
  // CHECK-NEXT: "test.op"() {a = #row_slice, t = tensor<2x4xf16, #linear>} : () -> ()
  "test.op"() {a = #layout.row_slice<7x9, lanes = 16>, t = tensor<2x4xf16, #layout.linear<(register = [[1, 1]], lane = [[0, 1], [0, 2]], warp = []) -> (dim0 = 2, dim1 = 4)>>} : () -> ()
  func.return
}
