// RUN: coopc-opt %s -p "convert-tt-to-coopmatrix{rounds=true shared=true device=lavapipe}" --split-input-file 2> %t | filecheck %s
// RUN: filecheck %s --check-prefix REMARK --input-file %t
// RUN: coopc-opt %s -p "convert-tt-to-coopmatrix{rounds=true device=lavapipe}" --split-input-file 2> %t.alone | filecheck %s --check-prefix ALONE
// RUN: filecheck %s --check-prefix ROUNDS --input-file %t.alone

// Each of eight subgroups has four rows, and buffers of its own; it waits for itself alone.

// CHECK-LABEL: func.func @rows
// CHECK-SAME: simt.work_group_size = array<i32: 64>
// CHECK-SAME: simt.conditions = [{what = "memory", argument = 1 : i64, apart_from_argument = 0 : i64,
// CHECK: simt.subgroup_id
// CHECK: memref.alloca() : memref<8x4xf32, #simt.memory<workgroup>>
// CHECK: memref.subview %{{.+}}[%{{.+}}, 0] [1, 4] [1, 1] : memref<8x4xf32, #simt.memory<workgroup>> to memref<4xf32, strided<[1], offset: ?>, #simt.memory<workgroup>>
// CHECK: simt.barrier subgroup memory = <workgroup>
// CHECK-NOT: simt.barrier workgroup
// CHECK: func.return
// REMARK-NOT: @rows
tt.func @rows(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %n: i32, %pitch: i64) {
  %zero = arith.constant 0 : i32
  %unit = arith.constant 1 : i64
  %x = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <f32>, <32x16xf32>
  %y = tt.make_tensor_descriptor %q, [%n, %n], [%pitch, %unit] : <f32>, <32x16xf32>
  %a = tt.descriptor_load %x[%zero, %zero] : !tt.tensordesc<32x16xf32> -> tensor<32x16xf32>
  %s = "tt.reduce"(%a) <{axis = 1 : i32}> ({
  ^bb0(%c: f32, %d: f32):
    %e = arith.addf %c, %d : f32
    tt.reduce.return %e : f32
  }) : (tensor<32x16xf32>) -> tensor<32xf32>
  %s1 = tt.expand_dims %s {axis = 1 : i32} : tensor<32xf32> -> tensor<32x1xf32>
  %s2 = tt.broadcast %s1 : tensor<32x1xf32> -> tensor<32x16xf32>
  %r = arith.divf %a, %s2 : tensor<32x16xf32>
  tt.descriptor_store %y[%zero, %zero], %r : !tt.tensordesc<32x16xf32>, tensor<32x16xf32>
  tt.return
}

// -----

// 64 x 64 of 64 bits, and a line of them, are more than work-group memory: two halves, one
// after the other.

// CHECK-LABEL: func.func @rounds
// CHECK-SAME: simt.work_group_size = array<i32: 64>
// CHECK: scf.for %part = %{{.+}} to %{{.+}} step
// CHECK: memref.alloca() : memref<8x4x64xi64, #simt.memory<workgroup>>
// ALONE-LABEL: func.func @rounds
// ALONE-SAME: simt.work_group_size = array<i32: 8>
// ALONE-SAME: simt.conditions = [{what = "memory", argument = 1 : i64, apart_from_argument = 0 : i64,
// ALONE: scf.for %part = %{{.+}} to %{{.+}} step
// ALONE: memref.alloca() : memref<32x64xi64, #simt.memory<workgroup>>
// ROUNDS: remark: tt.func: its buffers take 33280 bytes, lavapipe has room for 32768: it is computed in 2 rounds
tt.func @rounds(%p: !tt.ptr<i64>, %q: !tt.ptr<i64>, %o: !tt.ptr<i64>, %n: i32, %pitch: i64) {
  %zero = arith.constant 0 : i32
  %unit = arith.constant 1 : i64
  %x = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <i64>, <64x64xi64>
  %y = tt.make_tensor_descriptor %q, [%n, %n], [%pitch, %unit] : <i64>, <64x64xi64>
  %a = tt.descriptor_load %x[%zero, %zero] : !tt.tensordesc<64x64xi64> -> tensor<64x64xi64>
  %w = "tt.scan"(%a) <{axis = 1 : i32, reverse = false}> ({
  ^bb0(%c: i64, %d: i64):
    %e = arith.addi %c, %d : i64
    tt.scan.return %e : i64
  }) : (tensor<64x64xi64>) -> tensor<64x64xi64>
  %s = "tt.reduce"(%w) <{axis = 1 : i32}> ({
  ^bb0(%c: i64, %d: i64):
    %e = arith.addi %c, %d : i64
    tt.reduce.return %e : i64
  }) : (tensor<64x64xi64>) -> tensor<64xi64>
  tt.descriptor_store %y[%zero, %zero], %w : !tt.tensordesc<64x64xi64>, tensor<64x64xi64>
  %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %os = tt.splat %o : !tt.ptr<i64> -> tensor<64x!tt.ptr<i64>>
  %op = tt.addptr %os, %i : tensor<64x!tt.ptr<i64>>, tensor<64xi32>
  tt.store %op, %s : tensor<64x!tt.ptr<i64>>
  tt.return
}

// -----

// Sums whose rows are scaled before products are added stay in matrices, of each of two
// subgroups, and are stored tile by tile; where K is inside of memory, no tile is checked.

// CHECK-LABEL: func.func @kept
// CHECK-SAME: simt.work_group_size = array<i32: 16>
// CHECK-NOT: memref<2x16x32xf32
// CHECK: scf.for %k = {{.+}} iter_args(%[[A:.+]] = %[[F:.+]], %[[B:.+]] = %[[F]]) -> (!coopmatrix.matrix<16x16xf32, acc>, !coopmatrix.matrix<16x16xf32, acc>)
// CHECK: %[[S:.+]] = coopmatrix.load {{.+}} -> !coopmatrix.matrix<16x16xf32, acc>
// CHECK-NEXT: coopmatrix.mul %[[A]], %[[S]]
// CHECK-NEXT: coopmatrix.mul %[[B]], %[[S]]
// CHECK: scf.if
// CHECK-NOT: checked
// CHECK-COUNT-2: coopmatrix.mul_add
// CHECK: } else {
// CHECK: checked(rows, cols)
// CHECK-COUNT-2: coopmatrix.store
// REMARK: remark: tt.func: 2 subgroups compute a part each: of a loop of products, the accumulators are used in it
tt.func @kept(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %r: !tt.ptr<f32>, %s: !tt.ptr<f32>, %n: i32, %pitch: i64) {
  %zero = arith.constant 0 : i32
  %sixteen = arith.constant 16 : i32
  %unit = arith.constant 1 : i64
  %init = arith.constant dense<0.0> : tensor<32x32xf32>
  %a = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <f16>, <32x16xf16>
  %b = tt.make_tensor_descriptor %q, [%n, %n], [%pitch, %unit] : <f16>, <16x32xf16>
  %d = tt.make_tensor_descriptor %r, [%n, %n], [%pitch, %unit] : <f32>, <32x32xf32>
  %i = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %ss = tt.splat %s : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %sp = tt.addptr %ss, %i : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %scale = tt.load %sp : tensor<32x!tt.ptr<f32>>
  %s1 = tt.expand_dims %scale {axis = 1 : i32} : tensor<32xf32> -> tensor<32x1xf32>
  %s2 = tt.broadcast %s1 : tensor<32x1xf32> -> tensor<32x32xf32>
  %sum = scf.for %k = %zero to %n step %sixteen iter_args(%acc = %init) -> (tensor<32x32xf32>) : i32 {
    %x = tt.descriptor_load %a[%zero, %k] : !tt.tensordesc<32x16xf16> -> tensor<32x16xf16>
    %y = tt.descriptor_load %b[%k, %zero] : !tt.tensordesc<16x32xf16> -> tensor<16x32xf16>
    %less = arith.mulf %acc, %s2 : tensor<32x32xf32>
    %next = tt.dot %x, %y, %less : tensor<32x16xf16> * tensor<16x32xf16> -> tensor<32x32xf32>
    scf.yield %next : tensor<32x32xf32>
  }
  tt.descriptor_store %d[%zero, %zero], %sum : !tt.tensordesc<32x32xf32>, tensor<32x32xf32>
  tt.return
}

// -----

// There is no room for both tensors: their elements are loaded where they are used, twice.
// What is stored is computed before, as it is stored to what is loaded.

// ALONE-LABEL: func.func @again
// ALONE-NOT: memref<64x64xi32, #simt.memory<workgroup>>
// ALONE: %reduced = memref.alloca() : memref<64xi32, #simt.memory<workgroup>>
// ALONE-NOT: memref<64x64xi32, #simt.memory<workgroup>>
// ALONE: %reduced_1 = memref.alloca() : memref<64xi32, #simt.memory<workgroup>>
// ALONE: %r = memref.alloca() : memref<64x64xi32, #simt.memory<workgroup>>
// ALONE-COUNT-2: memref.load %{{.+}} : memref<1099511627776xi32>
// ALONE: memref.store %{{.+}}, %r[
// ALONE: simt.barrier
// ALONE-NOT: memref.load %{{.+}} : memref<1099511627776xi32>
// ALONE: memref.load %r[
// ALONE: func.return
// ROUNDS: remark: tt.func: its buffers take 33280 bytes, lavapipe has room for 32768: elements are rematerialized, not buffered, and it cannot be computed in rounds: it stores to what it loads from
tt.func @again(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %n: i32, %pitch: i64) {
  %zero = arith.constant 0 : i32
  %unit = arith.constant 1 : i64
  %x = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <i32>, <64x64xi32>
  %y = tt.make_tensor_descriptor %q, [%n, %n], [%pitch, %unit] : <i32>, <64x64xi32>
  %a = tt.descriptor_load %x[%zero, %zero] : !tt.tensordesc<64x64xi32> -> tensor<64x64xi32>
  %b = tt.descriptor_load %y[%zero, %zero] : !tt.tensordesc<64x64xi32> -> tensor<64x64xi32>
  %s = "tt.reduce"(%a) <{axis = 1 : i32}> ({
  ^bb0(%c: i32, %d: i32):
    %e = arith.addi %c, %d : i32
    tt.reduce.return %e : i32
  }) : (tensor<64x64xi32>) -> tensor<64xi32>
  %t = "tt.reduce"(%b) <{axis = 0 : i32}> ({
  ^bb0(%c: i32, %d: i32):
    %e = arith.addi %c, %d : i32
    tt.reduce.return %e : i32
  }) : (tensor<64x64xi32>) -> tensor<64xi32>
  %s1 = tt.expand_dims %s {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %t1 = tt.expand_dims %t {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %s2 = tt.broadcast %s1 : tensor<64x1xi32> -> tensor<64x64xi32>
  %t2 = tt.broadcast %t1 : tensor<1x64xi32> -> tensor<64x64xi32>
  %u = arith.addi %a, %s2 : tensor<64x64xi32>
  %v = arith.addi %b, %t2 : tensor<64x64xi32>
  %r = arith.muli %u, %v : tensor<64x64xi32>
  tt.descriptor_store %y[%zero, %zero], %r : !tt.tensordesc<64x64xi32>, tensor<64x64xi32>
  tt.return
}

// -----

// What is stored to before it is used is kept.

// ALONE-LABEL: func.func @changed
// ALONE: memref.alloca() : memref<64x64xi64, #simt.memory<workgroup>>
// ROUNDS: remark: tt.func: its buffers take 33280 bytes, lavapipe has room for 32768, and it cannot be computed in rounds: it stores to what it loads from
tt.func @changed(%p: !tt.ptr<i64>, %q: !tt.ptr<i64>, %n: i32, %pitch: i64) {
  %zero = arith.constant 0 : i32
  %unit = arith.constant 1 : i64
  %x = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <i64>, <64x64xi64>
  %y = tt.make_tensor_descriptor %q, [%n, %n], [%pitch, %unit] : <i64>, <64x64xi64>
  %a = tt.descriptor_load %x[%zero, %zero] : !tt.tensordesc<64x64xi64> -> tensor<64x64xi64>
  %s = "tt.reduce"(%a) <{axis = 1 : i32}> ({
  ^bb0(%c: i64, %d: i64):
    %e = arith.addi %c, %d : i64
    tt.reduce.return %e : i64
  }) : (tensor<64x64xi64>) -> tensor<64xi64>
  %s1 = tt.expand_dims %s {axis = 1 : i32} : tensor<64xi64> -> tensor<64x1xi64>
  %s2 = tt.broadcast %s1 : tensor<64x1xi64> -> tensor<64x64xi64>
  tt.descriptor_store %x[%zero, %zero], %s2 : !tt.tensordesc<64x64xi64>, tensor<64x64xi64>
  %r = arith.addi %a, %s2 : tensor<64x64xi64>
  tt.descriptor_store %y[%zero, %zero], %r : !tt.tensordesc<64x64xi64>, tensor<64x64xi64>
  tt.return
}

// -----

// Parts are whole tiles of products, if they have room: halves of the columns here.

// ALONE-LABEL: func.func @tiles
// ALONE: coopmatrix.store {{.*}} : !coopmatrix.matrix<16x16xf32, acc>, memref<16x32xf32,
// ROUNDS: remark: tt.func: its buffers take {{.*}}, lavapipe has room for 32768: it is computed in 2 rounds
tt.func @tiles(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %o: !tt.ptr<f32>, %n: i32, %pitch: i64) {
  %zero = arith.constant 0 : i32
  %unit = arith.constant 1 : i64
  %x = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <f16>, <16x256xf16>
  %y = tt.make_tensor_descriptor %q, [%n, %n], [%pitch, %unit] : <f16>, <256x64xf16>
  %z = tt.make_tensor_descriptor %o, [%n, %n], [%pitch, %unit] : <f32>, <16x64xf32>
  %a = tt.descriptor_load %x[%zero, %zero] : !tt.tensordesc<16x256xf16> -> tensor<16x256xf16>
  %b = tt.descriptor_load %y[%zero, %zero] : !tt.tensordesc<256x64xf16> -> tensor<256x64xf16>
  %e = math.exp %a : tensor<16x256xf16>
  %f = math.exp %b : tensor<256x64xf16>
  %c = arith.constant dense<0.0> : tensor<16x64xf32>
  %d = tt.dot %e, %f, %c, inputPrecision = ieee : tensor<16x256xf16> * tensor<256x64xf16> -> tensor<16x64xf32>
  %g = math.exp %d : tensor<16x64xf32>
  tt.descriptor_store %z[%zero, %zero], %g : !tt.tensordesc<16x64xf32>, tensor<16x64xf32>
  tt.return
}
