// RUN: coopc-opt %s -p 'convert-tt-pointers-to-descriptors,plan-block-io{device=bmg}' | filecheck %s

// What a product takes, as Intel's Triton loads it: through pointers, and a buffer that
// brings it to its lanes. Where strides are known the factors are loaded as 2D blocks,
// as the product wants them, without a buffer.

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 4], warpsPerCTA = [1, 1], order = [1, 0]}>
#rows = #ttg.slice<{dim = 1, parent = #blocked}>
#cols = #ttg.slice<{dim = 0, parent = #blocked}>
#mma = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [1, 1], repCluster = [1, 1]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 1}>
#b = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // CHECK-LABEL: @factors
  // CHECK-NOT:   ttg.local
  // CHECK:       [[A:%.+]] = tt.descriptor_load
  // CHECK-SAME:    #xe.block_load_plan
  // CHECK-SAME:    -> tensor<32x32xf16, #dot>
  // CHECK:       [[B:%.+]] = tt.descriptor_load
  // CHECK-SAME:    #xe.block_load_plan
  // CHECK-SAME:    -> tensor<32x32xf16, #dot1>
  // CHECK-NOT:   ttg.local
  // CHECK:       tt.dot [[A]], [[B]]
  tt.func public @factors(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %n: i32, %out: !tt.ptr<f32>) {
    %zeros = arith.constant dense<0.0> : tensor<32x32xf32, #mma>
    %range_m = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #rows>
    %range_n = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #cols>
    %row = tt.expand_dims %range_m {axis = 1 : i32} : tensor<32xi32, #rows> -> tensor<32x1xi32, #blocked>
    %col = tt.expand_dims %range_n {axis = 0 : i32} : tensor<32xi32, #cols> -> tensor<1x32xi32, #blocked>
    %pitch = tt.splat %n : i32 -> tensor<32x1xi32, #blocked>
    %down = arith.muli %row, %pitch : tensor<32x1xi32, #blocked>
    %wide = tt.broadcast %down : tensor<32x1xi32, #blocked> -> tensor<32x32xi32, #blocked>
    %long = tt.broadcast %col : tensor<1x32xi32, #blocked> -> tensor<32x32xi32, #blocked>
    %at = arith.addi %wide, %long : tensor<32x32xi32, #blocked>
    %ps = tt.splat %p : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>, #blocked>
    %qs = tt.splat %q : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>, #blocked>
    %p_at = tt.addptr %ps, %at : tensor<32x32x!tt.ptr<f16>, #blocked>, tensor<32x32xi32, #blocked>
    %q_at = tt.addptr %qs, %at : tensor<32x32x!tt.ptr<f16>, #blocked>, tensor<32x32xi32, #blocked>
    %x = tt.load %p_at : tensor<32x32x!tt.ptr<f16>, #blocked>
    %m = ttg.local_alloc %x : (tensor<32x32xf16, #blocked>) -> !ttg.memdesc<32x32xf16, #shared, #smem>
    %a = ttg.local_load %m : !ttg.memdesc<32x32xf16, #shared, #smem> -> tensor<32x32xf16, #a>
    %y = tt.load %q_at : tensor<32x32x!tt.ptr<f16>, #blocked>
    %b = ttg.convert_layout %y : tensor<32x32xf16, #blocked> -> tensor<32x32xf16, #b>
    %d = tt.dot %a, %b, %zeros, inputPrecision = tf32 : tensor<32x32xf16, #a> * tensor<32x32xf16, #b> -> tensor<32x32xf32, #mma>
    "test.op"(%d) : (tensor<32x32xf32, #mma>) -> ()
    tt.return
  }

  // A pitch that is computed cannot be checked by the caller, and what has other users
  // is loaded for those.

  // CHECK-LABEL: @others
  // CHECK:       %x = tt.load
  // CHECK:       ttg.local_alloc %x
  // CHECK:       %y = tt.load
  // CHECK:       ttg.convert_layout %y
  tt.func public @others(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %n: i32) {
    %zeros = arith.constant dense<0.0> : tensor<32x32xf32, #mma>
    %range_m = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #rows>
    %range_n = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #cols>
    %row = tt.expand_dims %range_m {axis = 1 : i32} : tensor<32xi32, #rows> -> tensor<32x1xi32, #blocked>
    %col = tt.expand_dims %range_n {axis = 0 : i32} : tensor<32xi32, #cols> -> tensor<1x32xi32, #blocked>
    %twice = arith.addi %n, %n : i32
    %pitch = tt.splat %n : i32 -> tensor<32x1xi32, #blocked>
    %pitches = tt.splat %twice : i32 -> tensor<32x1xi32, #blocked>
    %down = arith.muli %row, %pitch : tensor<32x1xi32, #blocked>
    %deep = arith.muli %row, %pitches : tensor<32x1xi32, #blocked>
    %wide = tt.broadcast %down : tensor<32x1xi32, #blocked> -> tensor<32x32xi32, #blocked>
    %wider = tt.broadcast %deep : tensor<32x1xi32, #blocked> -> tensor<32x32xi32, #blocked>
    %long = tt.broadcast %col : tensor<1x32xi32, #blocked> -> tensor<32x32xi32, #blocked>
    %at = arith.addi %wide, %long : tensor<32x32xi32, #blocked>
    %far = arith.addi %wider, %long : tensor<32x32xi32, #blocked>
    %ps = tt.splat %p : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>, #blocked>
    %qs = tt.splat %q : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>, #blocked>
    %p_at = tt.addptr %ps, %far : tensor<32x32x!tt.ptr<f16>, #blocked>, tensor<32x32xi32, #blocked>
    %q_at = tt.addptr %qs, %at : tensor<32x32x!tt.ptr<f16>, #blocked>, tensor<32x32xi32, #blocked>
    %x = tt.load %p_at : tensor<32x32x!tt.ptr<f16>, #blocked>
    %m = ttg.local_alloc %x : (tensor<32x32xf16, #blocked>) -> !ttg.memdesc<32x32xf16, #shared, #smem>
    %a = ttg.local_load %m : !ttg.memdesc<32x32xf16, #shared, #smem> -> tensor<32x32xf16, #a>
    %y = tt.load %q_at : tensor<32x32x!tt.ptr<f16>, #blocked>
    %b = ttg.convert_layout %y : tensor<32x32xf16, #blocked> -> tensor<32x32xf16, #b>
    %d = tt.dot %a, %b, %zeros, inputPrecision = tf32 : tensor<32x32xf16, #a> * tensor<32x32xf16, #b> -> tensor<32x32xf32, #mma>
    "test.op"(%d, %y) : (tensor<32x32xf32, #mma>, tensor<32x32xf16, #blocked>) -> ()
    tt.return
  }

  // B that lies transposed in memory, and goes through a buffer that is transposed.

  // CHECK-LABEL: @transposed
  // CHECK-NOT:   ttg.local
  // CHECK:       [[B:%.+]] = tt.descriptor_load
  // CHECK-SAME:    ttig.block_io = "column_major"
  // CHECK-SAME:    #xe.block_load_plan
  // CHECK-SAME:    -> tensor<32x64xf16, #dot1>
  // CHECK-NOT:   ttg.memdesc_trans
  tt.func public @transposed(%p: !tt.ptr<f16>, %m: i32, %n: i64, %k: i32) {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %desc = tt.make_tensor_descriptor %p, [%m, %k], [%n, %one] : <f16>, <64x32xf16>
    %x = tt.descriptor_load %desc[%c0, %c0] : !tt.tensordesc<64x32xf16> -> tensor<64x32xf16, #blocked>
    %buffer = ttg.local_alloc %x : (tensor<64x32xf16, #blocked>) -> !ttg.memdesc<64x32xf16, #shared, #smem>
    %flipped = ttg.memdesc_trans %buffer {order = array<i32: 1, 0>} : !ttg.memdesc<64x32xf16, #shared, #smem> -> !ttg.memdesc<32x64xf16, #shared1, #smem>
    %b = ttg.local_load %flipped : !ttg.memdesc<32x64xf16, #shared1, #smem> -> tensor<32x64xf16, #b>
    "test.op"(%b) : (tensor<32x64xf16, #b>) -> ()
    tt.return
  }
}
