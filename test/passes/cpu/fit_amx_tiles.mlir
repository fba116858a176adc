// RUN: coopc-opt %s -p fit-amx-tiles | filecheck %s

// A function of LLVM has eight registers for tiles, each of one shape.

// Loads go down to their first use, but not past what may write.
// CHECK-LABEL: func.func @sunk(
// CHECK-NEXT:    %x = amx.tile_load %a
// CHECK-NEXT:    amx.tile_store %a{{.*}}, %x
// CHECK-NEXT:    %y = amx.tile_load %a
// CHECK-NEXT:    %z = amx.tile_load %c
// CHECK-NEXT:    %t = amx.tile_mulf %x, %y, %z
// CHECK-NEXT:    %w = amx.tile_load %a
// CHECK-NEXT:    %u = amx.tile_mulf %x, %w, %t
func.func @sunk(%a: memref<?x?xbf16>, %c: memref<?x?xf32>, %i: index, %j: index) {
  %x = amx.tile_load %a[%i, %i] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
  amx.tile_store %a[%j, %j], %x : memref<?x?xbf16>, !amx.tile<16x32xbf16>
  %w = amx.tile_load %a[%j, %j] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
  %z = amx.tile_load %c[%i, %i] : memref<?x?xf32> into !amx.tile<16x16xf32>
  %y = amx.tile_load %a[%i, %j] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
  %t = amx.tile_mulf %x, %y, %z : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  %u = amx.tile_mulf %x, %w, %t : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  amx.tile_store %c[%i, %i], %u : memref<?x?xf32>, !amx.tile<16x16xf32>
  func.return
}

// Tiles of several shapes that may live across a call: all in memory, as 16 rows of 64
// bytes; what a loop carries, too.
// CHECK-LABEL: func.func @crowd(
// CHECK:         [[T:%.*]] = memref.alloca() {alignment = 64 : i64} : memref<16x16xf32>
// CHECK:         [[X:%.*]] = memref.alloca() {alignment = 64 : i64} : memref<16x32xbf16>
// CHECK:         amx.tile_zero : !amx.tile<16x32xbf16>
// CHECK:         scf.for %row = {{.*}} {
// CHECK:           vector.load %a{{.*}} : memref<?x?xbf16>, vector<8xbf16>
// CHECK-NEXT:      vector.store
// CHECK:         scf.for %k = %i to %j step %i {
// CHECK-NOT:       !amx.tile<3x8xbf16>
// CHECK:           amx.tile_mulf {{.*}} : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
// CHECK:         scf.for %row_{{.*}} {
// CHECK:           vector.store {{.*}} %c{{.*}} : memref<?x?xf32>, vector<5xf32>
func.func @crowd(%a: memref<?x?xbf16>, %c: memref<?x?xf32>, %i: index, %j: index, %f: f32) -> f32 {
  %x = amx.tile_load %a[%i, %i] : memref<?x?xbf16> into !amx.tile<3x8xbf16>
  %y = amx.tile_load %a[%i, %j] : memref<?x?xbf16> into !amx.tile<4x10xbf16>
  %z = amx.tile_zero : !amx.tile<3x5xf32>
  %e = math.exp %f : f32
  %r = scf.for %k = %i to %j step %i iter_args(%t = %z) -> (!amx.tile<3x5xf32>) {
    %u = amx.tile_mulf %x, %y, %t : !amx.tile<3x8xbf16>, !amx.tile<4x10xbf16>, !amx.tile<3x5xf32>
    scf.yield %u : !amx.tile<3x5xf32>
  }
  amx.tile_store %c[%i, %i], %r : memref<?x?xf32>, !amx.tile<3x5xf32>
  func.return %e : f32
}

// So under a branch without an else, which gives no tile on.
// CHECK-LABEL: func.func @branch(
// CHECK:         scf.if %b {
// CHECK:           vector.load %a{{.*}} : memref<?x?xbf16>, vector<8xbf16>
// CHECK:           amx.tile_mulf {{.*}} : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
// CHECK-NOT:     else
func.func @branch(%a: memref<?x?xbf16>, %c: memref<?x?xf32>, %i: index, %j: index, %f: f32, %b: i1) -> f32 {
  %e = math.exp %f : f32
  scf.if %b {
    %x = amx.tile_load %a[%i, %i] : memref<?x?xbf16> into !amx.tile<3x8xbf16>
    %y = amx.tile_load %a[%i, %j] : memref<?x?xbf16> into !amx.tile<4x10xbf16>
    %z = amx.tile_zero : !amx.tile<3x5xf32>
    %u = amx.tile_mulf %x, %y, %z : !amx.tile<3x8xbf16>, !amx.tile<4x10xbf16>, !amx.tile<3x5xf32>
    amx.tile_store %c[%i, %i], %u : memref<?x?xf32>, !amx.tile<3x5xf32>
  }
  func.return %e : f32
}

// A branch that gives a tile on, and a number, gives on the number alone.
// CHECK-LABEL: func.func @gives(
// CHECK:         %n = scf.if %b -> (index) {
// CHECK:           vector.load %a{{.*}} : memref<?x?xbf16>, vector<8xbf16>
// CHECK:           scf.yield %i : index
// CHECK:         } else {
// CHECK:           scf.yield %j : index
// CHECK:         }
// CHECK:         vector.load {{.*}} : memref<16x32xbf16>, vector<8xbf16>
// CHECK-NEXT:    vector.store {{.*}}, %a
func.func @gives(%a: memref<?x?xbf16>, %c: memref<?x?xf32>, %i: index, %j: index, %f: f32, %b: i1) -> f32 {
  %x = amx.tile_load %a[%i, %i] : memref<?x?xbf16> into !amx.tile<3x8xbf16>
  %y = amx.tile_load %a[%i, %j] : memref<?x?xbf16> into !amx.tile<4x10xbf16>
  %z = amx.tile_zero : !amx.tile<3x5xf32>
  %e = math.exp %f : f32
  %t, %n = scf.if %b -> (!amx.tile<3x8xbf16>, index) {
    %v = amx.tile_load %a[%j, %i] : memref<?x?xbf16> into !amx.tile<3x8xbf16>
    scf.yield %v, %i : !amx.tile<3x8xbf16>, index
  } else {
    scf.yield %x, %j : !amx.tile<3x8xbf16>, index
  }
  amx.tile_store %a[%n, %n], %t : memref<?x?xbf16>, !amx.tile<3x8xbf16>
  %u = amx.tile_mulf %x, %y, %z : !amx.tile<3x8xbf16>, !amx.tile<4x10xbf16>, !amx.tile<3x5xf32>
  amx.tile_store %c[%i, %i], %u : memref<?x?xf32>, !amx.tile<3x5xf32>
  func.return %e : f32
}

// LLVM has no selection of tiles: but for one, those that a branch only chooses among
// are loaded there.
// CHECK-LABEL: func.func @chosen(
// CHECK:         [[S:%.*]] = memref.alloca() {alignment = 64 : i64} : memref<16x16xf32>
// CHECK:         scf.if %b
// CHECK-NEXT:      scf.yield %x
// CHECK-NEXT:    } else {
// CHECK-NEXT:      amx.tile_store [[S]][{{.*}}], %y
// CHECK-NEXT:      [[Y:%.*]] = amx.tile_load [[S]]
// CHECK-NEXT:      scf.yield [[Y]]
func.func @chosen(%c: memref<?x?xf32>, %i: index, %j: index, %b: i1) {
  %x = amx.tile_load %c[%i, %j] : memref<?x?xf32> into !amx.tile<16x16xf32>
  %y = amx.tile_load %c[%j, %i] : memref<?x?xf32> into !amx.tile<16x16xf32>
  %t = scf.if %b -> (!amx.tile<16x16xf32>) {
    scf.yield %x : !amx.tile<16x16xf32>
  } else {
    scf.yield %y : !amx.tile<16x16xf32>
  }
  amx.tile_store %c[%i, %i], %t : memref<?x?xf32>, !amx.tile<16x16xf32>
  func.return
}

// So of a loop what it does not begin with; what it computes, or a branch in it, and
// what it only carries, stays in registers.
// CHECK-LABEL: func.func @carried(
// CHECK:         scf.for
// CHECK:           [[U:%.*]] = scf.if
// CHECK-NEXT:        amx.tile_mulf
// CHECK-NEXT:        scf.yield
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %t
// CHECK-NEXT:      }
// CHECK-NEXT:      amx.tile_store [[S:%.*]][{{.*}}], %v
// CHECK-NEXT:      [[V:%.*]] = amx.tile_load [[S]]
// CHECK-NEXT:      scf.yield [[U]], %p, [[V]]
func.func @carried(%a: memref<?x?xbf16>, %c: memref<?x?xf32>, %i: index, %j: index, %b: i1) {
  %x = amx.tile_load %a[%i, %i] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
  %z = amx.tile_zero : !amx.tile<16x16xf32>
  %v = amx.tile_load %c[%j, %i] : memref<?x?xf32> into !amx.tile<16x16xf32>
  %r, %s, %w = scf.for %k = %i to %j step %i iter_args(%t = %z, %p = %x, %q = %z)
      -> (!amx.tile<16x16xf32>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>) {
    %u = scf.if %b -> (!amx.tile<16x16xf32>) {
      %m = amx.tile_mulf %p, %x, %t : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
      scf.yield %m : !amx.tile<16x16xf32>
    } else {
      scf.yield %t : !amx.tile<16x16xf32>
    }
    scf.yield %u, %p, %v : !amx.tile<16x16xf32>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  }
  amx.tile_store %c[%i, %i], %r : memref<?x?xf32>, !amx.tile<16x16xf32>
  amx.tile_store %a[%i, %j], %s : memref<?x?xbf16>, !amx.tile<16x32xbf16>
  amx.tile_store %c[%i, %j], %w : memref<?x?xf32>, !amx.tile<16x16xf32>
  func.return
}
