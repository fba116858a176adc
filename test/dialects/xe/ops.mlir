// RUN: %roundtrip

// What a lane does with blocks of memory, with payloads, and with the matrix engine.

// CHECK-LABEL: func.func @blocks(
func.func @blocks(%p: memref<f16>, %m: memref<?x64xf32>, %x: i32, %y: i32, %w: i32,
                  %h: i32, %pitch: i32) {
  // One result for each piece: a run of the slots of each lane.
  // CHECK:      %a0, %a1 = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch)
  // CHECK-SAME:   block <16, 16x16x1> : memref<f16> -> vector<8xi16>, vector<8xi16>
  %a0, %a1 = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 16x16x1>
    : memref<f16> -> vector<8xi16>, vector<8xi16>
  // CHECK-NEXT: %b = xe.block_load_2d
  // CHECK-SAME:   block <16, 16x16x1, transform> cache <l1 = streaming, l3 = default> :
  %b = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch)
    block <16, 16x16x1, transform> cache <l1 = streaming, l3 = default>
    : memref<f16> -> vector<8xi32>
  // CHECK-NEXT: %t = xe.block_load_2d %m
  // CHECK-SAME:   block <32, 16x8x1, transpose> {note} : memref<?x64xf32> ->
  %t = xe.block_load_2d %m[%x, %y] surface(%w, %h, %pitch)
    block <32, 16x8x1, transpose> {note} : memref<?x64xf32> -> vector<8xi32>
  // A plain mode may be written, and is not printed.
  // CHECK-NEXT: xe.block_prefetch_2d
  // CHECK-SAME:   block <16, 32x16x2> cache <l1 = cached, l3 = uncached> : memref<f16>
  xe.block_prefetch_2d %p[%x, %y] surface(%w, %h, %pitch)
    block <16, 32x16x2, plain> cache <l1 = cached, l3 = uncached> : memref<f16>
  // CHECK-NEXT: xe.block_store_2d %b into %m[%x, %y] surface(%w, %h, %pitch)
  // CHECK-SAME:   block <32, 8x16x1> cache <l1 = write_through, l3 = write_back> :
  // CHECK-SAME:   vector<8xi32> into memref<?x64xf32>
  xe.block_store_2d %b into %m[%x, %y] surface(%w, %h, %pitch)
    block <32, 8x16x1> cache <l1 = write_through, l3 = write_back>
    : vector<8xi32> into memref<?x64xf32>
  // CHECK-NEXT: xe.block_store_2d %a0, %a1 into
  xe.block_store_2d %a0, %a1 into %p[%x, %y] surface(%w, %h, %pitch)
    block <16, 8x32x1> {note} : vector<8xi16>, vector<8xi16> into memref<f16>
  func.return
}

// CHECK-LABEL: func.func @payloads(
func.func @payloads(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32) {
  // CHECK:      %t = xe.payload_create %p[%x, %y] surface(%w, %h, %pitch) :
  // CHECK-SAME:   memref<f16> -> !xe.payload<32, 16x8x1, transpose>
  %t = xe.payload_create %p[%x, %y] surface(%w, %h, %pitch)
    : memref<f16> -> !xe.payload<32, 16x8x1, transpose>
  // Two that are made alike are two: each is set for itself.
  // CHECK-NEXT: %u = xe.payload_create
  %u = xe.payload_create %p[%x, %y] surface(%w, %h, %pitch) {note}
    : memref<f16> -> !xe.payload<16, 32x16x2>
  // CHECK-NEXT: xe.payload_set_x %t, %x : !xe.payload<32, 16x8x1, transpose>
  xe.payload_set_x %t, %x : !xe.payload<32, 16x8x1, transpose>
  // CHECK-NEXT: xe.payload_set_y %u, %y {note} : !xe.payload<16, 32x16x2>
  xe.payload_set_y %u, %y {note} : !xe.payload<16, 32x16x2>
  // CHECK-NEXT: xe.payload_add_x %t, %y {note} : !xe.payload<32, 16x8x1, transpose>
  xe.payload_add_x %t, %y {note} : !xe.payload<32, 16x8x1, transpose>
  // CHECK-NEXT: xe.payload_add_y %u, %x : !xe.payload<16, 32x16x2>
  xe.payload_add_y %u, %x : !xe.payload<16, 32x16x2>
  // CHECK-NEXT: %v = xe.payload_load %t[8, -16]
  // CHECK-SAME:   cache <l1 = cached, l3 = cached> :
  // CHECK-SAME:   !xe.payload<32, 16x8x1, transpose> -> vector<8xi32>
  %v = xe.payload_load %t[8, -16] cache <l1 = cached, l3 = cached>
    : !xe.payload<32, 16x8x1, transpose> -> vector<8xi32>
  // CHECK-NEXT: %v0, %v1 = xe.payload_load %t[0, 0] {note} :
  %v0, %v1 = xe.payload_load %t[0, 0] {note}
    : !xe.payload<32, 16x8x1, transpose> -> vector<4xi32>, vector<4xi32>
  // CHECK-NEXT: xe.payload_prefetch %u[0, 32] : !xe.payload<16, 32x16x2>
  xe.payload_prefetch %u[0, 32] : !xe.payload<16, 32x16x2>
  // CHECK-NEXT: xe.payload_prefetch %u[0, 0] cache <l1 = uncached, l3 = cached> {note}
  xe.payload_prefetch %u[0, 0] cache <l1 = uncached, l3 = cached> {note}
    : !xe.payload<16, 32x16x2>
  func.return
}

// Channels in a row need no surface.

// CHECK-LABEL: func.func @channels(
func.func @channels(%p: memref<f16>, %m: memref<?x16xi8>, %at: i32, %inside: i1) {
  // CHECK-NEXT: %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
  %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
  // CHECK-NEXT: %b = xe.block_load %m[%at] {note} : memref<?x16xi8> -> vector<1xi32>
  %b = xe.block_load %m[%at] {note} : memref<?x16xi8> -> vector<1xi32>
  // CHECK-NEXT: %c = xe.block_load %p[%at] where %inside : memref<f16> -> vector<2xi16>
  %c = xe.block_load %p[%at] where %inside : memref<f16> -> vector<2xi16>
  func.return
}

// The share of a lane, of 16, of 32 and of 8.

// CHECK-LABEL: func.func @multiplications(
func.func @multiplications(%a: vector<8xi16>, %b: vector<8xi32>, %c: vector<8xf32>,
                           %half_a: vector<4xi16>, %half_b: vector<4xi32>,
                           %half_c: vector<4xi32>, %one_a: vector<1xi16>,
                           %one_c: vector<1xbf16>, %a4: vector<4xi32>) {
  // CHECK:      %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c :
  // CHECK-SAME:   vector<8xi16>, vector<8xi32>, vector<8xf32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<8xi16>, vector<8xi32>, vector<8xf32>
  // CHECK-NEXT: %e = xe.dpas s8 x u8 repeat 8 %half_a, %half_b, %half_c {note} :
  // CHECK-SAME:   vector<4xi16>, vector<4xi32>, vector<4xi32>
  %e = xe.dpas s8 x u8 repeat 8 %half_a, %half_b, %half_c {note}
    : vector<4xi16>, vector<4xi32>, vector<4xi32>
  // CHECK-NEXT: %f = xe.dpas bf16 x bf16 repeat 1
  %f = xe.dpas bf16 x bf16 repeat 1 %one_a, %b, %one_c
    : vector<1xi16>, vector<8xi32>, vector<1xbf16>
  // CHECK-NEXT: %g = xe.dpas tf32 x tf32 repeat 8 %a4, %b, %c
  %g = xe.dpas tf32 x tf32 repeat 8 %a4, %b, %c
    : vector<4xi32>, vector<8xi32>, vector<8xf32>
  // CHECK-NEXT: %i = xe.dpas bf16 x bf16 repeat 8 %b, %b, %c
  %i = xe.dpas bf16 x bf16 repeat 8 %b, %b, %c
    : vector<8xi32>, vector<8xi32>, vector<8xf32>
  // CHECK-NEXT: %s = xe.split_dpas f16 x f16 repeat 8 %a4, %b, %c {note} :
  // CHECK-SAME:   vector<4xi32>, vector<8xi32>, vector<8xf32>
  %s = xe.split_dpas f16 x f16 repeat 8 %a4, %b, %c {note}
    : vector<4xi32>, vector<8xi32>, vector<8xf32>
  func.return
}

// CHECK-LABEL: func.func @attributes(
// CHECK-SAME: a = #xe.block<8, 32x16x4, transform>
// CHECK-SAME: b = #xe.cache<l1 = invalidate_after_read, l3 = const_cached>
// CHECK-SAME: c = #xe<precision u4>
// CHECK-SAME: d = !xe.payload<8, 1x64x1>
func.func @attributes() attributes {
  a = #xe.block<8, 32x16x4, transform>,
  b = #xe.cache<l1 = invalidate_after_read, l3 = const_cached>,
  c = #xe<precision u4>,
  d = !xe.payload<8, 1x64x1>
} {
  func.return
}
