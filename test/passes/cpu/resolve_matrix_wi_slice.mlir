// RUN: coopc-opt %s -p resolve-matrix-wi-slice,check-dominance | filecheck %s

// The examples of the document.
// CHECK-LABEL: func.func @f(
// CHECK-NEXT:  %id = row_slice.id %mat[%index] : !coopmatrix.matrix<12x12xi32, none>
// CHECK-NEXT:  %elem = row_slice.extract_element %id : i32
// CHECK-NEXT:  %c42 = arith.constant 42 : i32
// CHECK-NEXT:  %val = arith.muli %elem, %c42 : i32
// CHECK-NEXT:  %id_1 = row_slice.id %mat[%index] : !coopmatrix.matrix<12x12xi32, none>
// CHECK-NEXT:  row_slice.insert_element %val, %id_1 : i32
// CHECK-NEXT:  %update = row_slice.insert_to_matrix %id_1 : !coopmatrix.matrix<12x12xi32, none>
// CHECK-NEXT:  func.return
func.func @f(%mat: !coopmatrix.matrix<12x12xi32, none>, %index: index) {
  %elem = coopmatrix.extract %mat[%index] : !coopmatrix.matrix<12x12xi32, none>
  %c42 = arith.constant 42 : i32
  %val = arith.muli %elem, %c42 : i32
  %update = coopmatrix.insert %val, %mat[%index] : !coopmatrix.matrix<12x12xi32, none>
  func.return
}

// A kernel says whose element is whose.
// CHECK-LABEL: func.func @length(
// CHECK-SAME:  coopmatrix.distribution = #layout.row_slice
// CHECK:       row_slice.length !coopmatrix.matrix<12x12xi32, none> : index
func.func @length() attributes {simt.kernel} {
  %n = coopmatrix.length !coopmatrix.matrix<12x12xi32, none> : index
  func.return
}

// Element e = index * S + lane is in row e / 12 and column e % 12.
// CHECK-LABEL: func.func @coord(
// CHECK:       simt.subgroup_size : index
// CHECK:       simt.lane_id : index
// CHECK:       arith.muli %index
// CHECK:       arith.addi
// CHECK:       arith.divui
// CHECK:       arith.remui
// CHECK:       arith.cmpi ult
// CHECK:       arith.select
// CHECK:       arith.select
func.func @coord(%mat: !coopmatrix.matrix<12x12xi32, none>, %index: index) {
  %row, %col = coopmatrix.coord %mat[%index] : !coopmatrix.matrix<12x12xi32, none>
  func.return
}
