// RUN: %roundtrip

// Row slices of each lane, and of all lanes at once.

// CHECK-LABEL: func.func @scalar(
func.func @scalar(%m: !coopmatrix.matrix<12x12xi32, none>, %i: index, %v: i32, %c: i1) {
  // CHECK:      %0 = row_slice.length !coopmatrix.matrix<12x12xi32, none> : index
  %0 = row_slice.length !coopmatrix.matrix<12x12xi32, none> : index
  // CHECK-NEXT: %1 = row_slice.id %m[%i] {note} : !coopmatrix.matrix<12x12xi32, none>
  %1 = row_slice.id %m[%i] {note} : !coopmatrix.matrix<12x12xi32, none>
  // CHECK-NEXT: %2 = row_slice.extract_element %1 : i32
  %2 = row_slice.extract_element %1 : i32
  // CHECK-NEXT: row_slice.insert_element %v, %1 : i32
  row_slice.insert_element %v, %1 : i32
  // CHECK-NEXT: row_slice.insert_element %v, %1 mask %c : i1 {note} : i32
  row_slice.insert_element %v, %1 mask %c : i1 {note} : i32
  // CHECK-NEXT: %3 = row_slice.insert_to_matrix %1 : !coopmatrix.matrix<12x12xi32, none>
  %3 = row_slice.insert_to_matrix %1 : !coopmatrix.matrix<12x12xi32, none>
  func.return
}

// CHECK-LABEL: func.func @widened(
func.func @widened(%t: !row_slice.token, %v: vector<16xi32>, %c: vector<16xi1>) {
  // CHECK:      %0 = row_slice.length !coopmatrix.matrix<12x12xi32, none> lanes 16 : index
  %0 = row_slice.length !coopmatrix.matrix<12x12xi32, none> lanes 16 : index
  // CHECK-NEXT: %1 = row_slice.extract_element %t : vector<16xi32>
  %1 = row_slice.extract_element %t : vector<16xi32>
  // CHECK-NEXT: row_slice.insert_element %v, %t : vector<16xi32>
  row_slice.insert_element %v, %t : vector<16xi32>
  // CHECK-NEXT: row_slice.insert_element %v, %t mask %c : vector<16xi1> : vector<16xi32>
  row_slice.insert_element %v, %t mask %c : vector<16xi1> : vector<16xi32>
  func.return
}
