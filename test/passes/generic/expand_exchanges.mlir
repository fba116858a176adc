// RUN: coopc-opt %s -p expand-exchanges | filecheck %s

// A change of layout becomes what coopc-layout --compare prints.

// Half of what a lane has stays: it swaps neighbours by bit 3 of its number, reads the
// other half of lane xor 8 as two words of two, and swaps again.
// CHECK-LABEL: func.func @two_in_a_word
// CHECK: [[BIT:%.+]] = arith.andi %{{.+}}, %{{.+}} : i32
// CHECK: [[ODD:%.+]] = arith.cmpi ne, [[BIT]],
// CHECK: [[A:%.+]] = vector.shuffle %v, %v [1, 0, 3, 2, 5, 4, 7, 6]
// CHECK-NEXT: [[B:%.+]] = arith.select [[ODD]], [[A]], %v
// CHECK-NEXT: [[C:%.+]] = vector.shuffle [[B]], [[B]] [1, 3, 5, 7]
// CHECK-NEXT: [[D:%.+]] = vector.bitcast [[C]] : vector<4xf16> to vector<2xi32>
// CHECK: [[E:%.+]] = simt.shuffle xor [[D]], %c8 : vector<2xi32>
// CHECK-NEXT: [[F:%.+]] = vector.bitcast [[E]] : vector<2xi32> to vector<4xf16>
// CHECK-NOT: simt.shuffle
// CHECK: arith.select [[ODD]]
func.func @two_in_a_word(%v: vector<8xf16>) -> vector<8xf16> {
  %0 = simt.exchange %v from #layout.coopmatrix<8x16, lanes = 16> to #layout.coopmatrix<8x16, lanes = 16, channels = 2> : vector<8xf16> -> vector<8xf16>
  func.return %0 : vector<8xf16>
}

// Registers in another order, over vectors of other lengths: no lane reads another.
// CHECK-LABEL: func.func @other_order
// CHECK-NEXT: %0 = vector.shuffle %v, %v [0, 2, 1, 3] : vector<4xi8>, vector<4xi8>
// CHECK-NEXT: func.return %0
func.func @other_order(%v: vector<4xi8>) -> vector<4xi8> {
  %0 = simt.exchange %v from #layout.coopmatrix<32x2, lanes = 16, k1 = 2> to #layout.coopmatrix<32x2, lanes = 16> : vector<4xi8> -> vector<4xi8>
  func.return %0 : vector<4xi8>
}

// A subgroup takes its part of what all subgroups have, by its number.
// CHECK-LABEL: func.func @by_subgroup
// CHECK: simt.subgroup_id
// CHECK: arith.select
// CHECK-NOT: simt.shuffle
func.func @by_subgroup(%v: vector<2xf32>) -> vector<1xf32> {
  %0 = simt.exchange %v from #layout.linear<(register = [[2]], lane = [[1]], warp = [[0]]) -> (x = 4)> to #layout.linear<(register = [], lane = [[1]], warp = [[2]]) -> (x = 4)> : vector<2xf32> -> vector<1xf32>
  func.return %0 : vector<1xf32>
}

// The lane that is read is the own number with its bits in another order.
// CHECK-LABEL: func.func @other_lanes
// CHECK: [[LOW:%.+]] = arith.andi %{{.+}}, %{{.+}} : i32
// CHECK: [[UP:%.+]] = arith.shli [[LOW]], %{{.+}} : i32
// CHECK: [[DOWN:%.+]] = arith.shrui %{{.+}}, %{{.+}} : i32
// CHECK: [[FROM:%.+]] = arith.xori [[UP]], [[DOWN]] : i32
// CHECK: [[LANE:%.+]] = arith.index_cast [[FROM]] : i32 to index
// CHECK: simt.shuffle idx %v, [[LANE]] : vector<1xf64>
func.func @other_lanes(%v: vector<1xf64>) -> vector<1xf64> {
  %0 = simt.exchange %v from #layout.linear<(register = [], lane = [[1, 0], [2, 0], [0, 1], [0, 2]]) -> (x = 4, y = 4)> to #layout.linear<(register = [], lane = [[0, 1], [0, 2], [1, 0], [2, 0]]) -> (x = 4, y = 4)> : vector<1xf64> -> vector<1xf64>
  func.return %0 : vector<1xf64>
}

// Seven columns over four lanes are no exclusive or: lanes are looked up in constants.
// CHECK-LABEL: func.func @no_power_of_two
// CHECK: arith.shrui
// CHECK: simt.shuffle
func.func @no_power_of_two(%v: vector<4xf32>) -> vector<4xf32> {
  %0 = simt.exchange %v from #layout.row_slice<2x7, lanes = 4> to #layout.coopmatrix<2x7, lanes = 4> : vector<4xf32> -> vector<4xf32>
  func.return %0 : vector<4xf32>
}
