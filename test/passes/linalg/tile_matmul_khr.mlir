// RUN: coopc-opt %s -p 'tile-matmul-khr{device=nvidia},canonicalize' | filecheck %s
// RUN: coopc-opt %s -p 'tile-matmul-khr{device=nvidia group=128,256 subgroup=64,64 step=32 stages=1},canonicalize' | filecheck %s --check-prefix STAGE
// RUN: coopc-opt %s -p 'tile-matmul-khr{device=lavapipe group=16,16 subgroup=8,8 step=16},canonicalize' | filecheck %s --check-prefix SMALL

// All tiles are inside of memory: 8 subgroups, each with 64 x 64 of C in 4 parts.  A has
// a step of 64, B comes in slices of 16, of which three are there: before the loop the
// tile of A (4 pieces a work-item) and two slices (2 pieces each).

// CHECK-LABEL: func.func @inside
// CHECK-SAME:  simt.grid = affine_map<() -> (16, 32)>
// CHECK-SAME:  simt.subgroup_size = 32 : i32, simt.work_group_size = array<i32: 256, 1, 1>
// CHECK:       %a_tiles = memref.alloca() : memref<128x9xvector<4xi32>, #simt.memory<workgroup>>
// CHECK:       %b_tiles = memref.alloca() : memref<16x97xvector<4xi32>, #simt.memory<workgroup>>
// CHECK-NOT:   scf.if
// CHECK-COUNT-8: memref.store {{.*}} : memref<{{128x9|16x97}}xvector<4xi32>, #simt.memory<workgroup>>
// CHECK-COUNT-8: vector.load {{.*}} {alignment = 16 : i64} : memref<{{.*}}xf16>, vector<8xf16>
// CHECK:       simt.barrier workgroup memory = <workgroup>
// CHECK-COUNT-5: coopmatrix.load
// CHECK:       scf.for

// The first three slices: a barrier at the end of each.
// CHECK:         coopmatrix.load {{.*}} row_major : memref<64x8xvector<4xi32>, strided<[9, 1], offset: ?>, #simt.memory<workgroup>> -> !coopmatrix.matrix<64x16xf16, a>
// CHECK-COUNT-4: coopmatrix.load {{.*}} row_major : memref<16x8xvector<4xi32>, strided<[97, 1], offset: ?>, #simt.memory<workgroup>> -> !coopmatrix.matrix<16x16xf16, b>
// CHECK-COUNT-2: memref.store {{.*}} : memref<16x97x
// CHECK-COUNT-2: vector.load
// CHECK-COUNT-4: coopmatrix.mul_add {{.*}} : !coopmatrix.matrix<64x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<64x16xf32, acc>
// CHECK-NEXT:    simt.barrier workgroup memory = <workgroup>
// CHECK-COUNT-5: coopmatrix.load
// CHECK-COUNT-4: coopmatrix.mul_add
// CHECK-NEXT:    simt.barrier workgroup memory = <workgroup>
// CHECK-COUNT-5: coopmatrix.load
// CHECK-COUNT-4: coopmatrix.mul_add
// CHECK-NEXT:    simt.barrier workgroup memory = <workgroup>

// The last one: the next tile of A, and the matrices behind the barrier.
// CHECK-COUNT-4: memref.store {{.*}} : memref<128x9x
// CHECK-COUNT-4: vector.load
// CHECK-COUNT-2: memref.store {{.*}} : memref<16x97x
// CHECK-COUNT-2: vector.load
// CHECK-COUNT-3: coopmatrix.mul_add
// CHECK-NEXT:    simt.barrier workgroup memory = <workgroup>
// CHECK-COUNT-5: coopmatrix.load
// CHECK:         coopmatrix.mul_add
// CHECK-NEXT:    scf.yield
// CHECK-NEXT:  } {simt.unroll = false}
// CHECK-COUNT-4: coopmatrix.store {{.*}} row_major : !coopmatrix.matrix<64x16xf32, acc>, memref<4096x4096xf32>
// CHECK-NEXT:  func.return

// One stage with gaps, and a barrier before and after the next tiles are stored.

// STAGE-LABEL: func.func @inside
// STAGE-SAME:  simt.grid = affine_map<() -> (16, 32)>
// STAGE-SAME:  simt.subgroup_size = 32 : i32, simt.work_group_size = array<i32: 256, 1, 1>
// STAGE:       %a_tiles = memref.alloca() : memref<128x5xvector<4xi32>, #simt.memory<workgroup>>
// STAGE:       %b_tiles = memref.alloca() : memref<32x33xvector<4xi32>, #simt.memory<workgroup>>
// STAGE-NOT:   scf.if
// STAGE-COUNT-6: memref.store {{.*}} : memref<{{128x5|32x33}}xvector<4xi32>, #simt.memory<workgroup>>
// STAGE:       simt.barrier workgroup memory = <workgroup>
// STAGE:       scf.for
// STAGE-COUNT-4: coopmatrix.mul_add {{.*}} : !coopmatrix.matrix<64x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<64x16xf32, acc>
// STAGE-NEXT:    simt.barrier workgroup memory = <workgroup>
// STAGE-NEXT:    coopmatrix.mul_add
// STAGE-NEXT:    coopmatrix.mul_add
// STAGE-COUNT-6: memref.store
// STAGE-COUNT-6: vector.load {{.*}} {alignment = 16 : i64} : memref<{{.*}}xf16>, vector<8xf16>
// STAGE:         coopmatrix.mul_add
// STAGE-NEXT:    simt.barrier workgroup memory = <workgroup>
// STAGE:         coopmatrix.load {{.*}} row_major : memref<64x4xvector<4xi32>, strided<[5, 1], offset: ?>, #simt.memory<workgroup>> -> !coopmatrix.matrix<64x16xf16, a>
// STAGE-COUNT-4: coopmatrix.load {{.*}} row_major : memref<32x8xvector<4xi32>, strided<[33, 1], offset: ?>, #simt.memory<workgroup>> -> !coopmatrix.matrix<16x16xf16, b>
// STAGE:         coopmatrix.mul_add
// STAGE-NEXT:    scf.yield
// STAGE-NEXT:  } {simt.unroll = false}
// STAGE-COUNT-4: coopmatrix.store {{.*}} row_major : !coopmatrix.matrix<64x16xf32, acc>, memref<4096x4096xf32>
// STAGE-NEXT:  func.return

// Two stages: one barrier a step.
// SMALL-LABEL: func.func @inside
// SMALL:       %a_tiles = memref.alloca() : memref<16x5xvector<4xi32>, #simt.memory<workgroup>>
func.func @inside(%a: memref<4096x256xf16>, %b: memref<256x4096xf16>, %c: memref<4096x4096xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<4096x4096xf32>)
  linalg.matmul ins(%a, %b : memref<4096x256xf16>, memref<256x4096xf16>) outs(%c : memref<4096x4096xf32>)
  func.return
}

// Sizes that are not known: an entry for multiples of the tiles, which checks nothing.

// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:  simt.conditions = [{what = "size", argument = 2 : i64, dimension = 0 : i64, multiple_of = 128 : i64, why = "whole tiles"}, {what = "size", argument = 2 : i64, dimension = 1 : i64, multiple_of = 256 : i64, why = "whole tiles"}, {what = "size", argument = 0 : i64, dimension = 1 : i64, multiple_of = 64 : i64, at_least = 64 : i64, why = "whole tiles"}]
// CHECK:       %b_tiles = memref.alloca() : memref<16x97xvector<4xi32>, #simt.memory<workgroup>>
// CHECK-NOT:   scf.if
// CHECK-NOT:   arith.minsi {{.*}}, %size
// CHECK:       coopmatrix.load %c
// CHECK-NOT:   scf.if
// CHECK:       scf.for
// CHECK-NOT:   scf.if
// CHECK-COUNT-4: coopmatrix.store {{.*}} row_major : !coopmatrix.matrix<64x16xf32, acc>, memref<?x?xf32>
// CHECK-NEXT:  func.return

// And one for any: whole steps of whole pieces, what is left of K with checks, and
// C is added in the end: by elements in a part that reaches over its edge.

// CHECK-LABEL: func.func @dynamic.fallback(
// CHECK-SAME:  simt.grid = affine_map<(d0, d1, d2, d3, d4, d5) -> ((d5 ceildiv 256), (d4 ceildiv 128))>
// CHECK-SAME:  simt.equal_sizes = [array<i64: 1, 0, 0, 1>, array<i64: 2, 0, 0, 0>, array<i64: 2, 1, 1, 1>]
// CHECK:       scf.if
// CHECK:         vector.load {{.*}} {alignment = 16 : i64}
// CHECK:       } else {
// CHECK-NEXT:    scf.yield
// CHECK:       simt.barrier workgroup memory = <workgroup>
// CHECK:       scf.for
// CHECK:         vector.create_mask
// CHECK:         vector.maskedload %a
// CHECK:         vector.maskedload %b
// CHECK:       scf.if
// CHECK-NEXT:    coopmatrix.load %c{{.*}} row_major :
// CHECK-NEXT:    coopmatrix.add
// CHECK-NEXT:    coopmatrix.store {{.*}} row_major :
// CHECK-NEXT:  } else {
// CHECK-NEXT:    coopmatrix.apply (%i, %j, %sum) in
// CHECK:           arith.cmpi ult
// CHECK:           arith.cmpi ult
// CHECK:           scf.if
// CHECK-NEXT:        memref.load %c
// CHECK-NEXT:        arith.addf
// CHECK-NEXT:        memref.store {{.*}}, %c
// CHECK-NOT:     checked
func.func @dynamic(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf16>, memref<?x?xf16>) outs(%c : memref<?x?xf32>)
  func.return
}

// Few tiles of C: 8 subgroups share K for each of two, and the first adds up their sums.
// An iteration is two steps: the tiles of two more are on their way.

// CHECK-LABEL: func.func @skinny
// CHECK-SAME:  simt.grid = affine_map<() -> (128, 1)>
// CHECK-SAME:  simt.work_group_size = array<i32: 512, 1, 1>
// CHECK:       %sums = memref.alloca() : memref<14x16x16xf32, #simt.memory<workgroup>>
// CHECK-COUNT-3: vector.load %a
// CHECK:       scf.for %k = %{{.*}} to %c4096 step %c512
// CHECK:         arith.addi %k, %c768
// CHECK:         vector.load %a
// CHECK:         arith.addi %k, %c1024
// CHECK:         vector.load %a
// CHECK:       {simt.unroll = false}
// CHECK:       scf.if %first{{.*}} {
// CHECK-NEXT:  } else {
// CHECK-NEXT:    coopmatrix.store {{.*}}, %sums
// CHECK-NEXT:  }
// CHECK-NEXT:  simt.barrier workgroup memory = <workgroup>
// CHECK-NEXT:  scf.if %first
// CHECK-COUNT-7: coopmatrix.load %sums
// CHECK:         coopmatrix.store {{.*}}, %c
func.func @skinny(%a: memref<16x4096xf16>, %b: memref<4096x4096xf16>, %c: memref<16x4096xf32>) {
  linalg.matmul ins(%a, %b : memref<16x4096xf16>, memref<4096x4096xf16>) outs(%c : memref<16x4096xf32>)
  func.return
}

// What is left of K is whole pieces: zeros take the place of those beyond its end.

// CHECK-LABEL: func.func @rest
// CHECK:       scf.for %k = %{{.*}} to %c192 step %c64
// CHECK:       {simt.unroll = false}
// CHECK:         arith.minsi
// CHECK:         %[[PIECE:.*]] = vector.load %a{{.*}} {alignment = 16 : i64}
// CHECK:         %[[WORDS:.*]] = vector.bitcast %[[PIECE]]
// CHECK:         %[[THERE:.*]] = arith.cmpi ult, %{{.*}}, %c200 : index
// CHECK:         arith.select %[[THERE]], %[[WORDS]], %none{{.*}} : vector<4xi32>
// CHECK-NOT:   vector.maskedload
// CHECK:       func.return
func.func @rest(%a: memref<1024x200xf16>, %b: memref<200x1024xf16>, %c: memref<1024x1024xf32>) {
  linalg.matmul ins(%a, %b : memref<1024x200xf16>, memref<200x1024xf16>) outs(%c : memref<1024x1024xf32>)
  func.return
}

// Rows of which none is a number of whole pieces: the slow way only.

// CHECK-LABEL: func.func @odd
// CHECK-NOT:   vector.load
// CHECK:       vector.maskedload
func.func @odd(%a: memref<256x256xf16>, %b: memref<256x255xf16>, %c: memref<256x255xf32>) {
  linalg.matmul ins(%a, %b : memref<256x256xf16>, memref<256x255xf16>) outs(%c : memref<256x255xf32>)
  func.return
}

// Bytes of rows across K: 8 words of 4 become 4 pieces of 8 bytes of columns, before the
// first product of a step.  Tiles are those with few columns.

// CHECK-LABEL: func.func @bytes
// CHECK-SAME:  simt.grid = affine_map<() -> (32, 16)>
// CHECK:       %a_tiles = memref.alloca() : memref<256x5xvector<4xi32>, #simt.memory<workgroup>>
// CHECK:       %b_tiles = memref.alloca() : memref<128x10xvector<2xi32>, #simt.memory<workgroup>>
// CHECK-COUNT-8: vector.load {{.*}} {alignment = 4 : i64} : memref<256x4096xi8>, vector<4xi8>
// CHECK:       scf.for
// CHECK-COUNT-16: arith.shrui
// CHECK-COUNT-8: vector.insert {{.*}} : i32 into vector<2xi32>
// CHECK:         coopmatrix.mul_add
// CHECK:         simt.barrier
// CHECK:         memref.store {{.*}} : memref<256x5xvector<4xi32>
// CHECK-COUNT-4: memref.store {{.*}} : memref<128x10xvector<2xi32>
// CHECK-COUNT-8: vector.load {{.*}} {alignment = 4 : i64}
// CHECK:         coopmatrix.load {{.*}} col_major : memref<64x8xvector<2xi32>, strided<[10, 1], offset: ?>, #simt.memory<workgroup>> -> !coopmatrix.matrix<32x16xi8, b>
func.func @bytes(%a: memref<4096x256xi8>, %b: memref<256x4096xi8>, %c: memref<4096x4096xi32>) {
  linalg.matmul ins(%a, %b : memref<4096x256xi8>, memref<256x4096xi8>) outs(%c : memref<4096x4096xi32>)
  func.return
}

// Other functions stay as they are.

// CHECK-LABEL: func.func @other
// CHECK-NEXT:    %x = memref.load
func.func @other(%m: memref<f32>) -> f32 {
  %x = memref.load %m[] : memref<f32>
  func.return %x : f32
}
