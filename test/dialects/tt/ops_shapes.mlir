// RUN: %roundtrip

// Shapes change, and encodings follow: no element moves.

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 4], warpsPerCTA = [1, 4], order = [0, 1]}>
#slice = #ttg.slice<{dim = 1, parent = #blocked}>
#linear = #ttg.linear<{register = [[1], [2], [16], [32], [256], [512], [1024]], lane = [[4], [8], [64], [128]], warp = [[0], [0]], block = []}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // CHECK-LABEL: tt.func @plain(%s: f32, %p: !tt.ptr<f32>)
  tt.func @plain(%s: f32, %p: !tt.ptr<f32>) {
    // CHECK-NEXT: %a = tt.splat %s : f32 -> tensor<64x32xf32>
    %a = tt.splat %s : f32 -> tensor<64x32xf32>
    // CHECK-NEXT: %b = tt.splat %p {note} : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %b = tt.splat %p {note} : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    // CHECK-NEXT: %c = tt.expand_dims %b {axis = 1 : i32} : tensor<64x!tt.ptr<f32>> -> tensor<64x1x!tt.ptr<f32>>
    %c = tt.expand_dims %b {axis = 1 : i32} : tensor<64x!tt.ptr<f32>> -> tensor<64x1x!tt.ptr<f32>>
    // CHECK-NEXT: %d = tt.expand_dims %b {note, axis = 0 : i32} : tensor<64x!tt.ptr<f32>> -> tensor<1x64x!tt.ptr<f32>>
    %d = tt.expand_dims %b {note, axis = 0 : i32} : tensor<64x!tt.ptr<f32>> -> tensor<1x64x!tt.ptr<f32>>
    // CHECK-NEXT: %e = tt.broadcast %c : tensor<64x1x!tt.ptr<f32>> -> tensor<64x32x!tt.ptr<f32>>
    %e = tt.broadcast %c : tensor<64x1x!tt.ptr<f32>> -> tensor<64x32x!tt.ptr<f32>>
    // CHECK-NEXT: %f = tt.reshape %a : tensor<64x32xf32> -> tensor<2048xf32>
    %f = tt.reshape %a : tensor<64x32xf32> -> tensor<2048xf32>
    // CHECK-NEXT: %g = tt.reshape %a allow_reorder : tensor<64x32xf32> -> tensor<32x64xf32>
    %g = tt.reshape %a allow_reorder : tensor<64x32xf32> -> tensor<32x64xf32>
    // CHECK-NEXT: %h = tt.reshape %a allow_reorder efficient_layout {note} : tensor<64x32xf32> -> tensor<2x1024xf32>
    %h = tt.reshape %a allow_reorder efficient_layout {note} : tensor<64x32xf32> -> tensor<2x1024xf32>
    // CHECK-NEXT: %i = tt.trans %a {order = array<i32: 1, 0>} : tensor<64x32xf32> -> tensor<32x64xf32>
    %i = tt.trans %a {order = array<i32: 1, 0>} : tensor<64x32xf32> -> tensor<32x64xf32>
    // CHECK-NEXT: tt.return
    tt.return
  }
  // CHECK-LABEL: tt.func @encoded(%s: i32, %x: tensor<16x16xf32, #blocked>)
  tt.func @encoded(%s: i32, %x: tensor<16x16xf32, #blocked>) {
    // CHECK-NEXT: %a = tt.splat %s : i32 -> tensor<16xi32, #slice>
    %a = tt.splat %s : i32 -> tensor<16xi32, #slice>
    // CHECK-NEXT: %b = tt.expand_dims %a {axis = 1 : i32} : tensor<16xi32, #slice> -> tensor<16x1xi32, #blocked>
    %b = tt.expand_dims %a {axis = 1 : i32} : tensor<16xi32, #slice> -> tensor<16x1xi32, #blocked>
    // CHECK-NEXT: %c = tt.broadcast %b : tensor<16x1xi32, #blocked> -> tensor<16x16xi32, #blocked>
    %c = tt.broadcast %b : tensor<16x1xi32, #blocked> -> tensor<16x16xi32, #blocked>
    // CHECK-NEXT: %d = tt.trans %x {order = array<i32: 1, 0>} : tensor<16x16xf32, #blocked> -> tensor<16x16xf32, #blocked1>
    %d = tt.trans %x {order = array<i32: 1, 0>} : tensor<16x16xf32, #blocked> -> tensor<16x16xf32, #blocked1>
    // CHECK-NEXT: tt.return
    tt.return
  }
}
