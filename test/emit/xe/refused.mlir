// RUN: coopc-opt %s -t 'spirv{device=bmg}' --verify-diagnostics --split-input-file | filecheck %s

// Shapes that the device lacks: what it has instead is said.

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  xe.block_prefetch_2d %p[%x, %y] surface(%w, %h, %w) block <16, 64x16x1> : memref<f16>
  func.return
}
// CHECK: xe.block_prefetch_2d: expected 1 or 2 blocks of 1, 2, 4, 8, 16 or 32 rows, as bmg can prefetch, got 16 bits, 64x16x1

// -----

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %v = arith.constant dense<0> : vector<16xi32>
  xe.block_store_2d %v into %p[%x, %y] surface(%w, %h, %w) block <32, 16x16x1>
    : vector<16xi32> into memref<f16>
  func.return
}
// CHECK: xe.block_store_2d: expected 1 block of 1, 2, 4 or 8 rows, as bmg can store, got 32 bits, 16x16x1

// -----

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %v = xe.block_load_2d %p[%x, %y] surface(%w, %h, %w) block <16, 8x16x1, transpose>
    : memref<f16> -> vector<8xi16>
  func.return
}
// CHECK: xe.block_load_2d: expected elements of 32 or 64 bits, as bmg can load and transpose, got 16 bits, 8x16x1, transpose

// -----

// A block fills the slots of all lanes.

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %v = xe.block_load_2d %p[%x, %y] surface(%w, %h, %w) block <32, 1x8x1>
    : memref<f16> -> vector<1xi32>
  func.return
}
// CHECK: xe.block_load_2d: expected a block of a multiple of 64 bytes, a slot of each of 16 lanes, got 32 of 32 bits, 1x8x1

// -----

// The slots are as wide as the compiler makes them: any other width is another arrangement.

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %v0, %v1 = xe.block_load_2d %p[%x, %y] surface(%w, %h, %w) block <16, 8x32x1>
    : memref<f16> -> vector<8xi16>, vector<8xi16>
  func.return
}
// CHECK: xe.block_load_2d: expected pieces of i32, in which 16 lanes get 16 bits, 8x32x1, got i16: the elements of a slot would be those of other lanes

// -----

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 32 : i32} {
  %v = xe.block_load_2d %p[%x, %y] surface(%w, %h, %w) block <16, 8x16x1>
    : memref<f16> -> vector<8xi16>
  func.return
}
// CHECK: xe.block_load_2d: expected 4 slots of 16 bits, which each of 32 lanes gets of 16 bits, 8x16x1, got 8

// -----

// The number of lanes is fixed, and one that the device has.

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel} {
  xe.block_prefetch_2d %p[%x, %y] surface(%w, %h, %w) block <16, 8x16x1> : memref<f16>
  func.return
}
// CHECK: xe.block_prefetch_2d: expected simt.subgroup_size on the kernel: without it the compiler chooses a size, and the lanes hold other elements

// -----

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  xe.block_prefetch_2d %p[%x, %y] surface(%w, %h, %w) block <16, 8x16x1> : memref<f16>
  func.return
}
// CHECK: func.func: expected a subgroup size of 16 or 32, which bmg has, got 8

// -----

// Surfaces are in global memory.

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %m = memref.alloca() : memref<64x64xf16, #simt.memory<workgroup>>
  xe.block_prefetch_2d %m[%x, %y] surface(%w, %h, %w) block <16, 8x16x1>
    : memref<64x64xf16, #simt.memory<workgroup>>
  func.return
}
// CHECK: xe.block_prefetch_2d: expected a surface in global memory, which block messages reach, got memref<64x64xf16, #simt.memory<workgroup>>

// -----

// Cache controls that the compiler would drop with a warning.

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  xe.block_prefetch_2d %p[%x, %y] surface(%w, %h, %w) block <16, 8x16x1>
    cache <l1 = streaming, l3 = streaming> : memref<f16>
  func.return
}
// CHECK: xe.block_prefetch_2d: expected l3 = uncached or cached, which bmg has with l1 = streaming, got streaming

// -----

// A payload's load returns one vector, of at most 16 components, and its builtins have no
// number for what Xe2 added to the controls.

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %t = xe.payload_create %p[%x, %y] surface(%w, %h, %w)
    : memref<f16> -> !xe.payload<16, 16x16x2>
  %v0, %v1 = xe.payload_load %t[0, 0]
    : !xe.payload<16, 16x16x2> -> vector<16xi16>, vector<16xi16>
  func.return
}
// CHECK: xe.payload_load: expected at most 16 slots a lane of a payload's load, which returns one vector, got 32

// -----

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %t = xe.payload_create %p[%x, %y] surface(%w, %h, %w)
    : memref<f16> -> !xe.payload<16, 16x16x2>
  xe.payload_prefetch %t[0, 0] cache <l1 = cached, l3 = const_cached>
    : !xe.payload<16, 16x16x2>
  func.return
}
// CHECK: xe.payload_prefetch: expected controls for which the builtins of payloads have a number, got l1 = cached, l3 = const_cached

// -----

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %t = xe.payload_create %p[%x, %y] surface(%w, %h, %w)
    : memref<f16> -> !xe.payload<16, 16x32x2>
  func.return
}
// CHECK: xe.payload_create: expected 1 block of 1, 2, 4, 8, 16 or 32 rows, as bmg can load, got 16 bits, 16x32x2

// -----

// The operands of DPAS are those of the lanes that there are.

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32,
    %n: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %a = arith.constant dense<0> : vector<8xi32>
  %b = arith.constant dense<0> : vector<8xi32>
  %c = arith.constant dense<0.0> : vector<8xf32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<8xi32>, vector<8xi32>, vector<8xf32>
  func.return
}
// CHECK: xe.dpas: expected vector<8xi16>, vector<8xi32> and 8 of c, a lane's share of 16 lanes, got vector<8xi32>, vector<8xi32> and 8

// -----

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 32 : i32} {
  %a = arith.constant dense<0> : vector<1xi16>
  %b = arith.constant dense<0> : vector<8xi32>
  %c = arith.constant dense<0.0> : vector<1xf32>
  %d = xe.dpas f16 x f16 repeat 1 %a, %b, %c
    : vector<1xi16>, vector<8xi32>, vector<1xf32>
  func.return
}
// CHECK: xe.dpas: expected a repeat count of at least 2, which gives each of 32 lanes an element of c, got 1
