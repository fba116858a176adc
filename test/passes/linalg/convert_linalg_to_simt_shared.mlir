// RUN: coopc-opt %s -p 'convert-linalg-to-simt{device=nvidia explain=true}' 2>%t | filecheck %s
// RUN: filecheck %s --check-prefix PLAN < %t
// RUN: coopc-opt %s -p 'convert-linalg-to-simt{device=bmg}' | filecheck %s --check-prefix XE

#p = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>

// There are too few columns for a GPU: 256 work-items share eight of them, which each
// loads at once, of four rows together, and combine what they have found in two steps.

// PLAN:        work-items: 4 along shared loop 0, vectors of 8, 256 a row, 32 rows a work-group: contiguous memory
// CHECK-LABEL: func.func @columns
// CHECK-SAME:    simt.grid = affine_map<() -> (128)>, {{.*}} simt.work_group_size = array<i32: 1024>
// CHECK:         %[[LINES:.*]] = memref.alloca() : memref<256x32xf32, #simt.memory<workgroup>>
// CHECK:         %part = arith.divui %lane, %c4
// CHECK:         scf.for {{.*}} to %c4 {{.*}} iter_args({{.*}}) -> (vector<8xf32>) {
// CHECK:           memref.load %x[
// CHECK-NEXT:      vector.load %a[{{.*}}] {alignment = 16 : i64} : memref<4096x4096xf16>, vector<8xf16>
// CHECK-COUNT-3:   vector.load %a[
// CHECK:         vector.store {{.*}}, %[[LINES]][%part, {{.*}}] {alignment = 16 : i64}
// CHECK-NEXT:    simt.barrier workgroup{{$}}
// CHECK-COUNT-8: memref.load %[[LINES]][
// CHECK-COUNT-7: arith.addf {{.*}} : f32
// CHECK:         simt.barrier workgroup memory = <workgroup>
// CHECK:         scf.if
// CHECK:           scf.for {{.*}} to %c32
// CHECK:         simt.barrier workgroup memory = <workgroup>
// CHECK:         vector.load %[[LINES]][%c0,
// CHECK:         arith.cmpi eq, %part, %c0
// CHECK-NEXT:    scf.if
// CHECK:           vector.store {{.*}}, %o[{{.*}}] {alignment = 16 : i64} : memref<4096xf32>, vector<8xf32>
// XE-LABEL:    func.func @columns
// XE:            memref.alloca() : memref<64x16xf32, #simt.memory<workgroup>>
// XE-NOT:        vector.load
func.func @columns(%x: memref<4096xf16>, %a: memref<4096x4096xf16>, %o: memref<4096xf32>) {
  linalg.vecmat ins(%x, %a : memref<4096xf16>, memref<4096x4096xf16>) outs(%o : memref<4096xf32>)
  func.return
}

// 37 columns: work-items beyond the last one compute it once more, and do not store it.

// PLAN:        work-items: 32 along shared loop 0, 16 a row, 32 rows a work-group: contiguous memory
// CHECK-LABEL: func.func @ragged
// CHECK:         %[[PLACE:.*]] = arith.addi
// CHECK:         %[[THERE:.*]] = arith.cmpi ult, %[[PLACE]], %c37
// CHECK:         %[[AT:.*]] = arith.minui %[[PLACE]], %{{.*}} : index
// CHECK:         memref.load %a[{{.*}}, %[[AT]]] : memref<100x37xf32>
// CHECK:         %[[FIRST:.*]] = arith.cmpi eq, %part, %c0
// CHECK-NEXT:    %[[STORES:.*]] = arith.andi {{.*}} : i1
// CHECK-NEXT:    scf.if %[[STORES]] {
// CHECK:           memref.store {{.*}}, %o[%[[AT]]]
func.func @ragged(%a: memref<100x37xf32>, %o: memref<37xf32>) {
  linalg.reduce ins(%a : memref<100x37xf32>) outs(%o : memref<37xf32>) dimensions = [0]
    (%x: f32, %z: f32) {
      %s = arith.addf %x, %z : f32
      linalg.yield %s : f32
    }
  func.return
}

// Sizes that are not known: 8 work-items a column.

// PLAN:        work-items: 32 along shared loop 0, 8 a row, 32 rows a work-group: contiguous memory
// CHECK-LABEL: func.func @unknown
// CHECK-SAME:    simt.work_group_size = array<i32: 256>
func.func @unknown(%a: memref<?x?xf32>, %o: memref<?xf32>) {
  linalg.reduce ins(%a : memref<?x?xf32>) outs(%o : memref<?xf32>) dimensions = [0]
    (%x: f32, %z: f32) {
      %s = arith.addf %x, %z : f32
      linalg.yield %s : f32
    }
  func.return
}

// Lanes load vectors along a row. What a lane has found is combined before lanes are.

// PLAN:        subgroup: 32 lanes
// CHECK-LABEL: func.func @rows
// CHECK:         %[[FOUND:.*]] = scf.for {{.*}} to %c4 {{.*}} -> (vector<8xf32>) {
// CHECK-COUNT-8:   vector.load {{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xf16>
// CHECK:         vector.extract %[[FOUND]][0]
// CHECK-COUNT-7: arith.addf {{.*}} : f32
// CHECK-NEXT:    simt.reduce add
func.func @rows(%a: memref<8192x4096xf16>, %x: memref<4096xf16>, %o: memref<8192xf32>) {
  linalg.matvec ins(%a, %x : memref<8192x4096xf16>, memref<4096xf16>) outs(%o : memref<8192xf32>)
  func.return
}

// Rows of 500 elements begin at multiples of 4; those that are 1001 apart do not.

// PLAN:        subgroup: 32 lanes
// CHECK-LABEL: func.func @aligned
// CHECK:         vector.load %a[{{.*}}] {alignment = 8 : i64} : memref<8192x500xf16>, vector<4xf16>
func.func @aligned(%a: memref<8192x500xf16>, %o: memref<8192xf16>) {
  linalg.reduce ins(%a : memref<8192x500xf16>) outs(%o : memref<8192xf16>) dimensions = [1]
    (%x: f16, %z: f16) {
      %s = arith.addf %x, %z : f16
      linalg.yield %s : f16
    }
  func.return
}

// PLAN:        subgroup: 32 lanes
// CHECK-LABEL: func.func @misaligned
// CHECK-NOT:     vector.load
func.func @misaligned(%a: memref<8192x960xf16, strided<[1001, 1]>>, %o: memref<8192xf16>) {
  linalg.reduce ins(%a : memref<8192x960xf16, strided<[1001, 1]>>) outs(%o : memref<8192xf16>) dimensions = [1]
    (%x: f16, %z: f16) {
      %s = arith.addf %x, %z : f16
      linalg.yield %s : f16
    }
  func.return
}

// An index is a number of each element: no vectors.

// PLAN:        subgroup: 32 lanes
// CHECK-LABEL: func.func @weighted
// CHECK-NOT:     vector.load
func.func @weighted(%a: memref<8192x960xi32>, %o: memref<8192xi32>) {
  linalg.generic {indexing_maps = [#p, #r], iterator_types = ["parallel", "reduction"]} ins(%a : memref<8192x960xi32>) outs(%o : memref<8192xi32>) {
  ^bb0(%x: i32, %z: i32):
    %i = linalg.index 1 : index
    %w = arith.index_cast %i : index to i32
    %y = arith.muli %x, %w : i32
    %s = arith.addi %z, %y : i32
    linalg.yield %s : i32
  }
  func.return
}

// Few long rows: several subgroups share each.

// PLAN:        subgroup: 8 subgroups of 32 lanes, 1 rows a work-group: memory is contiguous along the reduction
// CHECK-LABEL: func.func @long
// CHECK-SAME:    simt.work_group_size = array<i32: 256>
// CHECK:         %[[LINE:.*]] = memref.alloca() : memref<8xf32, #simt.memory<workgroup>>
// CHECK:         %lane = simt.local_id x
// CHECK:         %[[FOUND:.*]] = simt.reduce add
// CHECK:         %[[SUBGROUP:.*]] = simt.subgroup_id
// CHECK:         scf.if
// CHECK-NEXT:      memref.store %[[FOUND]], %[[LINE]][%[[SUBGROUP]]]
// CHECK:         simt.barrier workgroup{{$}}
// CHECK:         memref.load %[[LINE]][%c0
// CHECK:         scf.for
// CHECK:           memref.load %[[LINE]][
// CHECK:         arith.cmpi eq, %lane, %c0
// CHECK-NEXT:    scf.if
// CHECK:           memref.store
func.func @long(%a: memref<8x5000xf32>, %o: memref<8xf32>) {
  linalg.reduce ins(%a : memref<8x5000xf32>) outs(%o : memref<8xf32>) dimensions = [1]
    (%x: f32, %z: f32) {
      %s = arith.addf %x, %z : f32
      linalg.yield %s : f32
    }
  func.return
}

// A row reads what it stores to, and goes on: no other work-item may store there first.

// PLAN:        subgroup: 32 lanes
// CHECK-LABEL: func.func @read
// CHECK-NOT:     memref.alloca
// CHECK:         func.return
func.func @read(%a: memref<8x5000xf32>, %o: memref<8xf32>, %y: memref<8x5000xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<8xf32>)
  linalg.reduce ins(%a : memref<8x5000xf32>) outs(%t : memref<8xf32>) dimensions = [1]
    (%x: f32, %z: f32) {
      %s = arith.addf %x, %z : f32
      linalg.yield %s : f32
    }
  linalg.add ins(%o, %t : memref<8xf32>, memref<8xf32>) outs(%o : memref<8xf32>)
  linalg.generic {indexing_maps = [#p, #r, #p], iterator_types = ["parallel", "parallel"]} ins(%a, %o : memref<8x5000xf32>, memref<8xf32>) outs(%y : memref<8x5000xf32>) {
  ^bb0(%x: f32, %s: f32, %z: f32):
    %d = arith.subf %x, %s : f32
    linalg.yield %d : f32
  }
  func.return
}

// Rows shorter than a vector for each lane.

// PLAN:        subgroup: 32 lanes
// CHECK-LABEL: func.func @short
// CHECK-NOT:     vector.load
func.func @short(%a: memref<8192x96xf16>, %o: memref<8192xf16>) {
  linalg.reduce ins(%a : memref<8192x96xf16>) outs(%o : memref<8192xf16>) dimensions = [1]
    (%x: f16, %z: f16) {
      %s = arith.addf %x, %z : f16
      linalg.yield %s : f16
    }
  func.return
}

// What nothing else reads is computed where it is stored: the other work-items do not
// read what one overwrites.

// PLAN:        subgroup: 8 subgroups of 32 lanes
// CHECK-LABEL: func.func @added
// CHECK-NOT:     memref.load %o
// CHECK:         simt.barrier workgroup memory = <workgroup>
// CHECK-NOT:     memref.load %o
// CHECK:         scf.if
// CHECK-NEXT:      memref.load %o[
// CHECK-NEXT:      arith.addf
// CHECK-NEXT:      memref.store {{.*}}, %o[
func.func @added(%a: memref<8x5000xf32>, %o: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<8xf32>)
  linalg.reduce { arith.addf } ins(%a : memref<8x5000xf32>) outs(%t : memref<8xf32>) dimensions = [1]
  linalg.add ins(%o, %t : memref<8xf32>, memref<8xf32>) outs(%o : memref<8xf32>)
  func.return
}

// A sum that begins with twice what it overwrites: all have read that at the barrier.

// PLAN:        work-items: 32 along shared loop 0, 32 a row
// CHECK-LABEL: func.func @doubled
// CHECK:         memref.load %o[
// CHECK:         simt.barrier workgroup{{$}}
// CHECK:         memref.store {{.*}}, %o[
func.func @doubled(%a: memref<8x5000xf32>, %o: memref<8xf32>) {
  linalg.add ins(%o, %o : memref<8xf32>, memref<8xf32>) outs(%o : memref<8xf32>)
  linalg.reduce { arith.addf } ins(%a : memref<8x5000xf32>) outs(%o : memref<8xf32>) dimensions = [1]
  func.return
}

// A sum that begins with what nothing overwrites.

// PLAN:        work-items: 32 along shared loop 0, 32 a row
// CHECK-LABEL: func.func @biased
// CHECK:         memref.load %b[
// CHECK:         simt.barrier workgroup memory = <workgroup>
// CHECK:         memref.store {{.*}}, %o[
func.func @biased(%a: memref<8x5000xf32>, %b: memref<8xf32>, %o: memref<8xf32>) {
  linalg.add ins(%b, %b : memref<8xf32>, memref<8xf32>) outs(%o : memref<8xf32>)
  linalg.reduce { arith.addf } ins(%a : memref<8x5000xf32>) outs(%o : memref<8xf32>) dimensions = [1]
  func.return
}

// Of elements of 16 bits, a work-item reduces a vector of rows, four steps at a time.

// PLAN:        work-items: 256 along shared loop 1, vectors of 8, 2048 rows a work-group: contiguous memory
// CHECK-LABEL: func.func @narrow
// CHECK-SAME:    simt.grid = affine_map<() -> (1024, 2)>, {{.*}} simt.work_group_size = array<i32: 256>
// CHECK:         %[[BEGIN:.*]] = vector.load %o[
// CHECK:         scf.for {{.*}} to %c2 step %c1 iter_args({{.*}} = %[[BEGIN]]) -> (vector<8xf16>) {
// CHECK-COUNT-4:   vector.load %a[{{.*}}] {alignment = 16 : i64} : memref<1024x9x4096xf16>, vector<8xf16>
// CHECK:           scf.yield
// CHECK:         vector.load %a[
// CHECK:         vector.store {{.*}}, %o[
// CHECK-NOT:     simt.barrier
func.func @narrow(%a: memref<1024x9x4096xf16>, %o: memref<1024x4096xf16>) {
  linalg.generic {
    indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>],
    iterator_types = ["parallel", "reduction", "parallel"]
  } ins(%a : memref<1024x9x4096xf16>) outs(%o : memref<1024x4096xf16>) {
  ^bb0(%x: f16, %y: f16):
    %s = arith.addf %x, %y : f16
    linalg.yield %s : f16
  }
  func.return
}
