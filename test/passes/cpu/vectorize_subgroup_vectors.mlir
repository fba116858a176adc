// RUN: coopc-opt %s -p vectorize-subgroup{subgroup-size=4},check-dominance | filecheck %s

// A vector that each lane holds is split; each component is a vector of all lanes.

// CHECK-LABEL: func.func @components(
// CHECK-SAME:  %x: memref<?xf32>, %y: memref<?xf32>, %n: index
// CHECK-NOT:   vector<2xf32>
// CHECK:       %a_p0 = vector.insert {{.*}} into vector<4xf32>
// CHECK:       %a_p1 = vector.insert {{.*}} into vector<4xf32>
// CHECK:       %b_p0 = arith.mulf %a_p0, %a_p0 : vector<4xf32>
// CHECK:       %b_p1 = arith.mulf %a_p1, %a_p1 : vector<4xf32>
// CHECK:       %s_p0, %s_p1 = scf.for %k = %c0 to %n step %c1 iter_args(%t_p0 = %b_p0, %t_p1 = %b_p1) -> (vector<4xf32>, vector<4xf32>) {
// CHECK-NEXT:    %u_p0 = arith.addf %t_p0, %b_p1 : vector<4xf32>
// CHECK-NEXT:    %u_p1 = arith.addf %t_p1, %b_p0 : vector<4xf32>
// CHECK-NEXT:    scf.yield %u_p0, %u_p1 : vector<4xf32>, vector<4xf32>
// CHECK:       %sum = arith.addf %s_p0, %s_p1 : vector<4xf32>
// CHECK:       vector.store %sum, %y[%{{.*}}] : memref<?xf32>, vector<4xf32>
func.func @components(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) attributes {simt.kernel, simt.work_group_size = array<i32: 4, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %i = simt.local_id x : index
  %at = arith.muli %i, %c2 : index
  %a = vector.load %x[%at] : memref<?xf32>, vector<2xf32>
  %b = arith.mulf %a, %a : vector<2xf32>
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%t = %b) -> (vector<2xf32>) {
    %turned = vector.shuffle %b, %b [1, 0] : vector<2xf32>, vector<2xf32>
    %u = arith.addf %t, %turned : vector<2xf32>
    scf.yield %u : vector<2xf32>
  }
  %sum = vector.reduction <add>, %s : vector<2xf32> into f32
  memref.store %sum, %y[%i] : memref<?xf32>
  func.return
}
