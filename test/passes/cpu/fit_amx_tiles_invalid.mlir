// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file -p fit-amx-tiles | filecheck %s

// What has no form in memory, where tiles do not fit: nothing is changed.

func.func @stride(%m: memref<?xf32>, %i: index, %f: f32) -> f32 {
  %x = amx.tile_load %m[%i], %i : memref<?xf32> into !amx.tile<4x4xf32>
  %y = amx.tile_load %m[%i], %i : memref<?xf32> into !amx.tile<5x4xf32>
  %e = math.exp %f : f32
  func.return %e : f32
}
// CHECK: tiles of 2 shapes may live across a call: expected the stride of the memref

// -----

func.func @while(%m: memref<?x?xf32>, %i: index, %p: i1, %f: f32) -> f32 {
  %x = amx.tile_load %m[%i, %i] : memref<?x?xf32> into !amx.tile<4x4xf32>
  %y = amx.tile_load %m[%i, %i] : memref<?x?xf32> into !amx.tile<5x4xf32>
  %r = scf.while (%t = %x) : (!amx.tile<4x4xf32>) -> !amx.tile<4x4xf32> {
    scf.condition(%p) %t : !amx.tile<4x4xf32>
  } do {
  ^bb0(%u: !amx.tile<4x4xf32>):
    scf.yield %u : !amx.tile<4x4xf32>
  }
  %e = math.exp %f : f32
  func.return %e : f32
}
// CHECK: tiles of 2 shapes may live across a call: expected tiles in scf.for and scf.if alone

// -----

func.func @argument(%x: !amx.tile<4x4xf32>, %m: memref<?x?xf32>, %i: index, %f: f32) -> f32 {
  %y = amx.tile_load %m[%i, %i] : memref<?x?xf32> into !amx.tile<5x4xf32>
  amx.tile_store %m[%i, %i], %x : memref<?x?xf32>, !amx.tile<4x4xf32>
  %e = math.exp %f : f32
  func.return %e : f32
}
// CHECK: tiles of 2 shapes may live across a call: expected tiles in scf.for and scf.if alone
