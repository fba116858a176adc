// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Tiles over the limits of a processor, memory that tiles are not read from, and
// products that AMX does not have.

func.func @rows(%t: !amx.tile<17x16xf32>) { func.return }
// CHECK: expected 1 to 16 rows, which a tile has, got 17

// -----

func.func @row_too_long(%t: !amx.tile<16x17xf32>) { func.return }
// CHECK: expected a row of at most 64 bytes, a multiple of 4, got 68

// -----

func.func @half_a_channel(%t: !amx.tile<16x5xbf16>) { func.return }
// CHECK: expected a row of at most 64 bytes, a multiple of 4, got 10

// -----

func.func @element(%t: !amx.tile<4x4xf64>) { func.return }
// CHECK: expected elements of f32, f16, bf16, i32 or i8, which tiles hold, got f64

// -----

func.func @rank(%t: !amx.tile<4xf32>) { func.return }
// CHECK: expected a tile of rank 2, got 1

// -----

func.func @memory_rank(%m: memref<8xf32>, %i: index) {
  %t = amx.tile_load %m[%i] : memref<8xf32> into !amx.tile<4x4xf32>
  func.return
}
// CHECK: expected a memref of rank 2 or more, or a stride, got memref<8xf32>

// -----

func.func @indices(%m: memref<8x8xf32>, %i: index) {
  %t = amx.tile_load %m[%i] : memref<8x8xf32> into !amx.tile<4x4xf32>
  func.return
}
// CHECK: expected 2 indices, one for each dimension of the memref, got 1

// -----

func.func @stride(%m: memref<8x8xf32, strided<[1, 8]>>, %i: index, %t: !amx.tile<4x4xf32>) {
  amx.tile_store %m[%i, %i], %t : memref<8x8xf32, strided<[1, 8]>>, !amx.tile<4x4xf32>
  func.return
}
// CHECK: expected a memref with a stride of 1 in its last dimension, got memref<8x8xf32, strided<[1, 8]>>

// -----

func.func @memory_element(%m: memref<8x8xi32>, %i: index) {
  %t = amx.tile_load %m[%i, %i] : memref<8x8xi32> into !amx.tile<4x4xf32>
  func.return
}
// CHECK: expected a memref of f32, the element type of the tile, got i32

// -----

func.func @two_formats(%a: !amx.tile<4x8xbf16>, %b: !amx.tile<4x16xf16>, %c: !amx.tile<4x8xf32>) {
  %d = amx.tile_mulf %a, %b, %c : !amx.tile<4x8xbf16>, !amx.tile<4x16xf16>, !amx.tile<4x8xf32>
  func.return
}
// CHECK: expected bf16 * bf16 + f32 or f16 * f16 + f32, got bf16 * f16 + f32

// -----

func.func @float_sum(%a: !amx.tile<4x8xi8>, %b: !amx.tile<2x32xi8>, %c: !amx.tile<4x8xf32>) {
  %d = amx.tile_muli %a, %b, %c : !amx.tile<4x8xi8>, !amx.tile<2x32xi8>, !amx.tile<4x8xf32>
  func.return
}
// CHECK: expected i8 * i8 + i32, got i8 * i8 + f32

// -----

func.func @m(%a: !amx.tile<3x8xbf16>, %b: !amx.tile<4x16xbf16>, %c: !amx.tile<4x8xf32>) {
  %d = amx.tile_mulf %a, %b, %c : !amx.tile<3x8xbf16>, !amx.tile<4x16xbf16>, !amx.tile<4x8xf32>
  func.return
}
// CHECK: expected lhs to have M = 4 rows, as acc has, got 3

// -----

func.func @k(%a: !amx.tile<4x8xbf16>, %b: !amx.tile<5x16xbf16>, %c: !amx.tile<4x8xf32>) {
  %d = amx.tile_mulf %a, %b, %c : !amx.tile<4x8xbf16>, !amx.tile<5x16xbf16>, !amx.tile<4x8xf32>
  func.return
}
// CHECK: expected rhs to be K/2 x N*2 = 4 x 16, as K = 8 and N = 8, got 5 x 16
