// RUN: coopc-opt -p convert-ttgir-to-xe %s | filecheck %s

// Copies of 32 elements are in both subgroups: both load them, and the first one stores
// them. It waits until the other one has loaded them, if it stores where they were.

#all = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [16], warpsPerCTA = [2], order = [0]}>

module attributes {"ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} {

  // CHECK-LABEL: func.func @in_place(
  // CHECK: memref.load
  // CHECK: memref.load
  // CHECK: simt.barrier
  // CHECK: memref.store
  // CHECK-NOT: simt.barrier
  // CHECK: func.return
  tt.func public @in_place(%x: !tt.ptr<f32>) {
    %at = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #all>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>, #all>
    %q = tt.addptr %p, %at : tensor<32x!tt.ptr<f32>, #all>, tensor<32xi32, #all>
    %v = tt.load %q : tensor<32x!tt.ptr<f32>, #all>
    %w = arith.addf %v, %v : tensor<32xf32, #all>
    tt.store %q, %w : tensor<32x!tt.ptr<f32>, #all>
    tt.return
  }

  // Memory of two arguments is taken to be apart.
  // CHECK-LABEL: func.func @apart(
  // CHECK-NOT: simt.barrier
  // CHECK: func.return
  tt.func public @apart(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
    %at = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #all>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>, #all>
    %q = tt.addptr %p, %at : tensor<32x!tt.ptr<f32>, #all>, tensor<32xi32, #all>
    %v = tt.load %q : tensor<32x!tt.ptr<f32>, #all>
    %r = tt.splat %y : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>, #all>
    %s = tt.addptr %r, %at : tensor<32x!tt.ptr<f32>, #all>, tensor<32xi32, #all>
    tt.store %s, %v : tensor<32x!tt.ptr<f32>, #all>
    tt.return
  }

  // Of 64 elements there are no copies.
  // CHECK-LABEL: func.func @no_copies(
  // CHECK-NOT: simt.barrier
  // CHECK: func.return
  tt.func public @no_copies(%x: !tt.ptr<f32>) {
    %at = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #all>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #all>
    %q = tt.addptr %p, %at : tensor<64x!tt.ptr<f32>, #all>, tensor<64xi32, #all>
    %v = tt.load %q : tensor<64x!tt.ptr<f32>, #all>
    tt.store %q, %v : tensor<64x!tt.ptr<f32>, #all>
    tt.return
  }

  // All lanes load a scalar, and the first one of all stores it, in each round.
  // CHECK-LABEL: func.func @scalar(
  // CHECK: scf.for
  // CHECK: simt.barrier
  // CHECK: memref.load
  // CHECK: simt.barrier
  // CHECK: memref.store
  // CHECK-NOT: simt.barrier
  // CHECK: func.return
  tt.func public @scalar(%x: !tt.ptr<f32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scf.for %i = %zero to %n step %one : i32 {
      %v = tt.load %x : !tt.ptr<f32>
      %w = arith.addf %v, %v : f32
      tt.store %x, %w : !tt.ptr<f32>
    }
    tt.return
  }
}
