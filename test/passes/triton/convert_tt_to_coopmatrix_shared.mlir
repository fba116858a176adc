// RUN: coopc-opt %s -p "convert-tt-to-coopmatrix{rounds=true shared=true device=lavapipe}" --split-input-file 2> %t | filecheck %s
// RUN: filecheck %s --check-prefix REMARK --input-file %t

// Four subgroups share 32 x 32 sums: each has 16 x 16 of them, in two parts. Tiles of A and
// B go through work-group memory; where a tile is inside of them and rows are aligned,
// by vectors, else element by element.

// CHECK-LABEL: func.func @shared
// CHECK-SAME: simt.work_group_size = array<i32: 32>
// CHECK: %a_tiles = memref.alloca() : memref<32x5x
// CHECK: %b_tiles = memref.alloca()
// CHECK: scf.if
// CHECK: vector.load
// CHECK: simt.barrier workgroup memory = <workgroup>
// CHECK: coopmatrix.load
// CHECK: coopmatrix.mul_add
// CHECK: vector.maskedload
// CHECK: %sums = memref.alloca() : memref<4x16x2xvector<4xi32>, #simt.memory<workgroup>>
// CHECK-COUNT-2: coopmatrix.store
// CHECK-NOT: coopmatrix.store
// REMARK-NOT: @shared
tt.func @shared(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %r: !tt.ptr<f32>, %n: i32, %pitch: i64) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %eight = arith.constant 8 : i32
  %unit = arith.constant 1 : i64
  %init = arith.constant dense<0.0> : tensor<32x32xf32>
  %a = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <f16>, <32x8xf16>
  %b = tt.make_tensor_descriptor %q, [%n, %n], [%pitch, %unit] : <f16>, <8x32xf16>
  %d = tt.make_tensor_descriptor %r, [%n, %n], [%pitch, %unit] : <f32>, <32x32xf32>
  %sum = scf.for %k = %zero to %n step %eight iter_args(%acc = %init) -> (tensor<32x32xf32>) : i32 {
    %x = tt.descriptor_load %a[%zero, %k] : !tt.tensordesc<32x8xf16> -> tensor<32x8xf16>
    %y = tt.descriptor_load %b[%k, %zero] : !tt.tensordesc<8x32xf16> -> tensor<8x32xf16>
    %next = tt.dot %x, %y, %acc : tensor<32x8xf16> * tensor<8x32xf16> -> tensor<32x32xf32>
    scf.yield %next : tensor<32x32xf32>
  }
  %twice = arith.addf %sum, %sum : tensor<32x32xf32>
  tt.descriptor_store %d[%zero, %zero], %twice : !tt.tensordesc<32x32xf32>, tensor<32x32xf32>
  tt.return
}

// -----

// Every other block of K: each of two subgroups has rows of the sums.

// CHECK-LABEL: func.func @apart
// CHECK-SAME: simt.work_group_size = array<i32: 16>
// CHECK: scf.for
// CHECK: coopmatrix.load %{{.*}} : memref<?x?xf16, strided<[?, 1], offset: ?>> -> !coopmatrix.matrix<16x8xf16, a>
// REMARK: remark: tt.func: 2 subgroups compute a part each: a loop along K has no constant steps
tt.func @apart(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %r: !tt.ptr<f32>, %n: i32, %pitch: i64) {
  %zero = arith.constant 0 : i32
  %sixteen = arith.constant 16 : i32
  %unit = arith.constant 1 : i64
  %init = arith.constant dense<0.0> : tensor<32x32xf32>
  %a = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <f16>, <32x8xf16>
  %b = tt.make_tensor_descriptor %q, [%n, %n], [%pitch, %unit] : <f16>, <8x32xf16>
  %d = tt.make_tensor_descriptor %r, [%n, %n], [%pitch, %unit] : <f32>, <32x32xf32>
  %sum = scf.for %k = %zero to %n step %sixteen iter_args(%acc = %init) -> (tensor<32x32xf32>) : i32 {
    %x = tt.descriptor_load %a[%zero, %k] : !tt.tensordesc<32x8xf16> -> tensor<32x8xf16>
    %y = tt.descriptor_load %b[%k, %zero] : !tt.tensordesc<8x32xf16> -> tensor<8x32xf16>
    %next = tt.dot %x, %y, %acc : tensor<32x8xf16> * tensor<8x32xf16> -> tensor<32x32xf32>
    scf.yield %next : tensor<32x32xf32>
  }
  tt.descriptor_store %d[%zero, %zero], %sum : !tt.tensordesc<32x32xf32>, tensor<32x32xf32>
  tt.return
}

// -----

// The memory of A is another one each time.

// CHECK-LABEL: func.func @moved
// CHECK-SAME: simt.work_group_size = array<i32: 16>
// REMARK: remark: tt.func: 2 subgroups compute a part each: blocks of operands are not consecutive along K
tt.func @moved(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %r: !tt.ptr<f32>, %n: i32, %pitch: i64, %list: !tt.ptr<i64>) {
  %zero = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  %unit = arith.constant 1 : i64
  %init = arith.constant dense<0.0> : tensor<32x32xf32>
  %b = tt.make_tensor_descriptor %q, [%n, %n], [%pitch, %unit] : <f16>, <8x32xf16>
  %d = tt.make_tensor_descriptor %r, [%n, %n], [%pitch, %unit] : <f32>, <32x32xf32>
  %sum = scf.for %k = %zero to %n step %eight iter_args(%acc = %init) -> (tensor<32x32xf32>) : i32 {
    %place = tt.addptr %list, %k : !tt.ptr<i64>, i32
    %offset = tt.load %place : !tt.ptr<i64>
    %other = tt.addptr %p, %offset : !tt.ptr<f16>, i64
    %a = tt.make_tensor_descriptor %other, [%n, %n], [%pitch, %unit] : <f16>, <32x8xf16>
    %x = tt.descriptor_load %a[%zero, %k] : !tt.tensordesc<32x8xf16> -> tensor<32x8xf16>
    %y = tt.descriptor_load %b[%k, %zero] : !tt.tensordesc<8x32xf16> -> tensor<8x32xf16>
    %next = tt.dot %x, %y, %acc : tensor<32x8xf16> * tensor<8x32xf16> -> tensor<32x32xf32>
    scf.yield %next : tensor<32x32xf32>
  }
  tt.descriptor_store %d[%zero, %zero], %sum : !tt.tensordesc<32x32xf32>, tensor<32x32xf32>
  tt.return
}

// -----

// Only one subgroup may do an update that others see.

// CHECK-LABEL: func.func @counted
// CHECK-SAME: simt.work_group_size = array<i32: 8>
// REMARK: remark: tt.func: one subgroup runs a program: tt.atomic_rmw does not use accumulators
tt.func @counted(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %r: !tt.ptr<f32>, %n: i32, %pitch: i64, %count: !tt.ptr<i32>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %true = arith.constant true
  %eight = arith.constant 8 : i32
  %unit = arith.constant 1 : i64
  %init = arith.constant dense<0.0> : tensor<32x32xf32>
  %a = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <f16>, <32x8xf16>
  %b = tt.make_tensor_descriptor %q, [%n, %n], [%pitch, %unit] : <f16>, <8x32xf16>
  %d = tt.make_tensor_descriptor %r, [%n, %n], [%pitch, %unit] : <f32>, <32x32xf32>
  %sum = scf.for %k = %zero to %n step %eight iter_args(%acc = %init) -> (tensor<32x32xf32>) : i32 {
    %x = tt.descriptor_load %a[%zero, %k] : !tt.tensordesc<32x8xf16> -> tensor<32x8xf16>
    %y = tt.descriptor_load %b[%k, %zero] : !tt.tensordesc<8x32xf16> -> tensor<8x32xf16>
    %next = tt.dot %x, %y, %acc : tensor<32x8xf16> * tensor<8x32xf16> -> tensor<32x32xf32>
    scf.yield %next : tensor<32x32xf32>
  }
  tt.descriptor_store %d[%zero, %zero], %sum : !tt.tensordesc<32x32xf32>, tensor<32x32xf32>
  %old = tt.atomic_rmw add, acq_rel, gpu, %count, %one, %true : (!tt.ptr<i32>, i32, i1) -> i32
  tt.return
}

// -----

// A tensor that two statements use has a buffer, which leaves no room for tiles.

// CHECK-LABEL: func.func @large
// CHECK-SAME: simt.work_group_size = array<i32: 8>
// REMARK: remark: tt.func: one subgroup runs a program: {{[0-9]+}} bytes of buffers, lavapipe has room for 32768
tt.func @large(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %r: !tt.ptr<f32>, %n: i32, %pitch: i64, %s: !tt.ptr<f32>, %t: !tt.ptr<f32>) {
  %zero = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  %unit = arith.constant 1 : i64
  %init = arith.constant dense<0.0> : tensor<32x32xf32>
  %a = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <f16>, <32x8xf16>
  %b = tt.make_tensor_descriptor %q, [%n, %n], [%pitch, %unit] : <f16>, <8x32xf16>
  %d = tt.make_tensor_descriptor %r, [%n, %n], [%pitch, %unit] : <f32>, <32x32xf32>
  %from = tt.make_tensor_descriptor %s, [%n, %n], [%pitch, %unit] : <f32>, <64x128xf32>
  %to = tt.make_tensor_descriptor %t, [%n, %n], [%pitch, %unit] : <f32>, <64x128xf32>
  %large = tt.descriptor_load %from[%zero, %zero] : !tt.tensordesc<64x128xf32> -> tensor<64x128xf32>
  tt.descriptor_store %to[%zero, %zero], %large : !tt.tensordesc<64x128xf32>, tensor<64x128xf32>
  tt.descriptor_store %to[%eight, %zero], %large : !tt.tensordesc<64x128xf32>, tensor<64x128xf32>
  %sum = scf.for %k = %zero to %n step %eight iter_args(%acc = %init) -> (tensor<32x32xf32>) : i32 {
    %x = tt.descriptor_load %a[%zero, %k] : !tt.tensordesc<32x8xf16> -> tensor<32x8xf16>
    %y = tt.descriptor_load %b[%k, %zero] : !tt.tensordesc<8x32xf16> -> tensor<8x32xf16>
    %next = tt.dot %x, %y, %acc : tensor<32x8xf16> * tensor<8x32xf16> -> tensor<32x32xf32>
    scf.yield %next : tensor<32x32xf32>
  }
  tt.descriptor_store %d[%zero, %zero], %sum : !tt.tensordesc<32x32xf32>, tensor<32x32xf32>
  tt.return
}

// -----

// Sums are stored to what factors are loaded from, so that the loop stays where it is.

// CHECK-LABEL: func.func @in_place
// CHECK-SAME: simt.work_group_size = array<i32: 8>
// REMARK: remark: tt.func: one subgroup runs a program: it may store to memory that it loads operands from
tt.func @in_place(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %r: !tt.ptr<f32>, %n: i32, %pitch: i64) {
  %zero = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  %unit = arith.constant 1 : i64
  %init = arith.constant dense<0.0> : tensor<32x32xf32>
  %a = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <f16>, <32x8xf16>
  %b = tt.make_tensor_descriptor %q, [%n, %n], [%pitch, %unit] : <f16>, <8x32xf16>
  %d = tt.make_tensor_descriptor %r, [%n, %n], [%pitch, %unit] : <f32>, <32x32xf32>
  %c = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <f16>, <32x32xf16>
  %sum = scf.for %k = %zero to %n step %eight iter_args(%acc = %init) -> (tensor<32x32xf32>) : i32 {
    %x = tt.descriptor_load %a[%zero, %k] : !tt.tensordesc<32x8xf16> -> tensor<32x8xf16>
    %y = tt.descriptor_load %b[%k, %zero] : !tt.tensordesc<8x32xf16> -> tensor<8x32xf16>
    %next = tt.dot %x, %y, %acc : tensor<32x8xf16> * tensor<8x32xf16> -> tensor<32x32xf32>
    scf.yield %next : tensor<32x32xf32>
  }
  %half = arith.truncf %sum : tensor<32x32xf32> to tensor<32x32xf16>
  tt.descriptor_store %c[%zero, %zero], %half : !tt.tensordesc<32x32xf16>, tensor<32x32xf16>
  tt.return
}
