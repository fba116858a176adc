// RUN: coopc-opt %s -p 'coopc-xe{device=bmg}' | filecheck %s

// Pairs are shuffles of what a lane has.

#half = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [16], warpsPerCTA = [1], order = [0]}>
#pairs = #ttg.blocked<{sizePerThread = [4, 2], threadsPerWarp = [16, 1], warpsPerCTA = [1, 1], order = [1, 0]}>
module attributes {"ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // CHECK-LABEL: func.func @pairs
  // CHECK: [[A:%.+]] = vector.broadcast %a : f32 to vector<4xf32>
  // CHECK-NEXT: [[B:%.+]] = vector.broadcast %b : f32 to vector<4xf32>
  // CHECK-NEXT: %both = vector.shuffle [[A]], [[B]] [0, 4, 1, 5, 2, 6, 3, 7] : vector<4xf32>, vector<4xf32>
  // CHECK: [[E:%.+]] = math.exp %both : vector<8xf32>
  // CHECK-NEXT: %x = vector.shuffle [[E]], [[E]] [0, 2, 4, 6] : vector<8xf32>, vector<8xf32>
  // CHECK-NEXT: %y = vector.shuffle [[E]], [[E]] [1, 3, 5, 7] : vector<8xf32>, vector<8xf32>
  tt.func public @pairs(%p: !tt.ptr<f32>, %a: f32, %b: f32) {
    %0 = tt.splat %a : f32 -> tensor<64xf32, #half>
    %1 = tt.splat %b : f32 -> tensor<64xf32, #half>
    %both = tt.join %0, %1 : tensor<64xf32, #half> -> tensor<64x2xf32, #pairs>
    %2 = math.exp %both : tensor<64x2xf32, #pairs>
    %x, %y = tt.split %2 : tensor<64x2xf32, #pairs> -> tensor<64xf32, #half>
    %3 = arith.addf %x, %y : tensor<64xf32, #half>
    %4 = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #half>
    tt.store %4, %3 : tensor<64x!tt.ptr<f32>, #half>
    tt.return
  }
}
