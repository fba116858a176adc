// RUN: coopc-opt %s -p stage-row-slices,normalize | filecheck %s

// Row slices go through memory; a work-group of one work-item is its subgroup.

// CHECK-LABEL: func.func @slices(%m: memref<3x4xf64>) attributes {simt.kernel, simt.subgroup_size = 1 : i32, simt.work_group_size = array<i32: 1>} {
// CHECK:         %x = coopmatrix.load %m{{.*}} -> !coopmatrix.matrix<3x4xf64, acc>
// CHECK-NEXT:    coopmatrix.store %x, %scratch
// CHECK-NEXT:    memref.reinterpret_cast %scratch
// CHECK:         scf.for
// CHECK:           vector.maskedload {{.*}} : memref<12xf64>, vector<8xi1>, vector<8xf64>
// CHECK:           vector.maskedstore
// CHECK:         }
// CHECK-NEXT:    coopmatrix.load %scratch
func.func @slices(%m: memref<3x4xf64>) attributes {simt.kernel, simt.subgroup_size = 1 : i32, simt.work_group_size = array<i32: 1>, coopmatrix.distribution = #layout.row_slice} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %x = coopmatrix.load %m[%c0, %c0] row_major : memref<3x4xf64> -> !coopmatrix.matrix<3x4xf64, acc, scope = workgroup>
  %r = scf.for %k = %c0 to %c12 step %c8 iter_args(%t = %x) -> (!coopmatrix.matrix<3x4xf64, acc, scope = workgroup>) {
    %s = coopmatrix.extract_row_slice %t[%k] : !coopmatrix.matrix<3x4xf64, acc, scope = workgroup> -> vector<8xf64>
    %d = arith.addf %s, %s : vector<8xf64>
    %u = coopmatrix.insert_row_slice %d, %t[%k] : vector<8xf64>, !coopmatrix.matrix<3x4xf64, acc, scope = workgroup>
    scf.yield %u : !coopmatrix.matrix<3x4xf64, acc, scope = workgroup>
  }
  coopmatrix.store %r, %m[%c0, %c0] row_major : !coopmatrix.matrix<3x4xf64, acc, scope = workgroup>, memref<3x4xf64>
  func.return
}
