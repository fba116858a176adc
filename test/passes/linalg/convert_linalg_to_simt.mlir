// RUN: coopc-opt %s -p 'convert-linalg-to-simt{device=amx},normalize' | filecheck %s
// RUN: coopc-opt %s -p 'convert-linalg-to-simt{device=nvidia}' | filecheck %s --check-prefix GPU
// RUN: coopc-opt %s -p 'convert-linalg-to-simt{device=amx explain=true}' -o /dev/null 2>&1 | filecheck %s --check-prefix PLAN

// PLAN:      remark: func.func: work-items: 16 along shared loop 1, 4096 rows a work-group: contiguous memory
// PLAN:      remark: func.func: subgroup: 64 lanes, 4 rows a work-group: memory is contiguous along the reduction
// PLAN:      remark: func.func: work-items: 64 along shared loop 0, 64 rows a work-group: contiguous memory
// PLAN:      remark: func.func: subgroup

#p = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>
#c = affine_map<(d0, d1) -> (d1)>

// Neighbours along the contiguous dimension; a work-item computes some elements, S apart.

// CHECK-LABEL: func.func @add
// CHECK-SAME:  simt.grid = affine_map<(d0, d1, d2, d3, d4) -> ((d1 ceildiv 1024), (d0 ceildiv 4))>
// CHECK-SAME:  simt.equal_sizes = [array<i64: 1, 0, 0, 1>, array<i64: 2, 0, 0, 0>, array<i64: 2, 1, 0, 1>]
// GPU-LABEL:   func.func @add
// Only axis x of a GPU has room for many rows.
// GPU-SAME:    simt.grid = affine_map<(d0, d1, d2, d3, d4) -> (d0, (d1 ceildiv 1024))>
// GPU-SAME:    simt.subgroup_size = 32 : i32, simt.work_group_size = array<i32: 256>
func.func @add(%a: memref<?x?xf32>, %b: memref<?xf32>, %o: memref<?x?xf32>) {
  // CHECK:      scf.for %d0 =
  // CHECK:        scf.for %t =
  // CHECK:          %[[AT:[0-9]+]] = arith.addi
  // CHECK-NEXT:     memref.load %a[%[[ROW:[0-9]+]], %[[AT]]]
  // CHECK-NEXT:     memref.load %b[%[[AT]]]
  // CHECK-NEXT:     arith.addf
  // CHECK-NEXT:     memref.store %{{.*}}, %o[%[[ROW]], %[[AT]]]
  // CHECK:        scf.if
  linalg.generic {indexing_maps = [#p, #c, #p], iterator_types = ["parallel", "parallel"]} ins(%a, %b : memref<?x?xf32>, memref<?xf32>) outs(%o : memref<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// A subgroup reduces a row; NaN stays. Sizes that lanes divide need no conditions. Maxima
// take a processor several instructions: it has four vectors of them in flight.

// CHECK-LABEL: func.func @maximum
// CHECK-SAME:  simt.grid = affine_map<() -> (8)>, simt.subgroup_size = 64
func.func @maximum(%a: memref<32x256xf32>, %o: memref<32xf32>) {
  // CHECK:      %[[MOST:[0-9]+]] = scf.for %t = %c0 to %c4 step %c1 iter_args(%{{[0-9]+}} = %low)
  // CHECK:        arith.maximumf
  // CHECK-NOT:    scf.if
  // CHECK:      %[[ALL:[0-9]+]] = simt.reduce max %[[MOST]] : f32
  // CHECK:      %[[NAN:[0-9]+]] = arith.cmpf uno, %[[MOST]], %[[MOST]]
  // CHECK:      simt.reduce or
  // CHECK:      %[[FOUND:[0-9]+]] = arith.select %{{[0-9]+}}, %{{[0-9]+}}, %[[ALL]] : f32
  // CHECK:      scf.if
  // CHECK-NEXT:   memref.store %[[FOUND]], %o
  %low = arith.constant 0xFF800000 : f32
  linalg.fill ins(%low : f32) outs(%o : memref<32xf32>)
  linalg.generic {indexing_maps = [#p, #r], iterator_types = ["parallel", "reduction"]} ins(%a : memref<32x256xf32>) outs(%o : memref<32xf32>) {
  ^bb0(%x: f32, %z: f32):
    %s = arith.maximumf %x, %z : f32
    linalg.yield %s : f32
  }
  func.return
}

// Columns are contiguous, so work-items reduce them, each one in order.

// CHECK-LABEL: func.func @columns
func.func @columns(%a: memref<?x64xf32>, %o: memref<64xf32>) {
  // CHECK-NOT: simt.reduce
  linalg.generic {indexing_maps = [#p, #c], iterator_types = ["reduction", "parallel"]} ins(%a : memref<?x64xf32>) outs(%o : memref<64xf32>) {
  ^bb0(%x: f32, %z: f32):
    %s = arith.addf %x, %z : f32
    linalg.yield %s : f32
  }
  func.return
}

// Temporaries are no memory: the sum is a register, and of exp a row is stored that lanes
// share, as two statements read it.

// CHECK-LABEL: func.func @normalize
func.func @normalize(%a: memref<8x64xf32>, %o: memref<8x64xf32>) {
  // CHECK-NOT:   memref.alloc(
  // CHECK:       math.exp
  // CHECK-NEXT:  memref.store %{{.*}}, %reused[
  // CHECK:       %[[SUM:[0-9]+]] = simt.reduce add
  // CHECK-NEXT:  %[[TOTAL:[0-9]+]] = arith.addf %[[SUM]], %zero
  // CHECK-NOT:   math.exp
  // CHECK:       %[[EXP:[0-9]+]] = memref.load %reused[
  // CHECK-NEXT:  arith.divf %[[EXP]], %[[TOTAL]]
  %zero = arith.constant 0.0 : f32
  %e = memref.alloc() : memref<8x64xf32>
  linalg.generic {indexing_maps = [#p, #p], iterator_types = ["parallel", "parallel"]} ins(%a : memref<8x64xf32>) outs(%e : memref<8x64xf32>) {
  ^bb0(%x: f32, %z: f32):
    %s = math.exp %x : f32
    linalg.yield %s : f32
  }
  %t = memref.alloc() : memref<8xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<8xf32>)
  linalg.generic {indexing_maps = [#p, #r], iterator_types = ["parallel", "reduction"]} ins(%e : memref<8x64xf32>) outs(%t : memref<8xf32>) {
  ^bb0(%x: f32, %z: f32):
    %s = arith.addf %x, %z : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#p, #r, #p], iterator_types = ["parallel", "parallel"]} ins(%e, %t : memref<8x64xf32>, memref<8xf32>) outs(%o : memref<8x64xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.divf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// Sums of columns of many rows: eight rows of memory at a time, along all that a
// work-group has of them. Until the last row they are where they are stored.
// CHECK-LABEL: func.func @many_rows
func.func @many_rows(%a: memref<100x300xf32>, %o: memref<300xf32>) {
  // CHECK:       scf.for
  // CHECK:         memref.store %zero, %o[
  // CHECK:       scf.for %[[STEP:.*]] = %c0{{.*}} to %c13
  // CHECK:         %[[FIRST:.*]] = arith.muli %[[STEP]], %c8
  // CHECK:         scf.for
  // CHECK:           %[[OLD:.*]] = memref.load %o[
  // CHECK:           %[[NEW:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[OLD]]) -> (f32) {
  // CHECK:             arith.addi %[[FIRST]],
  // CHECK:           memref.store %[[NEW]], %o[
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<300xf32>)
  linalg.generic {indexing_maps = [#p, #c], iterator_types = ["reduction", "parallel"]} ins(%a : memref<100x300xf32>) outs(%o : memref<300xf32>) {
  ^bb0(%x: f32, %z: f32):
    %s = arith.addf %z, %x : f32
    linalg.yield %s : f32
  }
  func.return
}
