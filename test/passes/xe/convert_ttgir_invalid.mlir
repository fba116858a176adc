// RUN: coopc-opt %s -p 'plan-block-io{device=bmg},convert-ttgir-to-xe' --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// What cannot be converted is named, with the reason; nothing is changed then.

#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#cols = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [1, 4], order = [1, 0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @across_subgroups(%x: f32) {
    %0 = tt.splat %x : f32 -> tensor<16x64xf32, #rows>
    // CHECK: ttg.convert_layout: expected elements to stay in their lanes
    %1 = ttg.convert_layout %0 : tensor<16x64xf32, #rows> -> tensor<16x64xf32, #cols>
    tt.return
  }
}

// -----

#cols = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [1, 4], order = [1, 0]}>
#slice = #ttg.slice<{dim = 1, parent = #cols}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @reduce_across_subgroups(%x: f32) {
    %0 = tt.splat %x : f32 -> tensor<16x64xf32, #cols>
    // CHECK: tt.reduce: expected subgroups that hold whole rows along axis 1
    %1 = "tt.reduce"(%0) <{axis = 1 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tt.reduce.return %c : f32
    }) : (tensor<16x64xf32, #cols>) -> tensor<16xf32, #slice>
    tt.return
  }
}

// -----

module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // CHECK: tt.func: expected a kernel, got @helper: inline what is called
  tt.func private @helper(%x: f32) -> f32 {
    tt.return %x : f32
  }
}

// -----

module attributes {"ttg.threads-per-warp" = 16 : i32} {
  // CHECK: tt.func: expected ttg.num-warps on the module, got none
  tt.func public @sizeless() {
    tt.return
  }
}

// -----

#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @trap(%x: i1) {
    // CHECK: tt.assert: tt.assert is not converted to xe
    tt.assert %x, "no" : i1
    tt.return
  }
}
