// RUN: %roundtrip

// Tiles: zero, memory with and without a stride, products of floats and of bytes.

// CHECK-LABEL: func.func @memory
func.func @memory(%a: memref<?x?xbf16>, %q: memref<3x4x64xi8, strided<[?, 80, 1]>>,
                  %v: memref<?xf32>, %i: index, %s: index) {
  // CHECK:      %{{.*}} = amx.tile_load %a[%i, %i] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
  %x = amx.tile_load %a[%i, %i] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
  // CHECK-NEXT: %{{.*}} = amx.tile_load %q[%i, %i, %i], %s {note} : memref<3x4x64xi8, strided<[?, 80, 1]>> into !amx.tile<4x64xi8>
  %y = amx.tile_load %q[%i, %i, %i], %s {note} : memref<3x4x64xi8, strided<[?, 80, 1]>> into !amx.tile<4x64xi8>
  // A vector will do, where the stride is given.
  // CHECK-NEXT: %{{.*}} = amx.tile_load %v[%i], %s : memref<?xf32> into !amx.tile<1x1xf32>
  %z = amx.tile_load %v[%i], %s : memref<?xf32> into !amx.tile<1x1xf32>
  // CHECK-NEXT: amx.tile_store %a[%i, %i], %x : memref<?x?xbf16>, !amx.tile<16x32xbf16>
  amx.tile_store %a[%i, %i], %x : memref<?x?xbf16>, !amx.tile<16x32xbf16>
  // CHECK-NEXT: amx.tile_store %v[%i], %z, %s : memref<?xf32>, !amx.tile<1x1xf32>
  amx.tile_store %v[%i], %z, %s : memref<?xf32>, !amx.tile<1x1xf32>
  func.return
}

// CHECK-LABEL: func.func @products
func.func @products(%f: !amx.tile<5x6xf16>, %g: !amx.tile<3x14xf16>,
                    %x: !amx.tile<16x64xi8>, %y: !amx.tile<16x64xi8>) {
  // CHECK:      %c = amx.tile_zero : !amx.tile<5x7xf32>
  %c = amx.tile_zero : !amx.tile<5x7xf32>
  // CHECK-NEXT: %{{.*}} = amx.tile_mulf %f, %g, %c : !amx.tile<5x6xf16>, !amx.tile<3x14xf16>, !amx.tile<5x7xf32>
  %d = amx.tile_mulf %f, %g, %c : !amx.tile<5x6xf16>, !amx.tile<3x14xf16>, !amx.tile<5x7xf32>
  // CHECK-NEXT: %e = amx.tile_zero : !amx.tile<16x16xi32>
  %e = amx.tile_zero : !amx.tile<16x16xi32>
  // CHECK-NEXT: amx.tile_muli %x, %y, %e : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
  %0 = amx.tile_muli %x, %y, %e : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
  // CHECK-NEXT: amx.tile_muli %x zext, %y, %e :
  %1 = amx.tile_muli %x zext, %y, %e : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
  // CHECK-NEXT: amx.tile_muli %x, %y zext, %e :
  %2 = amx.tile_muli %x, %y zext, %e : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
  // CHECK-NEXT: amx.tile_muli %x zext, %y zext, %e :
  %3 = amx.tile_muli %x zext, %y zext, %e : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
  func.return
}
