// RUN: coopc-opt %s -p 'coopc-xe{device=bmg}' 2> %t | filecheck %s
// RUN: filecheck %s --check-prefix REMARK --input-file %t

// A product in a layout of another device, or of none, is one of lanes.

// REMARK: remark: tt.dot: the kernel runs on one subgroup: its result is not in a layout of DPAS
// REMARK: remark: coopmatrix.mul_add: the kernel's products are computed by lanes: DPAS does not multiply
// CHECK: func.func @exact
// CHECK-SAME: simt.work_group_size = array<i32: 16>
// CHECK-NOT: xe.dpas
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #blocked}>
#b = #ttg.dot_op<{opIdx = 1, parent = #blocked}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @exact(%p: !tt.ptr<f32>, %c: !tt.ptr<f32>) {
    %zero = arith.constant dense<0.0> : tensor<16x16xf32, #blocked>
    %all = tt.splat %p : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>, #blocked>
    %x = tt.load %all : tensor<16x16x!tt.ptr<f32>, #blocked>
    %a = ttg.convert_layout %x : tensor<16x16xf32, #blocked> -> tensor<16x16xf32, #a>
    %b = ttg.convert_layout %x : tensor<16x16xf32, #blocked> -> tensor<16x16xf32, #b>
    %s = tt.dot %a, %b, %zero, inputPrecision = ieee : tensor<16x16xf32, #a> * tensor<16x16xf32, #b> -> tensor<16x16xf32, #blocked>
    %c_all = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>, #blocked>
    tt.store %c_all, %s : tensor<16x16x!tt.ptr<f32>, #blocked>
    tt.return
  }
}
