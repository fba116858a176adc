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

// Integers that count lanes, as wide as an index or extended by their sign: a vector,
// under the mask of the branch.  Without their sign they may wrap around to 0, which
// is an element; narrow ones do: each lane has its own place.

// CHECK-LABEL: func.func @counted(
// CHECK:       [[I:%.+]] = arith.extsi {{.*}} : vector<16xi32> to vector<16xi64>
// CHECK:       vector.maskedload %a
// CHECK:       vector.maskedstore %a
// CHECK:       [[AT:%.+]] = arith.index_cast %unsigned : vector<16xi64> to vector<16xindex>
// CHECK-NEXT:  [[P0:%.+]] = vector.extract [[AT]][0] : index from vector<16xindex>
// CHECK:       [[P15:%.+]] = vector.extract [[AT]][15] : index from vector<16xindex>
// CHECK:       memref.load %a[[[P0]]]
// CHECK:       memref.load %a[[[P15]]]
// CHECK:       arith.trunci {{.*}} : vector<16xi32> to vector<16xi8>
// CHECK-COUNT-16: memref.load %a
// CHECK:       func.return
func.func @counted(%a: memref<?xf32>, %from: i32, %n: i32) attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %lane = simt.lane_id : index
  %short = arith.index_cast %lane : index to i32
  %i = arith.subi %short, %from : i32
  %wide = arith.extsi %i : i32 to i64
  %at = arith.index_cast %wide : i64 to index
  %in = arith.cmpi ult, %i, %n : i32
  scf.if %in {
    %x = memref.load %a[%at] : memref<?xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %a[%at] : memref<?xf32>
  }
  %unsigned = arith.extui %i : i32 to i64
  %at2 = arith.index_cast %unsigned : i64 to index
  %x2 = memref.load %a[%at2] : memref<?xf32>
  %narrow = arith.trunci %short : i32 to i8
  %wider = arith.extsi %narrow : i8 to i64
  %at3 = arith.index_cast %wider : i64 to index
  %x3 = memref.load %a[%at3] : memref<?xf32>
  %sum = arith.addf %x2, %x3 : f32
  memref.store %sum, %a[%at] : memref<?xf32>
  func.return
}

// Lanes that are evenly apart, as in a column: places are sums with constants. Under a
// mask they are a loop over active lanes.

// CHECK-LABEL: func.func @apart(
// CHECK:       [[FIRST:%.+]] = arith.addi %c0, %i : index
// CHECK:       [[NEXT:%.+]] = arith.addi [[FIRST]], %c1{{.*}} : index
// CHECK:       [[X0:%.+]] = memref.load %a[[[FIRST]], %j] : memref<64x8xf32>
// CHECK-NEXT:  [[V0:%.+]] = vector.insert [[X0]], {{%.+}} [0] : f32 into vector<16xf32>
// CHECK-NEXT:  [[X1:%.+]] = memref.load %a[[[NEXT]], %j]
// CHECK-NEXT:  vector.insert [[X1]], [[V0]] [1]
// CHECK:       [[Y0:%.+]] = vector.extract [[Y:%.+]][0] : f32 from vector<16xf32>
// CHECK-NEXT:  memref.store [[Y0]], %a[[[FIRST]], %j]
// CHECK:       scf.if
// CHECK:       scf.for
// CHECK:       memref.store
func.func @apart(%a: memref<64x8xf32>, %i: index, %j: index) attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %lane = simt.lane_id : index
  %at = arith.addi %lane, %i : index
  %x = memref.load %a[%at, %j] : memref<64x8xf32>
  %y = arith.addf %x, %x : f32
  memref.store %y, %a[%at, %j] : memref<64x8xf32>
  %in = arith.cmpi ult, %lane, %i : index
  scf.if %in {
    memref.store %x, %a[%at, %j] : memref<64x8xf32>
  }
  func.return
}

// A masked load needs no branch around it, a masked store or a division keeps one.

// CHECK-LABEL: func.func @sides(
// CHECK-NOT:   scf.if
// CHECK:       [[X:%.+]] = vector.maskedload %a
// CHECK-NEXT:  vector.broadcast %other
// CHECK-NEXT:  arith.select {{%.+}}, [[X]],
// CHECK:       scf.if
// CHECK:         arith.divui %n, %m : i32
// CHECK:       scf.if
// CHECK:         vector.maskedstore %a
func.func @sides(%a: memref<64xf32>, %n: i32, %m: i32, %other: f32) attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %lane = simt.lane_id : index
  %i = arith.index_cast %lane : index to i32
  %in = arith.cmpi slt, %i, %n : i32
  %x = scf.if %in -> (f32) {
    %loaded = memref.load %a[%lane] : memref<64xf32>
    scf.yield %loaded : f32
  } else {
    scf.yield %other : f32
  }
  %y = scf.if %in -> (i32) {
    %quotient = arith.divui %n, %m : i32
    scf.yield %quotient : i32
  } else {
    scf.yield %n : i32
  }
  %z = arith.sitofp %y : i32 to f32
  %sum = arith.addf %x, %z : f32
  scf.if %in {
    memref.store %sum, %a[%lane] : memref<64xf32>
  }
  func.return
}
