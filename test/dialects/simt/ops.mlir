// RUN: %roundtrip

// Where a work-item is, barriers, and what lanes do together.

// CHECK-LABEL: func.func @ids(
func.func @ids() {
  // CHECK:      %0 = simt.workgroup_id x : index
  %0 = simt.workgroup_id x : index
  // CHECK-NEXT: %1 = simt.workgroup_id y : index
  %1 = simt.workgroup_id y : index
  // CHECK-NEXT: %2 = simt.workgroup_id z {note} : index
  %2 = simt.workgroup_id z {note} : index
  // CHECK-NEXT: %3 = simt.num_workgroups x : index
  %3 = simt.num_workgroups x : index
  // CHECK-NEXT: %4 = simt.local_id y : index
  %4 = simt.local_id y : index
  // CHECK-NEXT: %5 = simt.workgroup_size z : index
  %5 = simt.workgroup_size z : index
  // CHECK-NEXT: %6 = simt.subgroup_id : index
  %6 = simt.subgroup_id : index
  // CHECK-NEXT: %7 = simt.num_subgroups : index
  %7 = simt.num_subgroups : index
  // CHECK-NEXT: %8 = simt.lane_id : index
  %8 = simt.lane_id : index
  // CHECK-NEXT: %9 = simt.subgroup_size {note} : index
  %9 = simt.subgroup_size {note} : index
  func.return
}

// CHECK-LABEL: func.func @barriers(
func.func @barriers() {
  // CHECK:      simt.barrier workgroup
  simt.barrier workgroup
  // CHECK-NEXT: simt.barrier subgroup {note}
  simt.barrier subgroup {note}
  // CHECK-NEXT: simt.barrier workgroup memory = <workgroup>
  simt.barrier workgroup memory = <workgroup>
  // CHECK-NEXT: simt.barrier subgroup memory = <global> {note}
  simt.barrier subgroup memory = <global> {note}
  // CHECK-NEXT: simt.barrier_arrive workgroup
  simt.barrier_arrive workgroup
  // CHECK-NEXT: simt.barrier_wait workgroup {note}
  simt.barrier_wait workgroup {note}
  // CHECK-NEXT: simt.barrier_arrive subgroup {note}
  simt.barrier_arrive subgroup {note}
  // CHECK-NEXT: simt.barrier_wait subgroup
  simt.barrier_wait subgroup
  func.return
}

// CHECK-LABEL: func.func @lanes(
func.func @lanes(%f: f32, %v: vector<4xf16>, %n: i32, %b: i1, %i: index) {
  // CHECK:      %0 = simt.broadcast %f, %i : f32
  %0 = simt.broadcast %f, %i : f32
  // CHECK-NEXT: %1 = simt.broadcast %v, %i {note} : vector<4xf16>
  %1 = simt.broadcast %v, %i {note} : vector<4xf16>
  // CHECK-NEXT: %2 = simt.shuffle idx %n, %i : i32
  %2 = simt.shuffle idx %n, %i : i32
  // CHECK-NEXT: %3 = simt.shuffle xor %i, %i : index
  %3 = simt.shuffle xor %i, %i : index
  // CHECK-NEXT: %4 = simt.shuffle up %b, %i : i1
  %4 = simt.shuffle up %b, %i : i1
  // CHECK-NEXT: %5 = simt.shuffle down %v, %i {note} : vector<4xf16>
  %5 = simt.shuffle down %v, %i {note} : vector<4xf16>
  func.return
}

// CHECK-LABEL: func.func @reductions(
func.func @reductions(%f: f32, %v: vector<4xi8>, %n: i32) {
  // CHECK:      %0 = simt.reduce add %f : f32
  %0 = simt.reduce add %f : f32
  // CHECK-NEXT: %1 = simt.reduce mul %v : vector<4xi8>
  %1 = simt.reduce mul %v : vector<4xi8>
  // CHECK-NEXT: %2 = simt.reduce max %f : f32
  %2 = simt.reduce max %f : f32
  // CHECK-NEXT: %3 = simt.reduce min %n : i32
  %3 = simt.reduce min %n : i32
  // CHECK-NEXT: %4 = simt.reduce max signed %n : i32
  %4 = simt.reduce max signed %n : i32
  // CHECK-NEXT: %5 = simt.reduce min signed %v : vector<4xi8>
  %5 = simt.reduce min signed %v : vector<4xi8>
  // CHECK-NEXT: %6 = simt.reduce and %n : i32
  %6 = simt.reduce and %n : i32
  // CHECK-NEXT: %7 = simt.reduce or %n : i32
  %7 = simt.reduce or %n : i32
  // CHECK-NEXT: %8 = simt.reduce xor %v {note} : vector<4xi8>
  %8 = simt.reduce xor %v {note} : vector<4xi8>
  func.return
}

// CHECK-LABEL: func.func @compare_exchange(
func.func @compare_exchange(%m: memref<?xi32>, %n: memref<f16>, %i: index, %x: i32, %y: f16) {
  // CHECK: %{{.+}} = simt.compare_exchange %x, %x, %m[%i] {simt.ordering = "acquire"} : i32, memref<?xi32>
  %0 = simt.compare_exchange %x, %x, %m[%i] {simt.ordering = "acquire"} : i32, memref<?xi32>
  // CHECK-NEXT: %{{.+}} = simt.compare_exchange %y, %y, %n[] : f16, memref<f16>
  %1 = simt.compare_exchange %y, %y, %n[] : f16, memref<f16>
  func.return
}

// CHECK-LABEL: func.func @blocks(
func.func @blocks(%m: memref<?xi32, strided<[1]>>, %n: memref<?x64xf16>, %slm: memref<64xi8, #simt.memory<workgroup>>, %i: index) {
  // CHECK:      %0 = simt.block_read %m[%i] : memref<?xi32, strided<[1]>> -> vector<16xi32>
  %0 = simt.block_read %m[%i] : memref<?xi32, strided<[1]>> -> vector<16xi32>
  // CHECK-NEXT: %1 = simt.block_read %n[%i, %i] {note} : memref<?x64xf16> -> f16
  %1 = simt.block_read %n[%i, %i] {note} : memref<?x64xf16> -> f16
  // CHECK-NEXT: %2 = simt.block_read %slm[%i] : memref<64xi8, #simt.memory<workgroup>> -> vector<1xi8>
  %2 = simt.block_read %slm[%i] : memref<64xi8, #simt.memory<workgroup>> -> vector<1xi8>
  // CHECK-NEXT: simt.block_write %0, %m[%i] : vector<16xi32>, memref<?xi32, strided<[1]>>
  simt.block_write %0, %m[%i] : vector<16xi32>, memref<?xi32, strided<[1]>>
  // CHECK-NEXT: simt.block_write %1, %n[%i, %i] {note} : f16, memref<?x64xf16>
  simt.block_write %1, %n[%i, %i] {note} : f16, memref<?x64xf16>
  func.return
}

// CHECK-LABEL: func.func @views(
func.func @views(%m: memref<8x2xvector<4xf32>>, %n: memref<?x?x?xi32>, %p: memref<?xi32>, %i: index) {
  // CHECK:      %0 = simt.view_elements %m[%i, %i] : memref<8x2xvector<4xf32>> -> memref<4x8xf32, strided<[8, 1], offset: ?>>
  %0 = simt.view_elements %m[%i, %i] : memref<8x2xvector<4xf32>> -> memref<4x8xf32, strided<[8, 1], offset: ?>>
  // CHECK-NEXT: %1 = simt.view_elements %n[%i, %i, %i] : memref<?x?x?xi32> -> memref<4x8xf16, strided<[?, 1], offset: ?>>
  %1 = simt.view_elements %n[%i, %i, %i] : memref<?x?x?xi32> -> memref<4x8xf16, strided<[?, 1], offset: ?>>
  // CHECK-NEXT: %2 = simt.view_elements %p[%i] : memref<?xi32> -> memref<8xf16, strided<[1], offset: ?>>
  %2 = simt.view_elements %p[%i] : memref<?xi32> -> memref<8xf16, strided<[1], offset: ?>>
  func.return
}

// CHECK-LABEL: func.func @addresses(
func.func @addresses(%m: memref<f16>) {
  // CHECK:      %0 = simt.address_of %m : memref<f16>
  %0 = simt.address_of %m : memref<f16>
  // CHECK-NEXT: %1 = simt.memory_at %0 : memref<f32>
  %1 = simt.memory_at %0 : memref<f32>
  func.return
}

// CHECK-LABEL: func.func @exchanges(
func.func @exchanges(%v: vector<2xf16>, %w: vector<4xi8>) {
  // CHECK:      %0 = simt.exchange %v from #coopmatrix to #row_slice : vector<2xf16> -> vector<2xf16>
  %0 = simt.exchange %v from #layout.coopmatrix<2x2, lanes = 2> to #layout.row_slice<2x2, lanes = 2> : vector<2xf16> -> vector<2xf16>
  // CHECK-NEXT: %1, %2 = simt.exchange %w, %w from #linear to #linear1 {note} : vector<4xi8>, vector<4xi8> -> vector<1xi8>, vector<1xi8>
  %1, %2 = simt.exchange %w, %w from #layout.linear<(register = [[4]], lane = [[1], [2]]) -> (x = 8)> to #layout.linear<(register = [[2]], lane = [[1], [4]]) -> (x = 8)> {note} : vector<4xi8>, vector<4xi8> -> vector<1xi8>, vector<1xi8>
  func.return
}
