// REQUIRES: ocloc, spirv-val, spirv-as
// RUN: coopc-isa %s --device bmg,pvc --registers 256 | filecheck %s
// RUN: coopc-isa %s --json | filecheck %s --check-prefix=JSON
// RUN: coopc-isa %s --asm | filecheck %s --check-prefix=ASM

// A row for the innermost loop, if there is one, and one for the kernel; for each device.

// CHECK:      device  kernel  of      dpas  dpasw  load2d  prefetch2d  store2d  send  mov
// CHECK-NEXT: bmg     once    kernel     1      0       2           0        0
// CHECK-NEXT: bmg     steps   loop       1      0       2           0        0
// CHECK-NEXT: bmg     steps   kernel     1      0       2           0        0
// CHECK-NEXT: pvc     once    kernel     1      0       2           0        0

// JSON:      "device": "bmg",
// JSON:      "once": {
// JSON:      "resources": {
// JSON-NEXT: "simd": 16,
// JSON:      "whole": {
// JSON:      "dpas": 1,
// JSON:      "kinds": {
// JSON:      "dpas.8x8(16)": 1,
// JSON:      "inner": null

// ASM:      // bmg: once
// ASM:      dpas.8x8 (16|M0)
// ASM:      // bmg: steps

// Text and binary are taken as they are.
// RUN: coopc-opt %s -t 'spirv{device=bmg}' -o %t.spvasm
// RUN: coopc-isa %t.spvasm --clean --expect simd=16 dpas=1 load2d=2 spill=0 calls=0 \
// RUN:   steps:inner.dpas=1 'dpas.8x8(16)=1' 'steps:inner.total<=1000'
// RUN: coopc-opt %s -t 'spirv-binary{device=bmg}' -o %t.spv
// RUN: coopc-isa %t.spv --clean --expect simd=16 dpas=1
// RUN: cat %t.spv | coopc-isa - --device lnl --expect dpas=1

// What a target writes is taken, too, whatever it is called.
// RUN: coopc-isa %s -t 'spirv{device=bmg numeric_ids=true}' --expect dpas=1
// RUN: coopc-isa %s -p canonicalize,cse --expect dpas=1

// RUN: not coopc-isa %s --expect dpas=2 load2d=3 once:inner.dpas=1 'mov<=1' --json \
// RUN:   2>&1 >/dev/null | filecheck %s --check-prefix=DIFFER
// DIFFER:      coopc_isa.mlir: error: bmg: once: expected dpas = 2, got 1
// DIFFER-NEXT: coopc_isa.mlir: error: bmg: once: expected load2d = 3, got 2
// DIFFER-NEXT: coopc_isa.mlir: error: bmg: once: expected inner.dpas = 1, got no loop
// DIFFER-NEXT: coopc_isa.mlir: error: bmg: once: expected mov <= 1, got
// DIFFER-NEXT: coopc_isa.mlir: error: bmg: steps: expected dpas = 2, got 1

func.func @once(%p: memref<f16>, %w: i32, %h: i32, %c: memref<?xf32, strided<[1]>>,
                %at: index) attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %zero = arith.constant 0 : i32
  %acc = arith.constant dense<0.0> : vector<8xf32>
  %a = xe.block_load_2d %p[%zero, %zero] surface(%w, %h, %w) block <16, 8x16x1>
    : memref<f16> -> vector<8xi16>
  %b = xe.block_load_2d %p[%zero, %zero] surface(%w, %h, %w)
    block <16, 16x16x1, transform> : memref<f16> -> vector<8xi32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %acc
    : vector<8xi16>, vector<8xi32>, vector<8xf32>
  simt.block_write %d, %c[%at] : vector<8xf32>, memref<?xf32, strided<[1]>>
  func.return
}

func.func @steps(%p: memref<f16>, %w: i32, %h: i32, %c: memref<?xf32, strided<[1]>>,
                 %at: index) attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 16 : i32
  %acc = arith.constant dense<0.0> : vector<8xf32>
  %sum = scf.for %k = %zero to %h step %step iter_args(%s = %acc)
      -> (vector<8xf32>) : i32 {
    %a = xe.block_load_2d %p[%k, %zero] surface(%w, %h, %w) block <16, 8x16x1>
      : memref<f16> -> vector<8xi16>
    %b = xe.block_load_2d %p[%zero, %k] surface(%w, %h, %w)
      block <16, 16x16x1, transform> : memref<f16> -> vector<8xi32>
    %d = xe.dpas f16 x f16 repeat 8 %a, %b, %s
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    scf.yield %d : vector<8xf32>
  }
  simt.block_write %sum, %c[%at] : vector<8xf32>, memref<?xf32, strided<[1]>>
  func.return
}
