// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Blocks: what is one is said where it is written.

"test.op"() {a = #xe.block<16, 16x16>} : () -> ()
// CHECK: :27: error: expected height x width x count, got 2 sizes

// -----

"test.op"() {a = #xe.block<12, 16x16x1>} : () -> ()
// CHECK: error: expected elements of (8, 16, 32, 64) bits, got 12

// -----

"test.op"() {a = #xe.block<16, 7x16x1>} : () -> ()
// CHECK: error: expected a height that is a power of two, got 7

// -----

"test.op"() {a = #xe.block<16, 8x16x1, rotate>} : () -> ()
// CHECK: error: expected plain or transform or transpose

// -----

"test.op"() {a = #xe.block<32, 8x16x1, transform>} : () -> ()
// CHECK: error: expected 8-bit elements in rows of 4, or 16-bit ones in rows of 2, which a transform packs, got 8 rows of 32 bits

// -----

"test.op"() : () -> !xe.payload<32, 16x8x2, transpose>
// CHECK: error: expected one block to transpose, got 2

// -----

"test.op"() {a = #xe.cache<l1 = lukewarm, l3 = cached>} : () -> ()
// CHECK: :33: error: expected one of default, uncached, cached

// -----

"test.op"() {a = #xe<precision f8>} : () -> ()
// CHECK: error: expected one of s8, u8, s4, u4, f16, bf16, tf32

// -----

// Pieces: equal vectors of integers that the block fills.

%p, %x, %y, %w, %h, %pitch = "test.op"() : () -> (memref<f16>, i32, i32, i32, i32, i32)
%v = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 8x16x1>
  : memref<f16> -> vector<8xf16>
// CHECK: xe.block_load_2d: expected pieces that are vectors of at most 16 integers, got vector<8xf16>

// -----

%p, %x, %y, %w, %h, %pitch = "test.op"() : () -> (memref<f16>, i32, i32, i32, i32, i32)
%v = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 32x16x1>
  : memref<f16> -> vector<32xi16>
// CHECK: xe.block_load_2d: expected pieces that are vectors of at most 16 integers, got vector<32xi16>

// -----

%p, %x, %y, %w, %h, %pitch = "test.op"() : () -> (memref<f16>, i32, i32, i32, i32, i32)
%v, %u = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 8x16x1>
  : memref<f16> -> vector<4xi16>, vector<2xi32>
// CHECK: xe.block_load_2d: expected pieces of one type, vector<4xi16>, got vector<2xi32>

// -----

%p, %x, %y, %w, %h, %pitch = "test.op"() : () -> (memref<f16>, i32, i32, i32, i32, i32)
%v = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 8x16x1>
  : memref<f16> -> vector<2xi16>
// CHECK: xe.block_load_2d: expected 256 or 128 or 64 bits a lane in slots of at least 16, which (8, 16, 32) lanes get of 16 bits, 8x16x1, got 32 in slots of 16

// -----

%p, %x, %y, %w, %h, %pitch = "test.op"() : () -> (memref<f16>, i32, i32, i32, i32, i32)
%v = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 16x16x1, transform>
  : memref<f16> -> vector<16xi16>
// CHECK: xe.block_load_2d: expected 512 or 256 or 128 bits a lane in slots of at least 32, which (8, 16, 32) lanes get of 16 bits, 16x16x1, transform, got 256 in slots of 16

// -----

// Only a plain block is stored or prefetched, and a store asks other things of a cache.

%p, %x, %y, %w, %h, %pitch = "test.op"() : () -> (memref<f32>, i32, i32, i32, i32, i32)
%v = "test.op"() : () -> vector<8xi32>
xe.block_store_2d %v into %p[%x, %y] surface(%w, %h, %pitch) block <32, 8x8x2>
  : vector<8xi32> into memref<f32>
// CHECK: xe.block_store_2d: expected one plain block, the only kind that can be stored, got 32 bits, 8x8x2

// -----

%p, %x, %y, %w, %h, %pitch = "test.op"() : () -> (memref<f32>, i32, i32, i32, i32, i32)
%v = "test.op"() : () -> vector<8xi32>
xe.block_store_2d %v into %p[%x, %y] surface(%w, %h, %pitch)
  block <32, 8x16x1> cache <l1 = cached, l3 = cached> : vector<8xi32> into memref<f32>
// CHECK: xe.block_store_2d: expected one of default, uncached, write_through, write_back, streaming, which xe.block_store_2d can ask of a cache, got cached

// -----

%p, %x, %y, %w, %h, %pitch = "test.op"() : () -> (memref<f32>, i32, i32, i32, i32, i32)
xe.block_prefetch_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 8x16x1, transform>
  : memref<f32>
// CHECK: xe.block_prefetch_2d: expected a plain block to prefetch, got 16 bits, 8x16x1, transform

// -----

%p, %x, %y, %w, %h, %pitch = "test.op"() : () -> (memref<f32>, i32, i32, i32, i32, i32)
xe.block_prefetch_2d %p[%x, %y] surface(%w, %h, %pitch)
  block <16, 8x16x1> cache <l1 = default, l3 = write_back> : memref<f32>
// CHECK: xe.block_prefetch_2d: expected one of default, uncached, cached, streaming, invalidate_after_read, const_cached, which xe.block_prefetch_2d can ask of a cache, got write_back

// -----

// Payloads load what their blocks are.

%p = "test.op"() : () -> !xe.payload<32, 16x8x1, transpose>
%v = xe.payload_load %p[0, 0] : !xe.payload<32, 16x8x1, transpose> -> vector<2xi32>
// CHECK: xe.payload_load: expected 512 or 256 or 128 bits a lane in slots of at least 32, which (8, 16, 32) lanes get of 32 bits, 16x8x1, transpose, got 64 in slots of 32

// -----

%p = "test.op"() : () -> !xe.payload<32, 16x8x1, transpose>
%v = xe.payload_load %p[0, 0] cache <l1 = write_back, l3 = default>
  : !xe.payload<32, 16x8x1, transpose> -> vector<8xi32>
// CHECK: xe.payload_load: expected one of default, uncached, cached, streaming, invalidate_after_read, const_cached, which xe.payload_load can ask of a cache, got write_back

// -----

%p = "test.op"() : () -> !xe.payload<32, 16x8x1, transpose>
xe.payload_prefetch %p[0, 0] : !xe.payload<32, 16x8x1, transpose>
// CHECK: xe.payload_prefetch: expected a plain block to prefetch, got 32 bits, 16x8x1, transpose

// -----

%p, %x = "test.op"() : () -> (!xe.payload<16, 32x16x2>, index)
"xe.payload_set_x"(%p, %x) : (!xe.payload<16, 32x16x2>, index) -> ()
// CHECK: operand 'position' at position 1 does not verify

// -----

// A message gives each lane 1, 2, 4 or 8 slots, which are bits.

%p, %at = "test.op"() : () -> (memref<f16>, i32)
%a = xe.block_load %p[%at] : memref<f16> -> vector<3xi32>
// CHECK: xe.block_load: expected a vector of 1, 2, 4 or 8 integers of 8, 16 or 32 bits, which block loads give a lane, got vector<3xi32>

// -----

%p, %at = "test.op"() : () -> (memref<f16>, i32)
%a = xe.block_load %p[%at] : memref<f16> -> vector<8xf16>
// CHECK: xe.block_load: expected a vector of 1, 2, 4 or 8 integers of 8, 16 or 32 bits, which block loads give a lane, got vector<8xf16>
