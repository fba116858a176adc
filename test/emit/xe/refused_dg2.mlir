// RUN: coopc-opt %s -t 'spirv{device=dg2}' --verify-diagnostics --split-input-file | filecheck %s

// DG2 multiplies, eight lanes wide, and has no 2D block messages.

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  xe.block_prefetch_2d %p[%x, %y] surface(%w, %h, %w) block <16, 8x16x1> : memref<f16>
  func.return
}
// CHECK: xe.block_prefetch_2d: dg2 has no 2D block messages

// -----

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %t = xe.payload_create %p[%x, %y] surface(%w, %h, %w)
    : memref<f16> -> !xe.payload<16, 8x16x1>
  func.return
}
// CHECK: xe.payload_create: dg2 has no 2D block messages

// -----

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %a = arith.constant dense<0> : vector<4xi32>
  %b = arith.constant dense<0> : vector<8xi32>
  %c = arith.constant dense<0.0> : vector<8xf32>
  %d = xe.dpas tf32 x tf32 repeat 8 %a, %b, %c
    : vector<4xi32>, vector<8xi32>, vector<8xf32>
  func.return
}
// CHECK: xe.dpas: expected f16, bf16, s8, u8, s4, u4, which dg2 multiplies, got tf32

// -----

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %a = arith.constant dense<0> : vector<8xi16>
  %b = arith.constant dense<0> : vector<8xi32>
  %c = arith.constant dense<0.0> : vector<8xf32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<8xi16>, vector<8xi32>, vector<8xf32>
  func.return
}
// CHECK: xe.dpas: expected a subgroup of 8 lanes, which DPAS of dg2 needs, got 16

// -----

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %a = arith.constant dense<0> : vector<8xi32>
  %b = arith.constant dense<0> : vector<8xi32>
  %c = arith.constant dense<0.0> : vector<8xf16>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<8xi32>, vector<8xi32>, vector<8xf16>
  func.return
}
// CHECK: xe.dpas: expected c of f32, which dg2 accumulates in, got f16

// -----

// Without a size the compiler takes 32 lanes, and multiplies for 8 of them.

func.func @k(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel} {
  %a = arith.constant dense<0> : vector<4xi32>
  %b = arith.constant dense<0> : vector<8xi32>
  %c = arith.constant dense<0.0> : vector<8xf32>
  %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<4xi32>, vector<8xi32>, vector<8xf32>
  func.return
}
// CHECK: xe.split_dpas: expected simt.subgroup_size on the kernel: without it the compiler chooses a size, and the lanes hold other elements

// -----

func.func @k(%p: memref<f16>, %x: i32) attributes {simt.kernel} {
  %a = xe.block_load %p[%x] : memref<f16> -> vector<8xi32>
  func.return
}
// CHECK: xe.block_load: expected simt.subgroup_size on the kernel

// -----

func.func @k(%x: i32) attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %p = memref.alloca() : memref<64xf16, #simt.memory<workgroup>>
  %a = xe.block_load %p[%x] : memref<64xf16, #simt.memory<workgroup>> -> vector<8xi32>
  func.return
}
// CHECK: xe.block_load: expected a surface in global memory, which block messages reach
