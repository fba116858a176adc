// RUN: coopc-opt %s -p resolve-matrix-wi-slice,vectorize-subgroup{subgroup-size=16},check-dominance | filecheck %s

// The example of the document: tokens stay scalar, elements are the whole row slice.
// CHECK-LABEL: func.func @f(
// CHECK-SAME:  simt.subgroup_size = 1 : i32
// CHECK:       %id = row_slice.id %mat[%index] : !coopmatrix.matrix<12x12xi32, none>
// CHECK-NEXT:  %elem = row_slice.extract_element %id : vector<16xi32>
// CHECK-NEXT:  %c42 = arith.constant 42 : i32
// CHECK-NEXT:  %0 = arith.constant dense<42> : vector<16xi32>
// CHECK-NEXT:  %val = arith.muli %elem, %0 : vector<16xi32>
// CHECK-NEXT:  %id_1 = row_slice.id %mat[%index] : !coopmatrix.matrix<12x12xi32, none>
// CHECK-NEXT:  row_slice.insert_element %val, %id_1 : vector<16xi32>
// CHECK-NEXT:  %update = row_slice.insert_to_matrix %id_1 : !coopmatrix.matrix<12x12xi32, none>
// CHECK-NEXT:  %n = row_slice.length !coopmatrix.matrix<12x12xi32, none> lanes 16 : index
func.func @f(%index: index) attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %mat = "test.op"() : () -> !coopmatrix.matrix<12x12xi32, none>
  %elem = coopmatrix.extract %mat[%index] : !coopmatrix.matrix<12x12xi32, none>
  %c42 = arith.constant 42 : i32
  %val = arith.muli %elem, %c42 : i32
  %update = coopmatrix.insert %val, %mat[%index] : !coopmatrix.matrix<12x12xi32, none>
  %n = coopmatrix.length !coopmatrix.matrix<12x12xi32, none> : index
  "test.op"(%update, %n) : (!coopmatrix.matrix<12x12xi32, none>, index) -> ()
  func.return
}

// An insertion that some lanes do is one under a mask.
// CHECK-LABEL: func.func @mask(
// CHECK:       %c = arith.cmpi
// CHECK:       vector.reduction <or>, %c : vector<16xi1> into i1
// CHECK-NEXT:  scf.if
// CHECK:       row_slice.insert_element %{{[0-9]+}}, %id mask %c : vector<16xi1> : vector<16xi32>
func.func @mask(%index: index, %v: i32) attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %mat = "test.op"() : () -> !coopmatrix.matrix<12x12xi32, none>
  %lane = simt.lane_id : index
  %c = arith.cmpi ult, %lane, %index : index
  %r = scf.if %c -> (!coopmatrix.matrix<12x12xi32, none>) {
    %update = coopmatrix.insert %v, %mat[%index] : !coopmatrix.matrix<12x12xi32, none>
    scf.yield %update : !coopmatrix.matrix<12x12xi32, none>
  } else {
    scf.yield %mat : !coopmatrix.matrix<12x12xi32, none>
  }
  "test.op"(%r) : (!coopmatrix.matrix<12x12xi32, none>) -> ()
  func.return
}
