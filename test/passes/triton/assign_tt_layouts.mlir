// RUN: coopc-opt %s -p assign-tt-layouts --split-input-file 2> %t | filecheck %s
// RUN: filecheck %s --check-prefix REMARK --input-file %t

// Sums of DPAS, factors as its operands, in loops and behind pointers too; what is
// reduced is a slice. What is made of ranges is made again for each layout.

// CHECK: #dpas = #ttig.dpas<{{.*}} warpsPerCTA = [2, 1], repCluster = [4, 2]
// CHECK: "ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32
// CHECK-LABEL: @gemm
// CHECK: %range = tt.make_range {{.*}} : tensor<64xi32, #slice>
// CHECK-NEXT: %range_1 = tt.make_range {{.*}} : tensor<64xi32, #slice1>
// CHECK-NEXT: %range_2 = tt.make_range {{.*}} : tensor<64xi32, #slice2>
// CHECK: -> (tensor<64x64xf32, #dpas>, tensor<64x32x!tt.ptr<f16>, #dot>)
// CHECK-NEXT: %x = tt.load %from : tensor<64x32x!tt.ptr<f16>, #dot>
// CHECK-NEXT: %y = tt.load %b_at : tensor<64x32x!tt.ptr<f16>, #linear>
// CHECK-NEXT: tt.trans %y {{.*}} -> tensor<32x64xf16, #dot1>
// CHECK-NEXT: tt.dot
// CHECK: {tt.num_stages = 2 : i32}
// CHECK: (tensor<64x64xf32, #dpas>) -> tensor<64xf32, #slice5>
// CHECK: %out = arith.subf %sum, %all : tensor<64x64xf32, #dpas>
// CHECK: tt.store %c_at, %out : tensor<64x64x!tt.ptr<f32>, #dpas>
// CHECK: (tensor<64xf32, #slice5>) -> f32
module attributes {simt.target = #simt.target<opencl, bmg>} {
  tt.func public @gemm(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32) {
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %depth = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %steps = arith.constant dense<32> : tensor<64x32xi32>
    %down = tt.expand_dims %range {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %right = tt.expand_dims %range {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %along = tt.expand_dims %depth {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %pitch = tt.splat %k : i32 -> tensor<64x1xi32>
    %rows = arith.muli %down, %pitch : tensor<64x1xi32>
    %wide = tt.broadcast %rows : tensor<64x1xi32> -> tensor<64x32xi32>
    %cols = tt.broadcast %along : tensor<1x32xi32> -> tensor<64x32xi32>
    %at = arith.addi %wide, %cols : tensor<64x32xi32>
    %a_all = tt.splat %a : !tt.ptr<f16> -> tensor<64x32x!tt.ptr<f16>>
    %b_all = tt.splat %b : !tt.ptr<f16> -> tensor<64x32x!tt.ptr<f16>>
    %a_at = tt.addptr %a_all, %at : tensor<64x32x!tt.ptr<f16>>, tensor<64x32xi32>
    %b_at = tt.addptr %b_all, %at : tensor<64x32x!tt.ptr<f16>>, tensor<64x32xi32>
    %sum, %end = scf.for %i = %c0 to %k step %c32 iter_args(%s = %zero, %from = %a_at) -> (tensor<64x64xf32>, tensor<64x32x!tt.ptr<f16>>) : i32 {
      %x = tt.load %from : tensor<64x32x!tt.ptr<f16>>
      %y = tt.load %b_at : tensor<64x32x!tt.ptr<f16>>
      %turned = tt.trans %y {order = array<i32: 1, 0>} : tensor<64x32xf16> -> tensor<32x64xf16>
      %t = tt.dot %x, %turned, %s, inputPrecision = tf32 : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<64x64xf32>
      %next = tt.addptr %from, %steps : tensor<64x32x!tt.ptr<f16>>, tensor<64x32xi32>
      scf.yield %t, %next : tensor<64x64xf32>, tensor<64x32x!tt.ptr<f16>>
    }
    %most = "tt.reduce"(%sum) <{axis = 1 : i32}> ({
    ^bb0(%p: f32, %q: f32):
      %m = arith.maxnumf %p, %q : f32
      tt.reduce.return %m : f32
    }) : (tensor<64x64xf32>) -> tensor<64xf32>
    %column = tt.expand_dims %most {axis = 1 : i32} : tensor<64xf32> -> tensor<64x1xf32>
    %all = tt.broadcast %column : tensor<64x1xf32> -> tensor<64x64xf32>
    %out = arith.subf %sum, %all : tensor<64x64xf32>
    %places = tt.broadcast %right : tensor<1x64xi32> -> tensor<64x64xi32>
    %c_all = tt.splat %c : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
    %c_at = tt.addptr %c_all, %places : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
    tt.store %c_at, %out : tensor<64x64x!tt.ptr<f32>>
    %one = "tt.reduce"(%most) <{axis = 0 : i32}> ({
    ^bb0(%p: f32, %q: f32):
      %m = arith.maxnumf %p, %q : f32
      tt.reduce.return %m : f32
    }) : (tensor<64xf32>) -> f32
    tt.store %c, %one : !tt.ptr<f32>
    tt.return
  }
}

// -----

// A sum that is a factor is converted, and subgroups hold whole rows. Halves of pairs
// are kept by the lane that has the pairs.

// CHECK: #dpas = #ttig.dpas<{{.*}} warpsPerCTA = [8, 1]
// CHECK-LABEL: @chained
// CHECK: %p = arith.truncf %s : tensor<64x64xf32, #dpas> to tensor<64x64xf16, #dpas>
// CHECK-NEXT: %p_1 = ttg.convert_layout %p : tensor<64x64xf16, #dpas> -> tensor<64x64xf16, #dot>
// CHECK: tt.dot %p_1, %v, %zero
// CHECK: %pairs = tt.reshape %t : tensor<64x64xf32, #dpas> -> tensor<64x32x2xf32, #linear>
// CHECK-NEXT: %pairs_1 = ttg.convert_layout %pairs : tensor<64x32x2xf32, #linear> -> tensor<64x32x2xf32, #linear1>
// CHECK-NEXT: tt.split %pairs_1 : tensor<64x32x2xf32, #linear1> -> tensor<64x32xf32, #blocked>
module attributes {simt.target = #simt.target<opencl, bmg>} {
  tt.func public @chained(%q_at: !tt.ptr<f16>, %c: !tt.ptr<f32>) {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %all = tt.splat %q_at : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %q = tt.load %all : tensor<64x64x!tt.ptr<f16>>
    %k = tt.load %all : tensor<64x64x!tt.ptr<f16>>
    %v = tt.load %all : tensor<64x64x!tt.ptr<f16>>
    %s = tt.dot %q, %k, %zero, inputPrecision = tf32 : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
    %t = tt.dot %p, %v, %zero, inputPrecision = tf32 : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %pairs = tt.reshape %t : tensor<64x64xf32> -> tensor<64x32x2xf32>
    %low, %high = tt.split %pairs : tensor<64x32x2xf32> -> tensor<64x32xf32>
    %half = arith.addf %low, %high : tensor<64x32xf32>
    %c_all = tt.splat %c : !tt.ptr<f32> -> tensor<64x32x!tt.ptr<f32>>
    tt.store %c_all, %half : tensor<64x32x!tt.ptr<f32>>
    tt.return
  }
}

// -----

// Each product has its layout, also where another one meets its transpose.

// CHECK-LABEL: @met
// CHECK: %s = tt.dot {{.*}} -> tensor<32x32xf32, #dpas>
// CHECK: %t = tt.dot {{.*}} -> tensor<32x32xf32, #dpas>
// CHECK-NEXT: [[T:%.+]] = ttg.convert_layout %t : tensor<32x32xf32, #dpas> -> tensor<32x32xf32, #linear>
// CHECK-NEXT: %turned = tt.trans [[T]] {{.*}} : tensor<32x32xf32, #linear> -> tensor<32x32xf32, #dpas>
// CHECK-NEXT: %all = arith.addf %s, %turned : tensor<32x32xf32, #dpas>
module attributes {simt.target = #simt.target<opencl, bmg>} {
  tt.func public @met(%q_at: !tt.ptr<f16>, %c: !tt.ptr<f32>) {
    %zero = arith.constant dense<0.0> : tensor<32x32xf32>
    %qs = tt.splat %q_at : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>>
    %q = tt.load %qs : tensor<32x32x!tt.ptr<f16>>
    %v = tt.load %qs {isVolatile = true} : tensor<32x32x!tt.ptr<f16>>
    %s = tt.dot %q, %v, %zero : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
    %t = tt.dot %v, %q, %zero : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
    %turned = tt.trans %t {order = array<i32: 1, 0>} : tensor<32x32xf32> -> tensor<32x32xf32>
    %all = arith.addf %s, %turned : tensor<32x32xf32>
    %cs = tt.splat %c : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>>
    tt.store %cs, %all : tensor<32x32x!tt.ptr<f32>>
    tt.return
  }
}

// -----

// REMARK: remark: tt.func: the kernel gets no layouts: DPAS does not multiply f32
// CHECK-NOT: ttg.num-warps
module attributes {simt.target = #simt.target<opencl, bmg>} {
  tt.func public @exact(%p: !tt.ptr<f32>, %c: !tt.ptr<f32>) {
    %zero = arith.constant dense<0.0> : tensor<16x16xf32>
    %a_all = tt.splat %p : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
    %b_all = tt.splat %p : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
    %a = tt.load %a_all : tensor<16x16x!tt.ptr<f32>>
    %b = tt.load %b_all : tensor<16x16x!tt.ptr<f32>>
    %s = tt.dot %a, %b, %zero, inputPrecision = ieee : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    %c_all = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
    tt.store %c_all, %s : tensor<16x16x!tt.ptr<f32>>
    tt.return
  }
}

// -----

// REMARK: remark: tt.func: the kernel gets no layouts: DPAS does not multiply 16 of K to 16x16
// CHECK-NOT: ttg.num-warps
module attributes {simt.target = #simt.target<opencl, bmg>} {
  tt.func public @shallow(%p: !tt.ptr<i8>, %c: !tt.ptr<i32>) {
    %zero = arith.constant dense<0> : tensor<16x16xi32>
    %a_all = tt.splat %p : !tt.ptr<i8> -> tensor<16x16x!tt.ptr<i8>>
    %b_all = tt.splat %p : !tt.ptr<i8> -> tensor<16x16x!tt.ptr<i8>>
    %a = tt.load %a_all : tensor<16x16x!tt.ptr<i8>>
    %b = tt.load %b_all : tensor<16x16x!tt.ptr<i8>>
    %s = tt.dot %a, %b, %zero, inputPrecision = tf32 : tensor<16x16xi8> * tensor<16x16xi8> -> tensor<16x16xi32>
    %c_all = tt.splat %c : !tt.ptr<i32> -> tensor<16x16x!tt.ptr<i32>>
    tt.store %c_all, %s : tensor<16x16x!tt.ptr<i32>>
    tt.return
  }
}

// -----

// REMARK: remark: tt.func: the kernel gets no layouts: its products of 4x16 are less than those of DPAS
// CHECK-NOT: ttg.num-warps
module attributes {simt.target = #simt.target<opencl, bmg>} {
  tt.func public @narrow(%p: !tt.ptr<f16>, %c: !tt.ptr<f32>) {
    %zero = arith.constant dense<0.0> : tensor<4x16xf32>
    %a_all = tt.splat %p : !tt.ptr<f16> -> tensor<4x16x!tt.ptr<f16>>
    %b_all = tt.splat %p : !tt.ptr<f16> -> tensor<16x16x!tt.ptr<f16>>
    %a = tt.load %a_all : tensor<4x16x!tt.ptr<f16>>
    %b = tt.load %b_all : tensor<16x16x!tt.ptr<f16>>
    %s = tt.dot %a, %b, %zero, inputPrecision = tf32 : tensor<4x16xf16> * tensor<16x16xf16> -> tensor<4x16xf32>
    %c_all = tt.splat %c : !tt.ptr<f32> -> tensor<4x16x!tt.ptr<f32>>
    tt.store %c_all, %s : tensor<4x16x!tt.ptr<f32>>
    tt.return
  }
}

// -----

// Without a product lanes have the vectors that memory has: 16 bytes where Triton says
// that addresses and bounds are multiples.

// REMARK-NOT: remark
// CHECK: #blocked = #ttg.blocked<{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
// CHECK: "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32
// CHECK-LABEL: @copy
// CHECK: tt.load {{.*}} : tensor<1024x!tt.ptr<f16>, #blocked>
module attributes {simt.target = #simt.target<opencl, bmg>} {
  tt.func public @copy(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}) {
    %range = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %ns = tt.splat %n : i32 -> tensor<1024xi32>
    %mask = arith.cmpi slt, %range, %ns : tensor<1024xi32>
    %all = tt.splat %p : !tt.ptr<f16> -> tensor<1024x!tt.ptr<f16>>
    %at = tt.addptr %all, %range : tensor<1024x!tt.ptr<f16>>, tensor<1024xi32>
    %x = tt.load %at, %mask : tensor<1024x!tt.ptr<f16>>
    %y = arith.addf %x, %x : tensor<1024xf16>
    tt.store %at, %y, %mask : tensor<1024x!tt.ptr<f16>>
    tt.return
  }
}

// -----

// Lanes follow each other where addresses do, down the columns, of one element where
// nothing says more. The greatest tensor decides: the row that is loaded is its slice.

// CHECK: #blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [1, 4], order = [0, 1]}>
// CHECK: #slice = #ttg.slice<{dim = 0, parent = #blocked}>
// CHECK-LABEL: @columns
// CHECK: %row = tt.load {{.*}} : tensor<32x!tt.ptr<f16>, #slice>
// CHECK-NOT: ttg.convert_layout
module attributes {simt.target = #simt.target<opencl, bmg>} {
  tt.func public @columns(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %n: i32) {
    %range = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %row_all = tt.splat %q : !tt.ptr<f16> -> tensor<32x!tt.ptr<f16>>
    %row_at = tt.addptr %row_all, %range : tensor<32x!tt.ptr<f16>>, tensor<32xi32>
    %row = tt.load %row_at : tensor<32x!tt.ptr<f16>>
    %down = tt.expand_dims %range {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
    %right = tt.expand_dims %range {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %pitch = tt.splat %n : i32 -> tensor<1x32xi32>
    %cols = arith.muli %right, %pitch : tensor<1x32xi32>
    %x = tt.broadcast %down : tensor<32x1xi32> -> tensor<32x32xi32>
    %y = tt.broadcast %cols : tensor<1x32xi32> -> tensor<32x32xi32>
    %offset = arith.addi %x, %y : tensor<32x32xi32>
    %all = tt.splat %p : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>>
    %at = tt.addptr %all, %offset : tensor<32x32x!tt.ptr<f16>>, tensor<32x32xi32>
    %tile = tt.load %at : tensor<32x32x!tt.ptr<f16>>
    %one = tt.expand_dims %row {axis = 0 : i32} : tensor<32xf16> -> tensor<1x32xf16>
    %rows = tt.broadcast %one : tensor<1x32xf16> -> tensor<32x32xf16>
    %sum = arith.addf %tile, %rows : tensor<32x32xf16>
    tt.store %at, %sum : tensor<32x32x!tt.ptr<f16>>
    tt.return
  }
}

// -----

// What is combined along rows is in pieces, without vectors in memory. A device with
// half the registers has half the lanes.

// CHECK: #blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
// CHECK: "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32
// CHECK-LABEL: @sums
// CHECK: (tensor<16x32xf32, #blocked>) -> tensor<16xf32, #slice
module attributes {simt.target = #simt.target<opencl, dg2>} {
  tt.func public @sums(%p: !tt.ptr<f32>, %n: i32) {
    %depth = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %range = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %down = tt.expand_dims %depth {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
    %right = tt.expand_dims %range {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %pitch = tt.splat %n : i32 -> tensor<16x1xi32>
    %rows = arith.muli %down, %pitch : tensor<16x1xi32>
    %x = tt.broadcast %rows : tensor<16x1xi32> -> tensor<16x32xi32>
    %y = tt.broadcast %right : tensor<1x32xi32> -> tensor<16x32xi32>
    %offset = arith.addi %x, %y : tensor<16x32xi32>
    %all = tt.splat %p : !tt.ptr<f32> -> tensor<16x32x!tt.ptr<f32>>
    %at = tt.addptr %all, %offset : tensor<16x32x!tt.ptr<f32>>, tensor<16x32xi32>
    %tile = tt.load %at : tensor<16x32x!tt.ptr<f32>>
    %sum = "tt.reduce"(%tile) <{axis = 1 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      tt.reduce.return %t : f32
    }) : (tensor<16x32xf32>) -> tensor<16xf32>
    %out = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %to = tt.addptr %out, %depth : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    tt.store %to, %sum : tensor<16x!tt.ptr<f32>>
    tt.return
  }
}

// -----

// Lanes wait where one may store what another one loaded: not where each has the same
// pointers, nor for another argument.

// CHECK-LABEL: @in_place
// CHECK: %x = tt.load %other
// CHECK-NEXT: tt.store %other, %x
// CHECK-NEXT: %y = tt.load %same
// CHECK-NEXT: tt.store %other, %y
// CHECK-NEXT: ttg.barrier global_read|global_write
// CHECK-NEXT: tt.store %across, %y
// CHECK-NEXT: scf.for
// CHECK-NEXT: ttg.barrier global_read|global_write
// CHECK-NEXT: tt.load %p
// CHECK-NEXT: ttg.barrier global_read|global_write
// CHECK-NEXT: tt.store %p
module attributes {simt.target = #simt.target<opencl, bmg>} {
  tt.func public @in_place(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %last = arith.constant dense<255> : tensor<256xi32>
    %range = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
    %back = arith.subi %last, %range : tensor<256xi32>
    %all = tt.splat %p : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
    %rest = tt.splat %q : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
    %same = tt.addptr %all, %range : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
    %across = tt.addptr %all, %back : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
    %other = tt.addptr %rest, %range : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
    %x = tt.load %other : tensor<256x!tt.ptr<f32>>
    tt.store %other, %x : tensor<256x!tt.ptr<f32>>
    %y = tt.load %same : tensor<256x!tt.ptr<f32>>
    tt.store %other, %y : tensor<256x!tt.ptr<f32>>
    tt.store %across, %y : tensor<256x!tt.ptr<f32>>
    scf.for %i = %c0 to %n step %c1 : i32 {
      %one = tt.load %p : !tt.ptr<f32>
      tt.store %p, %one : !tt.ptr<f32>
    }
    tt.return
  }
}

// -----

// Lanes hold both halves alike, but the layouts are of two kinds: what is joined is of
// one type.

// CHECK-LABEL: @joined
// CHECK: %[[A:.*]] = ttg.convert_layout %a : tensor<4x1xi8, #blocked> -> tensor<4x1xi8, #linear>
// CHECK: tt.join %[[A]], %b : tensor<4x1xi8, #linear> -> tensor<4x1x2xi8
module attributes {simt.target = #simt.target<opencl, bmg>} {
  tt.func public @joined(%x: !tt.ptr<i8>, %y: !tt.ptr<i8>) {
    %range = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %rows = tt.expand_dims %range {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
    %all = tt.splat %x : !tt.ptr<i8> -> tensor<4x1x!tt.ptr<i8>>
    %a_at = tt.addptr %all, %rows : tensor<4x1x!tt.ptr<i8>>, tensor<4x1xi32>
    %a = tt.load %a_at : tensor<4x1x!tt.ptr<i8>>
    %rest = tt.splat %y : !tt.ptr<i8> -> tensor<4x1x!tt.ptr<i8>>
    %b_at = tt.addptr %rest, %rows : tensor<4x1x!tt.ptr<i8>>, tensor<4x1xi32>
    %b = tt.load %b_at : tensor<4x1x!tt.ptr<i8>>
    %pairs = tt.join %a, %b : tensor<4x1xi8> -> tensor<4x1x2xi8>
    %turned = tt.trans %pairs {order = array<i32: 2, 0, 1>} : tensor<4x1x2xi8> -> tensor<2x4x1xi8>
    %most = "tt.reduce"(%turned) <{axis = 0 : i32}> ({
    ^bb0(%one: i8, %other: i8):
      %more = arith.maxsi %one, %other : i8
      tt.reduce.return %more : i8
    }) : (tensor<2x4x1xi8>) -> tensor<4x1xi8>
    tt.store %a_at, %most : tensor<4x1x!tt.ptr<i8>>
    tt.return
  }
}

// -----

// A descriptor of several places is for one subgroup.

// CHECK-LABEL: @chosen
// CHECK-NOT: #
module attributes {simt.target = #simt.target<opencl, bmg>} {
  tt.func public @chosen(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %n: i32, %s: i64, %c: i1) {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %x = tt.make_tensor_descriptor %p, [%n, %n], [%s, %one] : <f32>, <16x16xf32>
    %y = tt.make_tensor_descriptor %q, [%n, %n], [%s, %one] : <f32>, <16x16xf32>
    %d = scf.if %c -> !tt.tensordesc<16x16xf32> {
      scf.yield %x : !tt.tensordesc<16x16xf32>
    } else {
      scf.yield %y : !tt.tensordesc<16x16xf32>
    }
    %t = tt.descriptor_load %d[%c0, %c0] : !tt.tensordesc<16x16xf32> -> tensor<16x16xf32>
    tt.descriptor_store %x[%c0, %c0], %t : !tt.tensordesc<16x16xf32>, tensor<16x16xf32>
    tt.return
  }
}
