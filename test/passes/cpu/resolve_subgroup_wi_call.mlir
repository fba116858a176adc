// RUN: coopc-opt %s -p resolve-matrix-wi-slice,vectorize-subgroup,resolve-subgroup-wi-call{subgroup-size=16},check-dominance | filecheck %s

// The example of the document: row slices at the right offset, and 144 / 16 of them.
// CHECK-LABEL: func.func @f(
// CHECK:       %c16 = arith.constant 16 : index
// CHECK-NEXT:  %offset = arith.muli %index, %c16 : index
// CHECK-NEXT:  %elem = coopmatrix.extract_row_slice %mat[%offset] : !coopmatrix.matrix<12x12xi32, none> -> vector<16xi32>
// CHECK:       %val = arith.muli %elem
// CHECK:       %offset_1 = arith.muli %index, %c16_1 : index
// CHECK-NEXT:  %update = coopmatrix.insert_row_slice %val, %mat[%offset_1] : vector<16xi32>, !coopmatrix.matrix<12x12xi32, none>
// CHECK-NEXT:  %n = arith.constant 9 : index
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
