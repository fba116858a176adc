// RUN: coopc-opt %s -p 'plan-block-io{device=bmg},convert-ttgir-to-xe' --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// What cannot be converted is named, with the reason; nothing is changed then.

#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#cols = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [1, 4], order = [1, 0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @across_subgroups(%x: f32) {
    %0 = tt.splat %x : f32 -> tensor<256x128xf32, #rows>
    // CHECK: ttg.convert_layout: expected at most 65536 bytes in work-group memory, through which subgroups exchange, got 131072
    %1 = ttg.convert_layout %0 : tensor<256x128xf32, #rows> -> tensor<256x128xf32, #cols>
    tt.return
  }
}

// -----

#mixed = #ttg.linear<{register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 4], [2, 0]], warp = [[4, 0], [8, 0]], block = []}>
#slice = #ttg.slice<{dim = 1, parent = #mixed}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @reduce_mixed(%x: f32) {
    %0 = tt.splat %x : f32 -> tensor<16x16xf32, #mixed>
    // CHECK: tt.reduce: expected a basis of a lane along one dimension, not (1, 4), got tensor<16x16xf32
    %1 = "tt.reduce"(%0) <{axis = 1 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tt.reduce.return %c : f32
    }) : (tensor<16x16xf32, #mixed>) -> tensor<16xf32, #slice>
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
    // CHECK: tt.assert: tt.assert is not supported: a kernel cannot stop with a message
    tt.assert %x, "no" : i1
    tt.return
  }
}

// -----

#t = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [2, 2], order = [1, 0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @one_of_two_descriptors(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %one = arith.constant 1 : i64
    %pitch = arith.constant 32 : i64
    %x = tt.make_tensor_descriptor %a, [%c32, %c32], [%pitch, %one] : <f32>, <32x32xf32>
    %y = tt.make_tensor_descriptor %b, [%c32, %c32], [%pitch, %one] : <f32>, <32x32xf32>
    // CHECK: scf.for: expected a descriptor that is made in one place, got !tt.tensordesc<32x32xf32> of 2 places
    %r:2 = scf.for %i = %c0 to %n step %c32 iter_args(%p = %x, %q = %y) -> (!tt.tensordesc<32x32xf32>, !tt.tensordesc<32x32xf32>) : i32 {
      %v = tt.descriptor_load %p[%c0, %c0] {ttig.block_io = "row_major"} : !tt.tensordesc<32x32xf32> -> tensor<32x32xf32, #t>
      scf.yield %q, %p : !tt.tensordesc<32x32xf32>, !tt.tensordesc<32x32xf32>
    }
    tt.return
  }
}

// -----

module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // CHECK: tt.func: expected a descriptor that is made in the kernel, got !tt.tensordesc<32x32xf32>
  tt.func public @given_descriptor(%a: !tt.tensordesc<32x32xf32>) {
    tt.return
  }
}

// -----

#t = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [16], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @one_of_two_pointers(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = tt.splat %a : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, #t>
    %y = tt.splat %b : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, #t>
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %y) -> (tensor<256x!tt.ptr<f32>, #t>, tensor<256x!tt.ptr<f32>, #t>) : i32 {
      // CHECK: tt.load: expected pointers that count from one scalar pointer
      %v = tt.load %p : tensor<256x!tt.ptr<f32>, #t>
      scf.yield %q, %p : tensor<256x!tt.ptr<f32>, #t>, tensor<256x!tt.ptr<f32>, #t>
    }
    tt.return
  }
}

// -----

module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @prints(%x: i32) {
    // CHECK: tt.print: tt.print is not supported: a kernel has no output to print to
    tt.print " x: " {hex = false, isSigned = array<i32: 1>} : %x : i32
    tt.return
  }
}

// -----

module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @address(%p: !tt.ptr<f32>) {
    // CHECK: tt.ptr_to_int: expected a pointer that is moved by elements, not a number of bytes
    %0 = tt.ptr_to_int %p : !tt.ptr<f32> -> i64
    tt.return
  }
}

// -----

module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @not_expanded(%x: f32) {
    // CHECK: tt.precise_sqrt: expected arithmetic of arith and math: expand-tt-math
    %0 = tt.precise_sqrt %x : f32
    tt.return
  }
}

// -----

module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @toward_zero(%x: f32) {
    // CHECK: tt.fp_to_fp: expected rounding = rtne, which conversions have, got rtz
    %0 = tt.fp_to_fp %x, rounding = rtz : f32 -> bf16
    tt.return
  }
}

// -----

module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @narrower(%p: !tt.ptr<f32>) {
    // CHECK: tt.bitcast: expected pointers to elements of as many bits, got !tt.ptr<f32> to !tt.ptr<i8>
    %0 = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i8>
    tt.return
  }
}

// -----

module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @numbers(%x: f32) {
    // CHECK: tt.bitcast: expected pointers, got numbers: expand-tt-math
    %0 = tt.bitcast %x : f32 -> i32
    tt.return
  }
}

// -----

#a = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [2, 2], order = [1, 0]}>
#rows = #ttg.slice<{dim = 1, parent = #a}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @too_many_to_give_back(%p: !tt.ptr<f32>, %x: f32, %out: !tt.ptr<f32>) {
    %0 = tt.splat %p : !tt.ptr<f32> -> tensor<32768x!tt.ptr<f32>, #rows>
    %1 = tt.splat %x : f32 -> tensor<32768xf32, #rows>
    // CHECK: tt.atomic_rmw: expected at most 65536 bytes in work-group memory, through which subgroups exchange, got 131072
    %2 = tt.atomic_rmw fadd, relaxed, gpu, %0, %1 : (tensor<32768x!tt.ptr<f32>, #rows>, tensor<32768xf32, #rows>) -> tensor<32768xf32, #rows>
    tt.store %0, %2 : tensor<32768x!tt.ptr<f32>, #rows>
    tt.return
  }
}

// -----

module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @chosen(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %c: i1) {
    // CHECK: arith.select: expected !tt.ptr<f32> not to be chosen or carried: choose or carry how far it is moved
    %0 = arith.select %c, %p, %q : !tt.ptr<f32>
    tt.return
  }
}

// -----

module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @carried(%p: !tt.ptr<f32>, %n: i32) {
    %0 = arith.constant 0 : i32
    %1 = arith.constant 1 : i32
    // CHECK: scf.for: expected !tt.ptr<f32> not to be chosen or carried: choose or carry how far it is moved
    %2 = scf.for %i = %0 to %n step %1 iter_args(%q = %p) -> (!tt.ptr<f32>) : i32 {
      %r = tt.addptr %q, %1 : !tt.ptr<f32>, i32
      scf.yield %r : !tt.ptr<f32>
    }
    tt.return
  }
}

// -----

#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [1, 4], repCluster = [1, 1]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#b = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @less_than_one_dpas() {
    %0 = arith.constant dense<0.0> : tensor<4x64xf16, #a>
    %1 = arith.constant dense<0.0> : tensor<64x128xf16, #b>
    %2 = arith.constant dense<0.0> : tensor<4x128xf32, #dpas>
    // CHECK: tt.dot: expected a result of at least 8 x 16, one DPAS, got tensor<4x128xf32
    %3 = tt.dot %0, %1, %2 : tensor<4x64xf16, #a> * tensor<64x128xf16, #b> -> tensor<4x128xf32, #dpas>
    tt.return
  }
}

// -----

#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [1, 4], repCluster = [1, 1]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#b = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @other_accumulator() {
    %0 = arith.constant dense<0.0> : tensor<8x16xbf16, #a>
    %1 = arith.constant dense<0.0> : tensor<16x64xbf16, #b>
    %2 = arith.constant dense<0.0> : tensor<8x64xf16, #dpas>
    // CHECK: tt.dot: expected a result of f32 or bf16, as bf16 has, got f16
    %3 = tt.dot %0, %1, %2 : tensor<8x16xbf16, #a> * tensor<16x64xbf16, #b> -> tensor<8x64xf16, #dpas>
    tt.return
  }
}

// -----

#t = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [16], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @wide(%a: !tt.ptr<f32>, %x: i128) {
    // CHECK: tt.splat: expected integers of 1, 8, 16, 32 or 64 bits, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, f32, f64, or pointers to them, got tensor<256xi128
    %0 = tt.splat %x : i128 -> tensor<256xi128, #t>
    tt.return
  }
}

// -----

module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // CHECK: tt.func: expected integers of 1, 8, 16, 32 or 64 bits, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, f32, f64, or pointers to them, got !tt.ptr<!tt.ptr<f32>>
  tt.func public @pointers_in_memory(%a: !tt.ptr<!tt.ptr<f32>>) {
    tt.return
  }
}

// -----

#t = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [16], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // CHECK: tt.func: expected integers of 1, 8, 16, 32 or 64 bits, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, f32, f64, or pointers to them, got !tt.ptr<i4>
  tt.func public @nibbles(%a: !tt.ptr<i4> {tt.divisibility = 16 : i32}) {
    %at = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #t>
    %as = tt.splat %a : !tt.ptr<i4> -> tensor<256x!tt.ptr<i4>, #t>
    %ps = tt.addptr %as, %at : tensor<256x!tt.ptr<i4>, #t>, tensor<256xi32, #t>
    %x = tt.load %ps : tensor<256x!tt.ptr<i4>, #t>
    tt.return
  }
}

// -----

#t = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [16], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // CHECK: tt.func: expected integers of 1, 8, 16, 32 or 64 bits, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, f32, f64, or pointers to them, got !tt.ptr<f4E2M1FN>
  tt.func public @nibbles_of_floats(%a: !tt.ptr<f4E2M1FN> {tt.divisibility = 16 : i32}) {
    %at = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #t>
    %as = tt.splat %a : !tt.ptr<f4E2M1FN> -> tensor<256x!tt.ptr<f4E2M1FN>, #t>
    %ps = tt.addptr %as, %at : tensor<256x!tt.ptr<f4E2M1FN>, #t>, tensor<256xi32, #t>
    %x = tt.load %ps : tensor<256x!tt.ptr<f4E2M1FN>, #t>
    tt.return
  }
}

// -----

module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @bits_in_memory(%a: !tt.ptr<i1>, %n: i32, %one: i64) {
    // CHECK: tt.make_tensor_descriptor: expected elements of whole bytes in memory, got !tt.tensordesc<32x32xi1>
    %0 = tt.make_tensor_descriptor %a, [%n, %n], [%one, %one] : <i1>, <32x32xi1>
    tt.return
  }
}

// -----

module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @long_rows(%a: !tt.ptr<f32>, %n: i32) {
    %one = arith.constant 1 : i64
    %pitch = arith.constant 1073741824 : i64
    // CHECK: tt.make_tensor_descriptor: expected rows of less than 2 GiB, got one of 1073741824 elements
    %0 = tt.make_tensor_descriptor %a, [%n, %n], [%pitch, %one] : <f32>, <32x32xf32>
    tt.return
  }
}

// -----

#half = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [16], warpsPerCTA = [1], order = [0]}>
#pairs = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 2], warpsPerCTA = [1, 1], order = [1, 0]}>
module attributes {"ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @pairs_in_two_lanes(%x: f32) {
    %0 = tt.splat %x : f32 -> tensor<64xf32, #half>
    // CHECK: tt.join: expected both elements of a pair in the lane that has one, which those of tensor<64xf32
    %1 = tt.join %0, %0 : tensor<64xf32, #half> -> tensor<64x2xf32, #pairs>
    tt.return
  }
}

// -----

#one = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [16], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @narrow_floats(%x: f16) {
    %0 = tt.splat %x : f16 -> tensor<256xf16, #one>
    // CHECK: tt.fp_to_fp: expected integers of 1, 8, 16, 32 or 64 bits, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, f32, f64, or pointers to them, got tensor<256xf8E4M3,
    %1 = tt.fp_to_fp %0, rounding = rtne : tensor<256xf16, #one> -> tensor<256xf8E4M3, #one>
    tt.return
  }
}

// -----

#one = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [16], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @block_pointer(%x: !tt.ptr<f32>) {
    %n = arith.constant 64 : i64
    %step = arith.constant 1 : i64
    %at = arith.constant 0 : i32
    %p = tt.make_tensor_ptr %x, [%n], [%step], [%at] {order = array<i32: 0>} : <tensor<64xf32, #one>>
    // CHECK: tt.load: expected a block pointer that is understood, got one as it was: convert-tt-pointers-to-descriptors
    %v = tt.load %p {boundaryCheck = array<i32>} : !tt.ptr<tensor<64xf32, #one>>
    tt.return
  }
}
