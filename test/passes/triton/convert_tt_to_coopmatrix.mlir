// RUN: coopc-opt %s -p "convert-tt-to-coopmatrix{subgroup-size=4 tile=8,8,8}" --split-input-file | filecheck %s

// A masked copy: nothing is stored but what is loaded, each lane has elements of a run.

// CHECK-LABEL: func.func @copy(%p: memref<f16>, %q: memref<f16>, %n: i32)
// CHECK-SAME: simt.kernel, simt.subgroup_size = 4 : i32, simt.work_group_size = array<i32: 4>
tt.func @copy(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %n: i32) {
  // CHECK: %x = memref.alloca() : memref<16xf16, #simt.memory<workgroup>>
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %limit = tt.splat %n : i32 -> tensor<16xi32>
  %mask = arith.cmpi slt, %at, %limit : tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<f16> -> tensor<16x!tt.ptr<f16>>
  %from = tt.addptr %ps, %at : tensor<16x!tt.ptr<f16>>, tensor<16xi32>
  // CHECK: simt.barrier workgroup memory = <workgroup>
  // CHECK-NEXT: %lane = simt.lane_id
  // CHECK: scf.for %run
  // CHECK: arith.cmpi slt
  // CHECK: scf.if
  // CHECK-NEXT: memref.load
  // CHECK: memref.store %{{.+}}, %x
  // CHECK: simt.barrier workgroup memory = <workgroup>
  %x = tt.load %from, %mask : tensor<16x!tt.ptr<f16>>
  %qs = tt.splat %q : !tt.ptr<f16> -> tensor<16x!tt.ptr<f16>>
  %to = tt.addptr %qs, %at : tensor<16x!tt.ptr<f16>>, tensor<16xi32>
  // CHECK: scf.for %run
  // CHECK: memref.load %x
  // CHECK: scf.if
  // CHECK-NEXT: memref.store
  tt.store %to, %x, %mask : tensor<16x!tt.ptr<f16>>
  tt.return
}

// -----

// What is used once is computed where it is stored; a sum of all is shuffled together.

// CHECK-LABEL: func.func @sum
tt.func @sum(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>) {
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %from = tt.addptr %ps, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %x = tt.load %from : tensor<16x!tt.ptr<f32>>
  // CHECK: scf.for %part
  // CHECK: math.exp
  // CHECK: arith.addf
  // CHECK: simt.shuffle xor
  // CHECK-NEXT: arith.addf
  // CHECK: simt.shuffle xor
  // CHECK-NEXT: arith.addf
  // CHECK: simt.broadcast
  // CHECK-NOT: simt.shuffle
  %e = math.exp %x : tensor<16xf32>
  %s = "tt.reduce"(%e) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<16xf32>) -> f32
  // The first lane stores it.
  // CHECK: scf.if
  // CHECK-NEXT: memref.store
  tt.store %q, %s : !tt.ptr<f32>
  tt.return
}

// -----

// A loop carries a sum in its buffer, which products are added to in place; pointers
// that move by the same amount each round are computed from the number of the round.

// CHECK-LABEL: func.func @product
tt.func @product(%p: !tt.ptr<f16>, %q: !tt.ptr<f32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sixteen = arith.constant dense<16> : tensor<16x16xi32>
  %init = arith.constant dense<0.0> : tensor<16x16xf32>
  %range = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %row = tt.expand_dims %range {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %col = tt.expand_dims %range {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %rows = tt.broadcast %row : tensor<16x1xi32> -> tensor<16x16xi32>
  %cols = tt.broadcast %col : tensor<1x16xi32> -> tensor<16x16xi32>
  %start = arith.muli %rows, %sixteen : tensor<16x16xi32>
  %at = arith.addi %start, %cols : tensor<16x16xi32>
  %ps = tt.splat %p : !tt.ptr<f16> -> tensor<16x16x!tt.ptr<f16>>
  %first = tt.addptr %ps, %at : tensor<16x16x!tt.ptr<f16>>, tensor<16x16xi32>
  // CHECK: scf.for %k = %{{.+}} to %{{.+}} step %{{.+}} : i32 {
  %sum, %last = scf.for %k = %zero to %n step %one
      iter_args(%acc = %init, %ptr = %first)
      -> (tensor<16x16xf32>, tensor<16x16x!tt.ptr<f16>>) : i32 {
    // CHECK: arith.muli
    %x = tt.load %ptr : tensor<16x16x!tt.ptr<f16>>
    // CHECK: %[[S:.+]] = coopmatrix.load %acc
    // CHECK: scf.for %k_
    // CHECK: coopmatrix.mul_add
    // CHECK-SAME: !coopmatrix.matrix<8x8xf16, a>
    // CHECK: coopmatrix.store %{{.+}}, %acc
    %next = tt.dot %x, %x, %acc : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
    %moved = tt.addptr %ptr, %sixteen : tensor<16x16x!tt.ptr<f16>>, tensor<16x16xi32>
    scf.yield %next, %moved : tensor<16x16xf32>, tensor<16x16x!tt.ptr<f16>>
  }
  %qs = tt.splat %q : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %to = tt.addptr %qs, %at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  // CHECK: memref.load %acc
  tt.store %to, %sum : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// -----

// Layouts are not looked at, hints are dropped.

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#other = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>

// CHECK: builtin.module {
// CHECK-LABEL: func.func @layouts
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func @layouts(%p: !tt.ptr<i32>) {
    %at = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32, #blocked>
    %x = ttg.convert_layout %at : tensor<8xi32, #blocked> -> tensor<8xi32, #other>
    %ps = tt.splat %p : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>, #other>
    %to = tt.addptr %ps, %x : tensor<8x!tt.ptr<i32>, #other>, tensor<8xi32, #other>
    tt.store %to, %x : tensor<8x!tt.ptr<i32>, #other>
    tt.return
  }
}

// -----

// Nobody can see what a kernel prints, or that it stopped: both are left out.

// CHECK-LABEL: func.func @seen
// CHECK-NOT: tt.
// CHECK: func.return
tt.func @seen(%x: i32, %c: i1) {
  tt.assert %c, "positive" : i1
  tt.print "x: " {hex = false, isSigned = array<i32: 1>} : %x : i32
  tt.return
}

// -----

// A block is added to memory element by element, where it is inside.

// CHECK-LABEL: func.func @added
tt.func @added(%p: !tt.ptr<f32>, %n: i32, %pitch: i64) {
  %unit = arith.constant 1 : i64
  %zero = arith.constant 0 : i32
  %x = arith.constant dense<1.0> : tensor<8x8xf32>
  %d = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <f32>, <8x8xf32>
  // CHECK: scf.for %row
  // CHECK: arith.cmpi ult
  // CHECK: memref.atomic_rmw
  tt.descriptor_reduce add, %d[%zero, %zero], %x : !tt.tensordesc<8x8xf32>, tensor<8x8xf32>
  tt.return
}

// -----

// The first lane takes the lock, all wait for it, and have its answer.

// CHECK-LABEL: func.func @lock
tt.func @lock(%p: !tt.ptr<i32>, %x: i32) {
  // CHECK: simt.barrier workgroup
  // CHECK: scf.if
  // CHECK: simt.compare_exchange %x, %x, %{{.+}} {simt.ordering = "acquire_release", simt.ordering_scope = "device"} : i32, memref<
  // CHECK: simt.broadcast
  // CHECK: simt.barrier workgroup
  %y = tt.atomic_cas acq_rel, gpu, %p, %x, %x : (!tt.ptr<i32>, i32, i32) -> i32
  %z = tt.atomic_rmw exch, relaxed, gpu, %p, %y : (!tt.ptr<i32>, i32) -> i32
  tt.return
}

// -----

// What is updated through a cast pointer is a view of memory, as integers.

// CHECK-LABEL: func.func @bits
tt.func @bits(%p: !tt.ptr<f32>, %x: i32) {
  %q = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i32>
  // CHECK: %[[ALL:.*]] = memref.reinterpret_cast %p
  // CHECK: %[[BITS:.*]] = simt.view_elements %[[ALL]][%c0] : memref<1099511627776xf32> -> memref<1099511627776xi32, strided<[1], offset: ?>>
  // CHECK: "memref.atomic_rmw"(%x, %[[BITS]], %{{.*}}) <{kind = 4 : i64}>
  %y = tt.atomic_rmw max, relaxed, gpu, %q, %x : (!tt.ptr<i32>, i32) -> i32
  tt.return
}

// -----

// A pointer that is one of two is an address; one that is made of an integer was one.

// CHECK-LABEL: func.func @chosen(
tt.func @chosen(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %c: i1, %a: i64) {
  // CHECK: %[[P:.*]] = simt.address_of %p : memref<f32>
  // CHECK: %[[Q:.*]] = simt.address_of %q : memref<f32>
  // CHECK: %[[AT:.*]] = arith.select %c, %{{.*}}, %{{.*}} : i64
  // CHECK: simt.memory_at %[[AT]] : memref<f32>
  %r = arith.select %c, %p, %q : !tt.ptr<f32>
  %x = tt.load %r : !tt.ptr<f32>
  // CHECK: simt.memory_at %a : memref<f32>
  %s = tt.int_to_ptr %a : i64 -> !tt.ptr<f32>
  tt.store %s, %x : !tt.ptr<f32>
  tt.return
}

// -----

// Tensors that a loop exchanges have a buffer each, and no more: lanes read both elements
// before they write them.

// CHECK-LABEL: func.func @exchanged
// CHECK-COUNT-2: memref.alloca() : memref<64xi32, #simt.memory<workgroup>>
// CHECK-NOT: memref.alloca
// CHECK: scf.for %t
// CHECK: %[[B:.+]] = memref.load %b
// CHECK-NEXT: %[[A:.+]] = memref.load %a
// CHECK-NEXT: memref.store %[[B]], %a
// CHECK-NEXT: memref.store %[[A]], %b
tt.func @exchanged(%p: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %none = arith.constant dense<0> : tensor<64xi32>
  %l:2 = scf.for %t = %zero to %n step %one iter_args(%a = %i, %b = %none) -> (tensor<64xi32>, tensor<64xi32>) : i32 {
    scf.yield %b, %a : tensor<64xi32>, tensor<64xi32>
  }
  %s = arith.subi %l#0, %l#1 : tensor<64xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
  %to = tt.addptr %ps, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
  tt.store %to, %s : tensor<64x!tt.ptr<i32>>
  tt.return
}

// -----

// As `tl.sort` sees a row: buffers of four dimensions are lines, and coordinates that were
// made from a number are that number again, but for the bit that a reduction is along.

// CHECK-LABEL: func.func @halves
tt.func @halves(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>) {
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %from = tt.addptr %ps, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %x = tt.load %from : tensor<16x!tt.ptr<i32>>
  %y = tt.reshape %x : tensor<16xi32> -> tensor<2x2x2x2xi32>
  // CHECK: %s = memref.alloca() : memref<16xi32, #simt.memory<workgroup>>
  // CHECK: %[[N:.+]] = arith.addi %lane, %{{.+}} : index
  // CHECK: memref.load %x[%[[N]]]
  // CHECK: memref.store %{{.+}}, %s[%[[N]]]
  %s = arith.addi %y, %y : tensor<2x2x2x2xi32>
  %t = "tt.reduce"(%s) <{axis = 2 : i32}> ({
  ^bb0(%a: i32, %b: i32):
    %c = arith.xori %a, %b : i32
    tt.reduce.return %c : i32
  }) : (tensor<2x2x2x2xi32>) -> tensor<2x2x2xi32>
  %e = tt.expand_dims %t {axis = 2 : i32} : tensor<2x2x2xi32> -> tensor<2x2x1x2xi32>
  %f = tt.broadcast %e : tensor<2x2x1x2xi32> -> tensor<2x2x2x2xi32>
  %z = arith.xori %s, %f : tensor<2x2x2x2xi32>
  %r = tt.reshape %z : tensor<2x2x2x2xi32> -> tensor<16xi32>
  %qs = tt.splat %q : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %to = tt.addptr %qs, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %to, %r : tensor<16x!tt.ptr<i32>>
  tt.return
}
