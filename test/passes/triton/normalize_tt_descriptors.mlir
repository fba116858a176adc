// RUN: coopc-opt %s -p normalize-tt-descriptors | filecheck %s

// Descriptors as the hardware has surfaces: two dimensions, zeros outside.

#t = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [2, 1], order = [1, 0]}>
module attributes {"ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // What is behind the last matrix begins behind the last row of one.
  // CHECK-LABEL: @rank_3
  tt.func public @rank_3(%p: !tt.ptr<f32>, %b: i32, %m: i32, %n: i32, %s: i64, %i: i32) {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %d = tt.make_tensor_descriptor %p, [%b, %m, %n], [%s, %s, %one] : <f32>, <1x16x16xf32>
    // CHECK: [[I:%.+]] = arith.extsi %i : i32 to i64
    // CHECK-NEXT: [[BY:%.+]] = arith.muli [[I]], %s
    // CHECK-NEXT: [[P:%.+]] = tt.addptr %p, [[BY]]
    // CHECK-NEXT: [[IN:%.+]] = arith.cmpi ult, %i, %b
    // CHECK-NEXT: [[D:%.+]] = tt.make_tensor_descriptor [[P]], [%m, %n], [%s, %one] : <f32>, <16x16xf32>
    // CHECK: [[Y:%.+]] = arith.select [[IN]], %c0, %m
    // CHECK-NEXT: tt.descriptor_load [[D]][[[Y]], %n] {ttig.block_io = "row_major"}
    %x = tt.descriptor_load %d[%i, %c0, %n] {ttig.block_io = "row_major"} : !tt.tensordesc<1x16x16xf32> -> tensor<16x16xf32, #t>
    "test.op"(%x) : (tensor<16x16xf32, #t>) -> ()
    // CHECK: tt.descriptor_load %{{.+}}[%m, %c0]
    %y = tt.descriptor_load %d[%c0, %m, %c0] {ttig.block_io = "row_major"} : !tt.tensordesc<1x16x16xf32> -> tensor<16x16xf32, #t>
    "test.op"(%y) : (tensor<16x16xf32, #t>) -> ()
    tt.return
  }

  // NaN is chosen once zeros were loaded; coordinates are those of memory.
  // CHECK-LABEL: @nan
  tt.func public @nan(%p: !tt.ptr<f32>, %m: i32, %n: i32, %s: i64, %i: i32) {
    %one = arith.constant 1 : i64
    // CHECK: [[D:%.+]] = tt.make_tensor_descriptor %p, [%m, %n], [%s, %one] : <f32>, <16x16xf32>
    %d = tt.make_tensor_descriptor %p, [%m, %n], [%s, %one] {padding = 2 : i32} : <f32>, <16x16xf32>
    // CHECK-NEXT: [[X:%.+]] = tt.descriptor_load [[D]][%i, %m] {ttig.block_io = "column_major"}
    // CHECK-NEXT: tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32, #slice>
    // CHECK-NEXT: tt.splat %m
    // CHECK-NEXT: [[N:%.+]] = tt.splat %n
    // CHECK-NEXT: [[J:%.+]] = arith.addi
    // CHECK-NEXT: arith.cmpi ult, [[J]], [[N]]
    // CHECK: [[M:%.+]] = tt.splat %m
    // CHECK-NEXT: [[K:%.+]] = arith.addi
    // CHECK-NEXT: arith.cmpi ult, [[K]], [[M]]
    // CHECK: [[MASK:%.+]] = arith.andi
    // CHECK-NEXT: [[NAN:%.+]] = arith.constant dense<0x7fc00000>
    // CHECK-NEXT: arith.select [[MASK]], [[X]], [[NAN]]
    %x = tt.descriptor_load %d[%i, %m] {ttig.block_io = "column_major"} : !tt.tensordesc<16x16xf32> -> tensor<16x16xf32, #t>
    "test.op"(%x) : (tensor<16x16xf32, #t>) -> ()
    tt.return
  }

  // A base of 32 bytes more than a multiple of 64: the columns begin later, and end later
  // if that is a bound.
  // CHECK-LABEL: @moved
  tt.func public @moved(%p: !tt.ptr<f32>, %m: i32, %s: i64) {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c8 = arith.constant 8 : i32
    %c20 = arith.constant 20 : i32
    // CHECK: [[P:%.+]] = tt.addptr %p, {{.+}} {xe.aligned}
    %q = tt.addptr %p, %c8 : !tt.ptr<f32>, i32
    // The last tile ends where the matrix does.
    // CHECK: [[W:%.+]] = arith.constant 36 : i32
    // CHECK: tt.make_tensor_descriptor [[P]], [%m, [[W]]]
    %inside = tt.make_tensor_descriptor %q, [%m, %c20], [%s, %one] : <f32>, <16x16xf32>
    %x = tt.descriptor_load %inside[%c0, %c4] : !tt.tensordesc<16x16xf32> -> tensor<16x16xf32, #t>
    // CHECK: [[BOUND:%.+]] = arith.addi %c20, [[R:%.+]] : i32
    // CHECK: [[D:%.+]] = tt.make_tensor_descriptor {{.+}}, [%m, [[BOUND]]]
    // CHECK: [[X:%.+]] = arith.addi %c8, [[R]] : i32
    // CHECK: tt.descriptor_load [[D]][%c0, [[X]]]
    %beyond = tt.make_tensor_descriptor %q, [%m, %c20], [%s, %one] : <f32>, <16x16xf32>
    %y = tt.descriptor_load %beyond[%c0, %c8] : !tt.tensordesc<16x16xf32> -> tensor<16x16xf32, #t>
    "test.op"(%x, %y) : (tensor<16x16xf32, #t>, tensor<16x16xf32, #t>) -> ()
    tt.return
  }

  // CHECK-LABEL: @numbers
  tt.func public @numbers(%p: !tt.ptr<f32>, %m: i32, %n: i32, %s: i64) -> (i64, i64) {
    %one = arith.constant 1 : i64
    %d = tt.make_tensor_descriptor %p, [%m, %n], [%s, %one] : <f32>, <16x16xf32>
    %0 = ttig.extract_desc %d[1] : <16x16xf32> -> i64
    %1 = ttig.extract_desc %d[2] : <16x16xf32> -> i64
    // CHECK: [[W:%.+]] = arith.extsi %n
    // CHECK-NEXT: tt.return [[W]], %s
    tt.return %0, %1 : i64, i64
  }
}
