// RUN: coopc-opt %s -p 'coopc-xe{device=bmg}' 2>&1 | filecheck %s

// Layouts are not planned for tt.gather: the kernel runs on one subgroup, as do those
// whose tensors have no layouts.

// CHECK: remark: tt.gather: the kernel runs on one subgroup: not lowered by layouts
// CHECK-LABEL: func.func @turned(
// CHECK-SAME: simt.work_group_size = array<i32: 16>
// CHECK-NOT: tt.

#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [16], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func @turned(%p: !tt.ptr<i32>) {
    %at = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #b>
    %last = arith.constant dense<63> : tensor<64xi32, #b>
    %turned = arith.subi %last, %at : tensor<64xi32, #b>
    %ps = tt.splat %p : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>, #b>
    %qs = tt.addptr %ps, %at : tensor<64x!tt.ptr<i32>, #b>, tensor<64xi32, #b>
    %x = tt.load %qs : tensor<64x!tt.ptr<i32>, #b>
    %y = tt.gather %x[%turned] {axis = 0 : i32} : (tensor<64xi32, #b>, tensor<64xi32, #b>) -> tensor<64xi32, #b>
    tt.store %qs, %y : tensor<64x!tt.ptr<i32>, #b>
    tt.return
  }
}
