// RUN: coopc-opt %s -p unwrap-tt-offsets | filecheck %s

// Rows that wrap around at the end of a matrix: where nobody sees those behind it, they
// are masked, and the remainder is gone.

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [2, 1], order = [1, 0]}>
#slice = #ttg.slice<{dim = 1, parent = #blocked}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // CHECK-LABEL: @unseen
  // CHECK: %at = arith.addi
  // CHECK: %sizes = tt.splat %m
  // CHECK-NEXT: [[IN:%.+]] = arith.cmpi slt, %at, %sizes
  // CHECK-NEXT: %column = tt.expand_dims %at
  // CHECK-NEXT: [[COL:%.+]] = tt.expand_dims [[IN]] {axis = 1 : i32} : tensor<16xi1, #slice> -> tensor<16x1xi1, #blocked>
  // CHECK: %wide = tt.broadcast
  // CHECK-NEXT: [[MASK:%.+]] = tt.broadcast [[COL]] : tensor<16x1xi1, #blocked> -> tensor<16x16xi1, #blocked>
  // CHECK: %x = tt.load %p_at, [[MASK]] {ttig.block_io = "row_major"}
  // CHECK-NOT: arith.remsi
  tt.func public @unseen(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %m: i32) {
    %c16 = arith.constant 16 : i32
    %pid = tt.get_program_id x : i32
    %first = arith.muli %pid, %c16 : i32
    %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32, #slice>
    %firsts = tt.splat %first : i32 -> tensor<16xi32, #slice>
    %at = arith.addi %firsts, %range : tensor<16xi32, #slice>
    %sizes = tt.splat %m : i32 -> tensor<16xi32, #slice>
    %rows = arith.remsi %at, %sizes : tensor<16xi32, #slice>
    %column = tt.expand_dims %rows {axis = 1 : i32} : tensor<16xi32, #slice> -> tensor<16x1xi32, #blocked>
    %wide = tt.broadcast %column : tensor<16x1xi32, #blocked> -> tensor<16x16xi32, #blocked>
    %p_all = tt.splat %p : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>, #blocked>
    %p_at = tt.addptr %p_all, %wide : tensor<16x16x!tt.ptr<f32>, #blocked>, tensor<16x16xi32, #blocked>
    %x = tt.load %p_at {ttig.block_io = "row_major"} : tensor<16x16x!tt.ptr<f32>, #blocked>
    %y = math.exp %x : tensor<16x16xf32, #blocked>
    %out = tt.expand_dims %at {axis = 1 : i32} : tensor<16xi32, #slice> -> tensor<16x1xi32, #blocked>
    %limit = tt.splat %m : i32 -> tensor<16x1xi32, #blocked>
    %below = arith.cmpi slt, %out, %limit : tensor<16x1xi32, #blocked>
    %mask = tt.broadcast %below : tensor<16x1xi1, #blocked> -> tensor<16x16xi1, #blocked>
    %q_all = tt.splat %q : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>, #blocked>
    tt.store %q_all, %y, %mask : tensor<16x16x!tt.ptr<f32>, #blocked>
    tt.return
  }

  // The first row again, as Triton's persistent kernel has it; not where a mask says
  // otherwise.
  // CHECK-LABEL: @first_row
  // CHECK: %column = tt.expand_dims %at
  // CHECK: %x = tt.load %p_at, %{{.+}} {ttig.block_io = "row_major"}
  // CHECK-NOT: arith.select
  tt.func public @first_row(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %m: i32) {
    %c16 = arith.constant 16 : i32
    %pid = tt.get_program_id x : i32
    %first = arith.muli %pid, %c16 : i32
    %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32, #slice>
    %firsts = tt.splat %first : i32 -> tensor<16xi32, #slice>
    %at = arith.addi %firsts, %range : tensor<16xi32, #slice>
    %sizes = tt.splat %m : i32 -> tensor<16xi32, #slice>
    %zero = arith.constant dense<0> : tensor<16xi32, #slice>
    %is_in = arith.cmpi slt, %at, %sizes : tensor<16xi32, #slice>
    %rows = arith.select %is_in, %at, %zero : tensor<16xi1, #slice>, tensor<16xi32, #slice>
    %column = tt.expand_dims %rows {axis = 1 : i32} : tensor<16xi32, #slice> -> tensor<16x1xi32, #blocked>
    %wide = tt.broadcast %column : tensor<16x1xi32, #blocked> -> tensor<16x16xi32, #blocked>
    %p_all = tt.splat %p : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>, #blocked>
    %p_at = tt.addptr %p_all, %wide : tensor<16x16x!tt.ptr<f32>, #blocked>, tensor<16x16xi32, #blocked>
    %x = tt.load %p_at {ttig.block_io = "row_major"} : tensor<16x16x!tt.ptr<f32>, #blocked>
    %y = math.exp %x : tensor<16x16xf32, #blocked>
    %out = tt.expand_dims %at {axis = 1 : i32} : tensor<16xi32, #slice> -> tensor<16x1xi32, #blocked>
    %limit = tt.splat %m : i32 -> tensor<16x1xi32, #blocked>
    %below = arith.cmpi slt, %out, %limit : tensor<16x1xi32, #blocked>
    %mask = tt.broadcast %below : tensor<16x1xi1, #blocked> -> tensor<16x16xi1, #blocked>
    %q_all = tt.splat %q : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>, #blocked>
    tt.store %q_all, %y, %mask : tensor<16x16x!tt.ptr<f32>, #blocked>
    tt.return
  }

  // CHECK-LABEL: @other_rows
  // CHECK: %rows = arith.select
  tt.func public @other_rows(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %m: i32) {
    %c16 = arith.constant 16 : i32
    %pid = tt.get_program_id x : i32
    %first = arith.muli %pid, %c16 : i32
    %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32, #slice>
    %firsts = tt.splat %first : i32 -> tensor<16xi32, #slice>
    %at = arith.addi %firsts, %range : tensor<16xi32, #slice>
    %sizes = tt.splat %m : i32 -> tensor<16xi32, #slice>
    %zero = arith.constant dense<0> : tensor<16xi32, #slice>
    %is_in = arith.cmpi sgt, %at, %sizes : tensor<16xi32, #slice>
    %rows = arith.select %is_in, %at, %zero : tensor<16xi1, #slice>, tensor<16xi32, #slice>
    %column = tt.expand_dims %rows {axis = 1 : i32} : tensor<16xi32, #slice> -> tensor<16x1xi32, #blocked>
    %wide = tt.broadcast %column : tensor<16x1xi32, #blocked> -> tensor<16x16xi32, #blocked>
    %p_all = tt.splat %p : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>, #blocked>
    %p_at = tt.addptr %p_all, %wide : tensor<16x16x!tt.ptr<f32>, #blocked>, tensor<16x16xi32, #blocked>
    %x = tt.load %p_at {ttig.block_io = "row_major"} : tensor<16x16x!tt.ptr<f32>, #blocked>
    %y = math.exp %x : tensor<16x16xf32, #blocked>
    %out = tt.expand_dims %at {axis = 1 : i32} : tensor<16xi32, #slice> -> tensor<16x1xi32, #blocked>
    %limit = tt.splat %m : i32 -> tensor<16x1xi32, #blocked>
    %below = arith.cmpi slt, %out, %limit : tensor<16x1xi32, #blocked>
    %mask = tt.broadcast %below : tensor<16x1xi1, #blocked> -> tensor<16x16xi1, #blocked>
    %q_all = tt.splat %q : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>, #blocked>
    tt.store %q_all, %y, %mask : tensor<16x16x!tt.ptr<f32>, #blocked>
    tt.return
  }

  // Stored without a mask, below another limit, reduced over the rows, or divided by:
  // then it matters what is behind the end.
  // CHECK-LABEL: @seen
  // CHECK-COUNT-4: arith.remsi
  tt.func public @seen(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %m: i32, %n: i32) {
    %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32, #slice>
    %sizes = tt.splat %m : i32 -> tensor<16xi32, #slice>
    %others = tt.splat %n : i32 -> tensor<16xi32, #slice>
    %mask = arith.cmpi slt, %range, %sizes : tensor<16xi32, #slice>
    %wrong = arith.cmpi slt, %range, %others : tensor<16xi32, #slice>
    %p_all = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>, #slice>
    %q_all = tt.splat %q : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>, #slice>
    %a_at = arith.remsi %range, %sizes : tensor<16xi32, #slice>
    %a_ptr = tt.addptr %p_all, %a_at : tensor<16x!tt.ptr<i32>, #slice>, tensor<16xi32, #slice>
    %a = tt.load %a_ptr : tensor<16x!tt.ptr<i32>, #slice>
    tt.store %q_all, %a : tensor<16x!tt.ptr<i32>, #slice>
    %b_at = arith.remsi %range, %sizes : tensor<16xi32, #slice>
    %b_ptr = tt.addptr %p_all, %b_at : tensor<16x!tt.ptr<i32>, #slice>, tensor<16xi32, #slice>
    %b = tt.load %b_ptr : tensor<16x!tt.ptr<i32>, #slice>
    tt.store %q_all, %b, %wrong : tensor<16x!tt.ptr<i32>, #slice>
    %c_at = arith.remsi %range, %sizes : tensor<16xi32, #slice>
    %c_ptr = tt.addptr %p_all, %c_at : tensor<16x!tt.ptr<i32>, #slice>, tensor<16xi32, #slice>
    %c = tt.load %c_ptr : tensor<16x!tt.ptr<i32>, #slice>
    %sum = "tt.reduce"(%c) <{axis = 0 : i32}> ({
    ^bb0(%x: i32, %y: i32):
      %both = arith.addi %x, %y : i32
      tt.reduce.return %both : i32
    }) : (tensor<16xi32, #slice>) -> i32
    tt.store %q, %sum : !tt.ptr<i32>
    %d_at = arith.remsi %range, %sizes : tensor<16xi32, #slice>
    %d_ptr = tt.addptr %p_all, %d_at : tensor<16x!tt.ptr<i32>, #slice>, tensor<16xi32, #slice>
    %d = tt.load %d_ptr : tensor<16x!tt.ptr<i32>, #slice>
    %e = arith.divsi %range, %d : tensor<16xi32, #slice>
    tt.store %q_all, %e, %mask : tensor<16x!tt.ptr<i32>, #slice>
    tt.return
  }

  // What goes through a buffer, and out of a branch, is not seen either.
  // CHECK-LABEL: @through
  // CHECK-NOT: arith.remsi
  tt.func public @through(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %m: i32, %flag: i1) {
    %zeros = arith.constant dense<0> : tensor<16xi32, #slice>
    %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32, #slice>
    %sizes = tt.splat %m : i32 -> tensor<16xi32, #slice>
    %mask = arith.cmpi slt, %range, %sizes : tensor<16xi32, #slice>
    %p_all = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>, #slice>
    %q_all = tt.splat %q : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>, #slice>
    %at = arith.remsi %range, %sizes : tensor<16xi32, #slice>
    %ptr = tt.addptr %p_all, %at : tensor<16x!tt.ptr<i32>, #slice>, tensor<16xi32, #slice>
    %chosen = scf.if %flag -> (tensor<16xi32, #slice>) {
      %x = tt.load %ptr : tensor<16x!tt.ptr<i32>, #slice>
      %buffer = ttg.local_alloc %x : (tensor<16xi32, #slice>) -> !ttg.memdesc<16xi32, #shared, #smem>
      %y = ttg.local_load %buffer : !ttg.memdesc<16xi32, #shared, #smem> -> tensor<16xi32, #slice>
      scf.yield %y : tensor<16xi32, #slice>
    } else {
      scf.yield %zeros : tensor<16xi32, #slice>
    }
    tt.store %q_all, %chosen, %mask : tensor<16x!tt.ptr<i32>, #slice>
    tt.return
  }

  // What comes out of a branch may be stored without a mask.
  // CHECK-LABEL: @branch_seen
  // CHECK: arith.remsi
  tt.func public @branch_seen(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %m: i32, %flag: i1) {
    %zeros = arith.constant dense<0> : tensor<16xi32, #slice>
    %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32, #slice>
    %sizes = tt.splat %m : i32 -> tensor<16xi32, #slice>
    %p_all = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>, #slice>
    %q_all = tt.splat %q : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>, #slice>
    %at = arith.remsi %range, %sizes : tensor<16xi32, #slice>
    %ptr = tt.addptr %p_all, %at : tensor<16x!tt.ptr<i32>, #slice>, tensor<16xi32, #slice>
    %chosen = scf.if %flag -> (tensor<16xi32, #slice>) {
      %x = tt.load %ptr : tensor<16x!tt.ptr<i32>, #slice>
      scf.yield %x : tensor<16xi32, #slice>
    } else {
      scf.yield %zeros : tensor<16xi32, #slice>
    }
    tt.store %q_all, %chosen : tensor<16x!tt.ptr<i32>, #slice>
    tt.return
  }

  // K of a batch of products is added up: what is wrapped there is seen.
  // CHECK-LABEL: @batch_k
  // CHECK: arith.remsi
  tt.func public @batch_k(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %o: !tt.ptr<f32>, %n: i32) {
    %zeros = arith.constant dense<0.0> : tensor<1x16x16xf32>
    %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %sizes = tt.splat %n : i32 -> tensor<16xi32>
    %rem = arith.remsi %r, %sizes : tensor<16xi32>
    %c16 = arith.constant dense<16> : tensor<1x16x1xi32>
    %m2 = tt.expand_dims %r {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
    %m3 = tt.expand_dims %m2 {axis = 0 : i32} : tensor<16x1xi32> -> tensor<1x16x1xi32>
    %k2 = tt.expand_dims %rem {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
    %k3 = tt.expand_dims %k2 {axis = 0 : i32} : tensor<1x16xi32> -> tensor<1x1x16xi32>
    %i2 = tt.expand_dims %r {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
    %i3 = tt.expand_dims %i2 {axis = 0 : i32} : tensor<16x1xi32> -> tensor<1x16x1xi32>
    %j2 = tt.expand_dims %r {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
    %j3 = tt.expand_dims %j2 {axis = 0 : i32} : tensor<1x16xi32> -> tensor<1x1x16xi32>
    %m4 = arith.muli %m3, %c16 : tensor<1x16x1xi32>
    %i4 = arith.muli %i3, %c16 : tensor<1x16x1xi32>
    %m5 = tt.broadcast %m4 : tensor<1x16x1xi32> -> tensor<1x16x16xi32>
    %k5 = tt.broadcast %k3 : tensor<1x1x16xi32> -> tensor<1x16x16xi32>
    %i5 = tt.broadcast %i4 : tensor<1x16x1xi32> -> tensor<1x16x16xi32>
    %j5 = tt.broadcast %j3 : tensor<1x1x16xi32> -> tensor<1x16x16xi32>
    %a_at = arith.addi %m5, %k5 : tensor<1x16x16xi32>
    %at = arith.addi %i5, %j5 : tensor<1x16x16xi32>
    %ps = tt.splat %p : !tt.ptr<f16> -> tensor<1x16x16x!tt.ptr<f16>>
    %qs = tt.splat %q : !tt.ptr<f16> -> tensor<1x16x16x!tt.ptr<f16>>
    %os = tt.splat %o : !tt.ptr<f32> -> tensor<1x16x16x!tt.ptr<f32>>
    %pa = tt.addptr %ps, %a_at : tensor<1x16x16x!tt.ptr<f16>>, tensor<1x16x16xi32>
    %pb = tt.addptr %qs, %at : tensor<1x16x16x!tt.ptr<f16>>, tensor<1x16x16xi32>
    %po = tt.addptr %os, %at : tensor<1x16x16x!tt.ptr<f32>>, tensor<1x16x16xi32>
    %a = tt.load %pa : tensor<1x16x16x!tt.ptr<f16>>
    %b = tt.load %pb : tensor<1x16x16x!tt.ptr<f16>>
    %d = tt.dot %a, %b, %zeros : tensor<1x16x16xf16> * tensor<1x16x16xf16> -> tensor<1x16x16xf32>
    %size3 = tt.splat %n : i32 -> tensor<1x1x16xi32>
    %in = arith.cmpi slt, %j3, %size3 : tensor<1x1x16xi32>
    %mask = tt.broadcast %in : tensor<1x1x16xi1> -> tensor<1x16x16xi1>
    tt.store %po, %d, %mask : tensor<1x16x16x!tt.ptr<f32>>
    tt.return
  }

  // Rows of one are not.
  // CHECK-LABEL: @batch_m
  // CHECK-NOT: arith.remsi
  tt.func public @batch_m(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %o: !tt.ptr<f32>, %n: i32) {
    %zeros = arith.constant dense<0.0> : tensor<1x16x16xf32>
    %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %sizes = tt.splat %n : i32 -> tensor<16xi32>
    %rem = arith.remsi %r, %sizes : tensor<16xi32>
    %c16 = arith.constant dense<16> : tensor<1x16x1xi32>
    %m2 = tt.expand_dims %rem {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
    %m3 = tt.expand_dims %m2 {axis = 0 : i32} : tensor<16x1xi32> -> tensor<1x16x1xi32>
    %k2 = tt.expand_dims %r {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
    %k3 = tt.expand_dims %k2 {axis = 0 : i32} : tensor<1x16xi32> -> tensor<1x1x16xi32>
    %i2 = tt.expand_dims %r {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
    %i3 = tt.expand_dims %i2 {axis = 0 : i32} : tensor<16x1xi32> -> tensor<1x16x1xi32>
    %j2 = tt.expand_dims %r {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
    %j3 = tt.expand_dims %j2 {axis = 0 : i32} : tensor<1x16xi32> -> tensor<1x1x16xi32>
    %m4 = arith.muli %m3, %c16 : tensor<1x16x1xi32>
    %i4 = arith.muli %i3, %c16 : tensor<1x16x1xi32>
    %m5 = tt.broadcast %m4 : tensor<1x16x1xi32> -> tensor<1x16x16xi32>
    %k5 = tt.broadcast %k3 : tensor<1x1x16xi32> -> tensor<1x16x16xi32>
    %i5 = tt.broadcast %i4 : tensor<1x16x1xi32> -> tensor<1x16x16xi32>
    %j5 = tt.broadcast %j3 : tensor<1x1x16xi32> -> tensor<1x16x16xi32>
    %a_at = arith.addi %m5, %k5 : tensor<1x16x16xi32>
    %at = arith.addi %i5, %j5 : tensor<1x16x16xi32>
    %ps = tt.splat %p : !tt.ptr<f16> -> tensor<1x16x16x!tt.ptr<f16>>
    %qs = tt.splat %q : !tt.ptr<f16> -> tensor<1x16x16x!tt.ptr<f16>>
    %os = tt.splat %o : !tt.ptr<f32> -> tensor<1x16x16x!tt.ptr<f32>>
    %pa = tt.addptr %ps, %a_at : tensor<1x16x16x!tt.ptr<f16>>, tensor<1x16x16xi32>
    %pb = tt.addptr %qs, %at : tensor<1x16x16x!tt.ptr<f16>>, tensor<1x16x16xi32>
    %po = tt.addptr %os, %at : tensor<1x16x16x!tt.ptr<f32>>, tensor<1x16x16xi32>
    %a = tt.load %pa : tensor<1x16x16x!tt.ptr<f16>>
    %b = tt.load %pb : tensor<1x16x16x!tt.ptr<f16>>
    %d = tt.dot %a, %b, %zeros : tensor<1x16x16xf16> * tensor<1x16x16xf16> -> tensor<1x16x16xf32>
    %size3 = tt.splat %n : i32 -> tensor<1x16x1xi32>
    %in = arith.cmpi slt, %i3, %size3 : tensor<1x16x1xi32>
    %mask = tt.broadcast %in : tensor<1x16x1xi1> -> tensor<1x16x16xi1>
    tt.store %po, %d, %mask : tensor<1x16x16x!tt.ptr<f32>>
    tt.return
  }
}
