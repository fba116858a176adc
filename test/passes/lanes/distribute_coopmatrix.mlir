// RUN: coopc-opt %s -p 'distribute-coopmatrix{subgroup-size=16}' | filecheck %s
// RUN: coopc-opt %s -p 'distribute-coopmatrix{subgroup-size=16 unroll=true}' | filecheck %s --check-prefix UNROLL

// Matrices become vectors of what a lane holds.

// A 4 x 15 matrix is held as 4 x 16: column 15 is padding, by the matrix's own size.
func.func @padding(%m: memref<8x32xf32>) attributes {simt.kernel} {
  %z = arith.constant 0 : index
  %x = coopmatrix.load %m[%z, %z] row_major : memref<8x32xf32> -> !coopmatrix.matrix<4x15xf32, acc>
  coopmatrix.store %x, %m[%z, %z] row_major : !coopmatrix.matrix<4x15xf32, acc>, memref<8x32xf32>
  func.return
}
// CHECK-LABEL: func.func @padding
// CHECK-SAME: coopmatrix.distribution = #layout.coopmatrix
// CHECK: %[[LANE:.*]] = simt.lane_id : index
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK: vector.insert {{.*}} into vector<4xf32>
// CHECK-NOT: coopmatrix.load

// Values that loops, branches and functions carry are vectors.
func.func @carried(%x: !coopmatrix.matrix<16x4xf32, acc>, %n: index, %p: i1) -> !coopmatrix.matrix<16x4xf32, acc> {
  %z = arith.constant 0 : index
  %o = arith.constant 1 : index
  %f = scf.for %i = %z to %n step %o iter_args(%m = %x) -> (!coopmatrix.matrix<16x4xf32, acc>) {
    %s = coopmatrix.add %m, %x : !coopmatrix.matrix<16x4xf32, acc>
    scf.yield %s : !coopmatrix.matrix<16x4xf32, acc>
  }
  %i = scf.if %p -> (!coopmatrix.matrix<16x4xf32, acc>) {
    %s = coopmatrix.neg %f : !coopmatrix.matrix<16x4xf32, acc>
    scf.yield %s : !coopmatrix.matrix<16x4xf32, acc>
  } else {
    scf.yield %x : !coopmatrix.matrix<16x4xf32, acc>
  }
  %w:2 = scf.while (%k = %z, %m = %i) : (index, !coopmatrix.matrix<16x4xf32, acc>) -> (index, !coopmatrix.matrix<16x4xf32, acc>) {
    %go = arith.cmpi ult, %k, %n : index
    scf.condition(%go) %k, %m : index, !coopmatrix.matrix<16x4xf32, acc>
  } do {
  ^bb0(%k: index, %m: !coopmatrix.matrix<16x4xf32, acc>):
    %next = arith.addi %k, %o : index
    %s = coopmatrix.abs %m : !coopmatrix.matrix<16x4xf32, acc>
    scf.yield %next, %s : index, !coopmatrix.matrix<16x4xf32, acc>
  }
  func.return %w#1 : !coopmatrix.matrix<16x4xf32, acc>
}
// CHECK-LABEL: func.func @carried
// CHECK-SAME: (%x: vector<4xf32>, %n: index, %p: i1) -> vector<4xf32>
// CHECK: scf.for {{.*}} -> (vector<4xf32>) {
// CHECK-NEXT: arith.addf {{.*}} : vector<4xf32>
// CHECK: scf.if %p -> (vector<4xf32>) {
// CHECK-NEXT: arith.negf {{.*}} : vector<4xf32>
// CHECK: scf.while {{.*}} : (index, vector<4xf32>) -> (index, vector<4xf32>)
// CHECK: math.absf {{.*}} : vector<4xf32>
// CHECK: func.return {{.*}} : vector<4xf32>

// Two blocks of rows of a column are one message, of which lanes have neighbours.
func.func @blocks(%m: memref<4x64xf32>, %o: memref<4x64xf32>) {
  %z = arith.constant 0 : index
  %x = coopmatrix.load %m[%z, %z] col_major : memref<4x64xf32> -> !coopmatrix.matrix<32x2xf32, acc>
  coopmatrix.store %x, %o[%z, %z] col_major alignment = 16 : !coopmatrix.matrix<32x2xf32, acc>, memref<4x64xf32>
  func.return
}
// CHECK-LABEL: func.func @blocks
// CHECK: simt.block_read %m[%{{.*}}, %{{.*}}] : memref<4x64xf32> -> vector<2xf32>
// CHECK: vector.shuffle {{.*}} [4, 1, 5, 3]
// CHECK: simt.block_read %m[%{{.*}}, %{{.*}}] : memref<4x64xf32> -> vector<2xf32>
// CHECK-NOT: simt.block_read
// CHECK: simt.block_write {{.*}} : vector<2xf32>, memref<4x64xf32>
// CHECK: simt.block_write {{.*}} : vector<2xf32>, memref<4x64xf32>
// CHECK-NOT: simt.block_write

// Vectors are multiplied and added up; each step needs a row of b from one lane.
func.func @product(%a: !coopmatrix.matrix<16x8xf32, a>, %b: !coopmatrix.matrix<8x4xf32, b>, %c: !coopmatrix.matrix<16x4xf32, acc>) -> !coopmatrix.matrix<16x4xf32, acc> {
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<16x8xf32, a>, !coopmatrix.matrix<8x4xf32, b>, !coopmatrix.matrix<16x4xf32, acc>
  func.return %d : !coopmatrix.matrix<16x4xf32, acc>
}
// CHECK-LABEL: func.func @product
// CHECK-SAME: vector<8xf32>
// CHECK: vector.shuffle %a, %a [0, 0, 0, 0] : vector<8xf32>, vector<8xf32>
// CHECK: simt.broadcast
// CHECK: arith.mulf {{.*}} fastmath<contract> : vector<4xf32>
// CHECK: arith.addf %c, {{.*}} fastmath<contract> : vector<4xf32>
// CHECK-NOT: scf.for
// CHECK-COUNT-7: arith.addf
// CHECK: func.return

// Of many products of one kind, the fifth and later ones call a function.
func.func @chain(%a: !coopmatrix.matrix<16x16xf32, a>, %b: !coopmatrix.matrix<16x16xf32, b>, %c: !coopmatrix.matrix<16x16xf32, acc>) -> !coopmatrix.matrix<16x16xf32, acc> {
  %0 = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<16x16xf32, a>, !coopmatrix.matrix<16x16xf32, b>, !coopmatrix.matrix<16x16xf32, acc>
  %1 = coopmatrix.mul_add %a, %b, %0 : !coopmatrix.matrix<16x16xf32, a>, !coopmatrix.matrix<16x16xf32, b>, !coopmatrix.matrix<16x16xf32, acc>
  %2 = coopmatrix.mul_add %a, %b, %1 : !coopmatrix.matrix<16x16xf32, a>, !coopmatrix.matrix<16x16xf32, b>, !coopmatrix.matrix<16x16xf32, acc>
  %3 = coopmatrix.mul_add %a, %b, %2 : !coopmatrix.matrix<16x16xf32, a>, !coopmatrix.matrix<16x16xf32, b>, !coopmatrix.matrix<16x16xf32, acc>
  %4 = coopmatrix.mul_add %a, %b, %3 : !coopmatrix.matrix<16x16xf32, a>, !coopmatrix.matrix<16x16xf32, b>, !coopmatrix.matrix<16x16xf32, acc>
  %5 = coopmatrix.mul_add %a, %b, %4 : !coopmatrix.matrix<16x16xf32, a>, !coopmatrix.matrix<16x16xf32, b>, !coopmatrix.matrix<16x16xf32, acc>
  func.return %5 : !coopmatrix.matrix<16x16xf32, acc>
}
// CHECK-LABEL: func.func @chain
// CHECK-COUNT-64: arith.addf
// CHECK: %[[FOUR:.*]] = func.call @[[NAME:mul_add_16x16x16_f32_f32_f32_f32]]
// CHECK: func.call @[[NAME]](%a, %b, %[[FOUR]])

// What is too large to be written out is a loop over some steps along K, of which the
// columns of a, and the blocks of b, move up.
func.func @large(%a: !coopmatrix.matrix<64x64xf32, a>, %b: !coopmatrix.matrix<64x64xf32, b>, %c: !coopmatrix.matrix<64x64xf32, acc>) -> !coopmatrix.matrix<64x64xf32, acc> {
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<64x64xf32, a>, !coopmatrix.matrix<64x64xf32, b>, !coopmatrix.matrix<64x64xf32, acc>
  func.return %d : !coopmatrix.matrix<64x64xf32, acc>
}
// CHECK-LABEL: func.func @large
// CHECK: scf.for
// CHECK: scf.for %[[K:.*]] =
// CHECK: simt.broadcast
// CHECK: vector.shuffle
// CHECK: scf.yield
// CHECK: scf.yield

// Many components are accessed in a loop, unless loops are to be unrolled.
func.func @many(%m: memref<32x32xf32>) {
  %z = arith.constant 0 : index
  %x = coopmatrix.load %m[%z, %z] col_major checked(rows, cols) : memref<32x32xf32> -> !coopmatrix.matrix<32x32xf32, acc>
  coopmatrix.store %x, %m[%z, %z] row_major checked(rows, cols) : !coopmatrix.matrix<32x32xf32, acc>, memref<32x32xf32>
  func.return
}
// CHECK-LABEL: func.func @many
// CHECK: scf.for
// UNROLL-LABEL: func.func @many
// UNROLL-NOT: scf.for
// UNROLL: func.return
