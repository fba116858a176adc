// RUN: coopc-opt %s -p canonicalize | filecheck %s --check-prefix=DEAD
// RUN: coopc-opt %s -p cse | filecheck %s --check-prefix=SAME
// RUN: coopc-opt %s -p licm,control-flow-hoist | filecheck %s --check-prefix=MOVE

// What vanishes when nothing uses it, what is done once for twice, and what moves out
// of loops and branches: nothing that lanes do together.

// A prefetch has no result, and stays; so does whatever writes a payload.

// DEAD-LABEL: func.func @unused(
// DEAD-NEXT:  %t = xe.payload_create
// DEAD-NEXT:  xe.payload_set_x
// DEAD-NEXT:  xe.payload_set_y
// DEAD-NEXT:  xe.payload_add_x
// DEAD-NEXT:  xe.payload_prefetch
// DEAD-NEXT:  xe.block_prefetch_2d
// DEAD-NEXT:  xe.block_store_2d
// DEAD-NEXT:  func.return
func.func @unused(%p: memref<f16>, %x: i32, %w: i32, %v: vector<8xi16>,
                  %b: vector<8xi32>, %c: vector<8xf32>) {
  %t = xe.payload_create %p[%x, %x] surface(%w, %w, %w)
    : memref<f16> -> !xe.payload<16, 8x16x1>
  xe.payload_set_x %t, %x : !xe.payload<16, 8x16x1>
  xe.payload_set_y %t, %x : !xe.payload<16, 8x16x1>
  xe.payload_add_x %t, %x : !xe.payload<16, 8x16x1>
  xe.payload_prefetch %t[0, 0] : !xe.payload<16, 8x16x1>
  xe.block_prefetch_2d %p[%x, %x] surface(%w, %w, %w) block <16, 8x16x1> : memref<f16>
  xe.block_store_2d %v into %p[%x, %x] surface(%w, %w, %w) block <16, 8x16x1>
    : vector<8xi16> into memref<f16>
  %0 = xe.payload_load %t[0, 0] : !xe.payload<16, 8x16x1> -> vector<8xi16>
  %1 = xe.block_load_2d %p[%x, %x] surface(%w, %w, %w) block <16, 8x16x1>
    : memref<f16> -> vector<8xi16>
  %2 = xe.dpas f16 x f16 repeat 8 %v, %b, %c
    : vector<8xi16>, vector<8xi32>, vector<8xf32>
  func.return
}

// Two loads are one unless something was written between them; two payloads are two.

// SAME-LABEL: func.func @twice(
// SAME-NEXT:  %t = xe.payload_create
// SAME-NEXT:  %u = xe.payload_create
// SAME-NEXT:  %a = xe.payload_load %t[0, 0]
// SAME-NEXT:  xe.payload_set_x %t
// SAME-NEXT:  %later = xe.payload_load %t[0, 0]
// SAME-NEXT:  %v = xe.block_load_2d
// SAME-NEXT:  %d = xe.dpas
// SAME-NEXT:  "test.op"(%t, %u, %a, %a, %later, %v, %v, %d, %d)
func.func @twice(%p: memref<f16>, %x: i32, %w: i32, %b: vector<8xi32>,
                 %c: vector<8xf32>) {
  %t = xe.payload_create %p[%x, %x] surface(%w, %w, %w)
    : memref<f16> -> !xe.payload<16, 8x16x1>
  %u = xe.payload_create %p[%x, %x] surface(%w, %w, %w)
    : memref<f16> -> !xe.payload<16, 8x16x1>
  %a = xe.payload_load %t[0, 0] : !xe.payload<16, 8x16x1> -> vector<8xi16>
  %a2 = xe.payload_load %t[0, 0] : !xe.payload<16, 8x16x1> -> vector<8xi16>
  xe.payload_set_x %t, %x : !xe.payload<16, 8x16x1>
  %later = xe.payload_load %t[0, 0] : !xe.payload<16, 8x16x1> -> vector<8xi16>
  %v = xe.block_load_2d %p[%x, %x] surface(%w, %w, %w) block <16, 8x16x1>
    : memref<f16> -> vector<8xi16>
  %v2 = xe.block_load_2d %p[%x, %x] surface(%w, %w, %w) block <16, 8x16x1>
    : memref<f16> -> vector<8xi16>
  %d = xe.dpas f16 x f16 repeat 8 %v, %b, %c
    : vector<8xi16>, vector<8xi32>, vector<8xf32>
  %d2 = xe.dpas f16 x f16 repeat 8 %v2, %b, %c
    : vector<8xi16>, vector<8xi32>, vector<8xf32>
  "test.op"(%t, %u, %a, %a2, %later, %v, %v2, %d, %d2)
    : (!xe.payload<16, 8x16x1>, !xe.payload<16, 8x16x1>, vector<8xi16>, vector<8xi16>,
       vector<8xi16>, vector<8xi16>, vector<8xi16>, vector<8xf32>, vector<8xf32>) -> ()
  func.return
}

// MOVE-LABEL: func.func @in_a_loop(
// MOVE-NEXT:  scf.for
// MOVE-NEXT:  xe.block_load_2d
// MOVE-NEXT:  xe.dpas
// MOVE-NEXT:  test.op
func.func @in_a_loop(%p: memref<f16>, %x: i32, %w: i32, %b: vector<8xi32>,
                     %c: vector<8xf32>, %n: i32) {
  scf.for %i = %x to %n step %w : i32 {
    %a = xe.block_load_2d %p[%x, %x] surface(%w, %w, %w) block <16, 8x16x1>
      : memref<f16> -> vector<8xi16>
    %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    "test.op"(%d) : (vector<8xf32>) -> ()
  }
  func.return
}
