// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Encodings that contradict their tensor, or the numbers of lanes, subgroups and work-groups
// of the module.
#e = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 32, warpsPerCTA = [2, 2], repCluster = [1, 1]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func @f(%x: tensor<64x32xf32, #e>) {
    tt.return
  }
}
// CHECK: tt.func: expected 16 lanes, as the module's ttg.threads-per-warp has, got threadsPerWarp = 32 in #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 32, warpsPerCTA = [2, 2], repCluster = [1, 1], A = [8, 16], B = [16, 16], C = [8, 16]}>

// -----

#e = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32} {
  tt.func @f(%x: tensor<64x32xf32, #e>) {
    tt.return
  }
}
// CHECK: tt.func: expected 32 lanes, as a module without ttg.threads-per-warp has, got threadsPerWarp = 16 in #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1], A = [8, 16], B = [16, 16], C = [8, 16]}>

// -----

#e = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [4, 2], repCluster = [1, 1]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func @f(%x: tensor<64x32xf32, #e>) {
    tt.return
  }
}
// CHECK: tt.func: expected 4 subgroups, as the module's ttg.num-warps has, got warpsPerCTA of product 8 in #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [4, 2], repCluster = [1, 1], A = [8, 16], B = [16, 16], C = [8, 16]}>

// -----

#e = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [8, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func @f(%x: tensor<64x32xf32, #e>) {
    tt.return
  }
}
// CHECK: tt.func: expected 4 subgroups, as the module's ttg.num-warps has, got warpsPerCTA of product 8 in #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [8, 1], order = [1, 0]}>

// -----

#e = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func @f(%x: tensor<64x32xf32, #e>) {
    tt.return
  }
}
// CHECK: tt.func: expected 16 lanes, as the module's ttg.threads-per-warp has, got threadsPerWarp = 32 in #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>

// -----

#e = #ttg.slice<{dim = 1, parent = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func @f(%x: tensor<64xf32, #e>) {
    tt.return
  }
}
// CHECK: tt.func: expected 16 lanes, as the module's ttg.threads-per-warp has, got threadsPerWarp = 32 in #ttg.slice<{dim = 1, parent = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>}>

// -----

#e = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0], CGALayout = [[1, 0]]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func @f(%x: tensor<64x32xf32, #e>) {
    tt.return
  }
}
// CHECK: tt.func: expected 1 work-groups, as the module's ttg.num-ctas has (1 if it is missing), got 2 in #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0], CGALayout = {{\[\[}}1, 0]]}>

// -----

#e = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func @f(%x: tensor<64xf32, #e>) {
    tt.return
  }
}
// CHECK: tt.func: expected a tensor of rank 2, got 1 in 64, in tensor<64xf32, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>>

// -----

#e = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func @f(%x: tensor<48x32xf32, #e>) {
    tt.return
  }
}
// CHECK: tt.func: expected the size of dim0 to be a power of two, got 48, in tensor<48x32xf32, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>>

// -----

#e = #ttig.dpas<{repeatCount = 3, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func @f(%x: tensor<64x32xf32, #e>) {
    tt.return
  }
}
// CHECK: tt.func: expected the size of repeatCount to be a power of two, got 3, in tensor<64x32xf32, #ttig.dpas<{repeatCount = 3, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1], A = [3, 16], B = [16, 16], C = [3, 16]}>>

// -----

#e = #ttg.dot_op<{opIdx = 0, parent = #ttig.dpas<{repeatCount = 1, systolicDepth = 8, executionSize = 16, opsPerChan = 1, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>, kWidth = 1}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func @f(%x: tensor<64x32xf32, #e>) {
    tt.return
  }
}
// CHECK: tt.func: expected a repeatCount of at least 2, the rows of A that 16 lanes hold at a time, got 1, in tensor<64x32xf32, #ttg.dot_op<{opIdx = 0, parent = #ttig.dpas<{repeatCount = 1, systolicDepth = 8, executionSize = 16, opsPerChan = 1, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1], A = [1, 8], B = [8, 16], C = [1, 16]}>, kWidth = 1}>>

// -----

#e = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-warps" = 0 : i32} {
  tt.func @f(%x: tensor<64x32xf32, #e>) {
    tt.return
  }
}
// CHECK: tt.func: expected ttg.num-warps to be a positive i32, got 0 : i32

// -----

#e = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-warps" = "four"} {
  tt.func @f(%x: tensor<64x32xf32, #e>) {
    tt.return
  }
}
// CHECK: tt.func: expected ttg.num-warps to be a positive i32, got "four"

// -----

#e = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32, "ttg.num-ctas" = 2 : i32} {
  tt.func @f(%x: tensor<64x32xf32, #e>) {
    tt.return
  }
}
// CHECK: tt.func: expected 2 work-groups, as the module's ttg.num-ctas has (1 if it is missing), got 1 in #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>

// -----

#e = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [8, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func @f(%n: i32) {
    %d = arith.constant true
    %x = scf.if %d -> (tensor<64x32xf32, #e>) {
      %y = arith.constant dense<0.0> : tensor<64x32xf32, #e>
      scf.yield %y : tensor<64x32xf32, #e>
    } else {
      %y = arith.constant dense<1.0> : tensor<64x32xf32, #e>
      scf.yield %y : tensor<64x32xf32, #e>
    }
    tt.return
  }
}
// CHECK: scf.if: expected 4 subgroups, as the module's ttg.num-warps has, got warpsPerCTA of product 8 in #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [8, 1], order = [1, 0]}>
