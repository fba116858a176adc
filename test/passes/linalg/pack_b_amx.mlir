// RUN: coopc-opt %s -p pack-b-amx | filecheck %s

// B is packed once for all work-groups, by a stage of its own.

// CHECK: builtin.module attributes {cpu.kernels = {loop = {
// CHECK-SAME: stages = [{name = "loop.pack", groups = affine_map<(d0, d1, d2) -> ((d0 ceildiv 4))>}, {name = "loop"}],
// CHECK-SAME: scratch = [{bytes = affine_map<(d0, d1, d2) -> ((d0 ceildiv 4), d1, 4)>, sizes = affine_map<(d0, d1, d2) -> ((d0 ceildiv 4), (d1 * 4))>}]}}}

// Four rows by turns, zeros beyond the last.
// CHECK-LABEL: func.func @loop.pack(%arg0: memref<?x?xi8>, %arg1: memref<16x16xi32>, %arg2: index, %packed: memref<?x?xi8>)
// CHECK:         %channel = simt.workgroup_id x : index
// CHECK:         scf.for %col = %c0 to %cols step %c1 {
// CHECK-COUNT-4:   memref.store {{.*}}, %packed[%channel, {{.*}}]

// CHECK-LABEL: func.func @loop(%b: memref<?x?xi8>, %c: memref<16x16xi32>, %n: index, %b_packed: memref<?x?xi8>)
// CHECK-SAME:  simt.grid = affine_map<(d0, d1, d2, d3, d4) -> (1)>
// CHECK:         scf.for %k = %c0 to %n step %c64 {
// CHECK:           %channel = arith.divui %k, {{.*}} : index
// CHECK:           %place = arith.muli %c0, {{.*}} : index
// What was said of the alignment of B is not so of what is packed.
// CHECK:           coopmatrix.load %b_packed[%channel, %place] packed : memref<?x?xi8> -> !coopmatrix.matrix<64x16xi8, b>
func.func @loop(%b: memref<?x?xi8>, %c: memref<16x16xi32>, %n: index) attributes {simt.kernel, simt.grid = affine_map<(d0, d1, d2) -> (1)>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  scf.for %k = %c0 to %n step %c64 {
    %x = coopmatrix.load %b[%k, %c0] row_major alignment = 16 : memref<?x?xi8> -> !coopmatrix.matrix<64x16xi8, b>

  }
  func.return
}

// Left: a first row in the midst of a channel, a B that is written, edges, blocks.
// CHECK-LABEL: func.func @midst(
// CHECK:         coopmatrix.load %b[%i, %i] row_major
func.func @midst(%b: memref<?x?xi8>, %i: index) attributes {simt.kernel} {
  %x = coopmatrix.load %b[%i, %i] row_major : memref<?x?xi8> -> !coopmatrix.matrix<64x16xi8, b>
  func.return
}
// CHECK-LABEL: func.func @written(
// CHECK:         coopmatrix.load %b[%c0, %i] row_major
func.func @written(%b: memref<?x?xf16>, %i: index) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %x = coopmatrix.load %b[%c0, %i] row_major : memref<?x?xf16> -> !coopmatrix.matrix<32x16xf16, b>
  coopmatrix.store %x, %b[%i, %i] row_major : !coopmatrix.matrix<32x16xf16, b>, memref<?x?xf16>
  func.return
}
// CHECK-LABEL: func.func @edges(
// CHECK:         coopmatrix.load %b[%c0, %i] row_major checked(rows)
func.func @edges(%b: memref<?x?xf16>, %i: index) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %x = coopmatrix.load %b[%c0, %i] row_major checked(rows) : memref<?x?xf16> -> !coopmatrix.matrix<32x16xf16, b>
  func.return
}
// CHECK-LABEL: func.func @blocks(
// CHECK:         coopmatrix.load %b[%c0, %c0] row_blocked
func.func @blocks(%b: memref<?x64xi8>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %x = coopmatrix.load %b[%c0, %c0] row_blocked : memref<?x64xi8> -> !coopmatrix.matrix<4x16xi8, b>
  func.return
}
