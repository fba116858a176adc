// RUN: coopc-opt %s -p assign-tt-layouts --split-input-file 2> %t | filecheck %s
// RUN: filecheck %s --check-prefix REMARK --input-file %t
// RUN: coopc-opt %s -p "coopc-lanes{device=lavapipe}" --split-input-file 2>&1 | filecheck %s --check-prefix LANES

// As many subgroups as the module asks for share a kernel; its engine chooses where
// that is not possible.

// CHECK: #blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [8], order = [0]}>
// CHECK: "ttg.num-warps" = 8 : i32, "ttg.threads-per-warp" = 32 : i32
// LANES: remark: tt.func: num_warps=8 is not possible: one subgroup runs a program
module attributes {simt.target = #simt.target<opencl, bmg>, "ttg.num-warps" = 8 : i32} {
  tt.func public @copy(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}) {
    %range = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %all = tt.splat %p : !tt.ptr<f16> -> tensor<1024x!tt.ptr<f16>>
    %at = tt.addptr %all, %range : tensor<1024x!tt.ptr<f16>>, tensor<1024xi32>
    %x = tt.load %at : tensor<1024x!tt.ptr<f16>>
    tt.store %at, %x : tensor<1024x!tt.ptr<f16>>
    tt.return
  }
}

// -----

// REMARK: remark: tt.func: num_warps=8 is not possible: 2 subgroups run a program
// CHECK: "ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 32 : i32
module attributes {simt.target = #simt.target<opencl, bmg>, "ttg.num-warps" = 8 : i32} {
  tt.func public @few(%p: !tt.ptr<f16>) {
    %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %all = tt.splat %p : !tt.ptr<f16> -> tensor<64x!tt.ptr<f16>>
    %at = tt.addptr %all, %range : tensor<64x!tt.ptr<f16>>, tensor<64xi32>
    %x = tt.load %at : tensor<64x!tt.ptr<f16>>
    tt.store %at, %x : tensor<64x!tt.ptr<f16>>
    tt.return
  }
}

// -----

// Subgroups that share products are powers of two.

// REMARK: remark: tt.func: num_warps=3 is not possible: one subgroup runs a program
// CHECK: "ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 16 : i32
module attributes {simt.target = #simt.target<opencl, bmg>, "ttg.num-warps" = 3 : i32} {
  tt.func public @odd(%p: !tt.ptr<f16>, %c: !tt.ptr<f32>) {
    %zero = arith.constant dense<0.0> : tensor<32x32xf32>
    %all = tt.splat %p : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>>
    %x = tt.load %all : tensor<32x32x!tt.ptr<f16>>
    %y = tt.load %all : tensor<32x32x!tt.ptr<f16>>
    %s = tt.dot %x, %y, %zero, inputPrecision = tf32 : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
    %c_all = tt.splat %c : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>>
    tt.store %c_all, %s : tensor<32x32x!tt.ptr<f32>>
    tt.return
  }
}

// -----

// REMARK-NOT: remark
// CHECK: #dpas = #ttig.dpas<{{.*}} warpsPerCTA = [2, 1]
// CHECK: "ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32
module attributes {simt.target = #simt.target<opencl, bmg>, "ttg.num-warps" = 2 : i32} {
  tt.func public @even(%p: !tt.ptr<f16>, %c: !tt.ptr<f32>) {
    %zero = arith.constant dense<0.0> : tensor<32x32xf32>
    %all = tt.splat %p : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>>
    %x = tt.load %all : tensor<32x32x!tt.ptr<f16>>
    %y = tt.load %all : tensor<32x32x!tt.ptr<f16>>
    %s = tt.dot %x, %y, %zero, inputPrecision = tf32 : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
    %c_all = tt.splat %c : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>>
    tt.store %c_all, %s : tensor<32x32x!tt.ptr<f32>>
    tt.return
  }
}
