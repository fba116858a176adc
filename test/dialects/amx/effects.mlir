// RUN: coopc-opt %s -p cse,canonicalize | filecheck %s

// What an optimiser may do with tiles.

// Each accumulator has a register of its own; equal products and loads are one, and what
// nobody needs vanishes.
// CHECK-LABEL: func.func @merged
// CHECK-COUNT-2: amx.tile_zero
// CHECK-COUNT-1: amx.tile_load
// CHECK:         amx.tile_mulf %x, %x, %c
// CHECK-NEXT:    amx.tile_mulf %x, %x, %d
// CHECK-NOT:     amx.tile_mulf
// CHECK:         func.return
func.func @merged(%m: memref<?x?xbf16>, %o: memref<?x?xf32>, %i: index) {
  %c = amx.tile_zero : !amx.tile<16x16xf32>
  %d = amx.tile_zero : !amx.tile<16x16xf32>
  %x = amx.tile_load %m[%i, %i] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
  %y = amx.tile_load %m[%i, %i] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
  %p = amx.tile_mulf %x, %y, %c : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  %q = amx.tile_mulf %y, %x, %d : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  %r = amx.tile_mulf %x, %x, %c : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  %s = amx.tile_mulf %x, %x, %q : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  amx.tile_store %o[%i, %i], %p : memref<?x?xf32>, !amx.tile<16x16xf32>
  amx.tile_store %o[%i, %i], %q : memref<?x?xf32>, !amx.tile<16x16xf32>
  amx.tile_store %o[%i, %i], %r : memref<?x?xf32>, !amx.tile<16x16xf32>
  func.return
}
