// RUN: coopc-opt %s -p 'plan-block-io{device=bmg},convert-ttgir-to-xe' | filecheck %s

// Masks of what is moved lane by lane: an element is read where its own flag is true,
// and is `other` where it is not.

#t = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [16], warpsPerCTA = [2], order = [0]}>
module attributes {"ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // CHECK-LABEL: func.func @masked
  // CHECK: [[WARP:%.+]] = arith.shli %subgroup, %c5 : i32
  // CHECK: [[LANE:%.+]] = arith.shli %lane, %c1 : i32
  // CHECK: [[PLACE:%.+]] = arith.ori [[WARP]], [[LANE]] : i32
  // CHECK: [[WIDE:%.+]] = vector.broadcast [[PLACE]] : i32 to vector<2xi32>
  // CHECK: [[OWN:%.+]] = arith.constant dense<[0, 1]> : vector<2xi32>
  // CHECK: [[I:%.+]] = arith.addi [[WIDE]], [[OWN]]
  // CHECK: [[OTHER:%.+]] = arith.constant dense<7.000000e+00> : vector<2xf32>
  // CHECK: [[N:%.+]] = vector.broadcast %n : i32 to vector<2xi32>
  // CHECK: [[MASK:%.+]] = arith.cmpi slt, [[I]], [[N]] : vector<2xi32>
  // CHECK: [[AT:%.+]] = arith.extsi [[I]] : vector<2xi32> to vector<2xi64>
  // CHECK: [[OFFSETS:%.+]] = arith.addi {{%.+}}, [[AT]] : vector<2xi64>
  // CHECK: [[O0:%.+]] = vector.extract [[OFFSETS]][0]
  // CHECK-NEXT: [[X0:%.+]] = arith.index_cast [[O0]]
  // CHECK-NEXT: [[F0:%.+]] = vector.extract [[MASK]][0]
  // CHECK-NEXT: [[K0:%.+]] = vector.extract [[OTHER]][0]
  // CHECK-NEXT: [[V0:%.+]] = scf.if [[F0]]
  // CHECK-NEXT: [[R0:%.+]] = memref.load {{%.+}}{{\[}}[[X0]]]
  // CHECK-NEXT: scf.yield [[R0]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: scf.yield [[K0]]
  // CHECK: vector.insert [[V0]], [[OTHER]] [0]
  // CHECK: [[O1:%.+]] = vector.extract [[OFFSETS]][1]
  // CHECK-NEXT: [[X1:%.+]] = arith.index_cast [[O1]]
  // CHECK-NEXT: [[F1:%.+]] = vector.extract [[MASK]][1]
  // CHECK-NEXT: vector.extract [[OTHER]][1]
  // CHECK-NEXT: scf.if [[F1]]
  tt.func public @masked(%p: !tt.ptr<f32>, %n: i32) {
    %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #t>
    %other = arith.constant dense<7.0> : tensor<64xf32, #t>
    %limit = tt.splat %n : i32 -> tensor<64xi32, #t>
    %mask = arith.cmpi slt, %i, %limit : tensor<64xi32, #t>
    %base = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #t>
    %at = tt.addptr %base, %i : tensor<64x!tt.ptr<f32>, #t>, tensor<64xi32, #t>
    %x = tt.load %at, %mask, %other : tensor<64x!tt.ptr<f32>, #t>
    tt.store %at, %x, %mask : tensor<64x!tt.ptr<f32>, #t>
    tt.return
  }
}
