// RUN: coopc-opt %s --split-input-file --verify-diagnostics -p resolve-subgroup-wi-call{subgroup-size=16} | filecheck %s

// CHECK: row_slice.length: expected an operation on all lanes, as vectorize-subgroup makes it
func.func @length() {
  %n = row_slice.length !coopmatrix.matrix<12x12xi32, none> : index
  func.return
}

// -----

// CHECK: row_slice.extract_element: expected vectors of 16 lanes, got 8
func.func @lanes(%mat: !coopmatrix.matrix<12x12xi32, none>, %index: index) {
  %id = row_slice.id %mat[%index] : !coopmatrix.matrix<12x12xi32, none>
  %v = row_slice.extract_element %id : vector<8xi32>
  func.return
}

// -----

// CHECK: row_slice.extract_element: expected a token of row_slice.id, got one that comes from elsewhere
func.func @token(%id: !row_slice.token) {
  %v = row_slice.extract_element %id : vector<16xi32>
  func.return
}

// -----

// CHECK: row_slice.id: expected a token to be used in the block that it is made in
func.func @block(%mat: !coopmatrix.matrix<12x12xi32, none>, %index: index, %c: i1) {
  %id = row_slice.id %mat[%index] : !coopmatrix.matrix<12x12xi32, none>
  scf.if %c {
    %v = row_slice.extract_element %id : vector<16xi32>
  }
  func.return
}
