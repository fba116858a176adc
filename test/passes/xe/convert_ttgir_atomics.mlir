// RUN: coopc-opt %s -p 'coopc-xe{device=bmg}' | filecheck %s
// RUN: coopc-opt %s -p 'coopc-xe{device=bmg}' -t llvm-ir | filecheck %s --check-prefix LLVM
// RUN: coopc-opt %s -p 'coopc-xe{device=bmg}' -t spirv | filecheck %s --check-prefix SPIRV

// Atomic updates, each element once; pointers that were cast.

#each = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [16], warpsPerCTA = [2], order = [0]}>
#one = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [16], warpsPerCTA = [2], order = [0]}>
module attributes {"ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // A lane updates what it has, where the mask is true; nobody asks what was there.
  // CHECK-LABEL: func.func @each(%p: memref<f32>, %x: f32, %n: i32)
  // CHECK: %m = arith.cmpi slt
  // CHECK: [[M:%.+]] = vector.extract %m[0]
  // CHECK: scf.if [[M]] -> (f32)
  // CHECK-NEXT: [[ONE:%.+]] = vector.extract
  // CHECK-NEXT: [[OLD:%.+]] = "memref.atomic_rmw"([[ONE]], %{{.+}}, %{{.+}}) <{kind = 0 : i64}> {simt.ordering = "acquire_release", simt.ordering_scope = "device"} : (f32, memref<1099511627776xf32>, index) -> f32
  // CHECK-NEXT: scf.yield [[OLD]]
  // CHECK: [[M:%.+]] = vector.extract %m[1]
  // CHECK: scf.if [[M]] -> (f32)
  // CHECK-NEXT: vector.extract
  // CHECK-NEXT: "memref.atomic_rmw"
  // CHECK-NOT: simt.barrier
  // LLVM: define spir_kernel void @each
  // LLVM: atomicrmw fadd ptr addrspace(1) %{{.+}}, float %{{.+}} syncscope("device") acq_rel, align 4
  // SPIRV: OpFunction
  // SPIRV: OpAtomicFAddEXT %float
  tt.func public @each(%p: !tt.ptr<f32>, %x: f32, %n: i32) {
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #each>
    %limit = tt.splat %n : i32 -> tensor<64xi32, #each>
    %m = arith.cmpi slt, %r, %limit : tensor<64xi32, #each>
    %0 = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #each>
    %1 = tt.addptr %0, %r : tensor<64x!tt.ptr<f32>, #each>, tensor<64xi32, #each>
    %2 = tt.splat %x : f32 -> tensor<64xf32, #each>
    %3 = tt.atomic_rmw fadd, acq_rel, gpu, %1, %2, %m : (tensor<64x!tt.ptr<f32>, #each>, tensor<64xf32, #each>, tensor<64xi1, #each>) -> tensor<64xf32, #each>
    tt.return
  }

  // Both subgroups have all elements: the first updates them and tells the other.
  // CHECK-LABEL: func.func @shared
  // CHECK: [[FIRST:%.+]] = arith.cmpi eq, %{{.+}}, %c0
  // CHECK: scf.if [[FIRST]] -> (i32)
  // CHECK-NEXT: vector.extract
  // CHECK-NEXT: "memref.atomic_rmw"(%{{.+}}, %{{.+}}, %{{.+}}) <{kind = 8 : i64}> {simt.ordering = "relaxed", simt.ordering_scope = "workgroup"}
  // CHECK: simt.barrier workgroup
  // CHECK-NEXT: scf.if [[FIRST]]
  // CHECK: memref.store %{{.+}}, %scratch
  // CHECK: simt.barrier workgroup
  // CHECK: memref.load %scratch
  // Nor does the second store what the first may have changed since.
  // CHECK: scf.if [[FIRST]] {
  // CHECK-NEXT: vector.extract
  // CHECK-NEXT: memref.store
  // LLVM: atomicrmw umin ptr addrspace(1) %{{.+}}, i32 %{{.+}} syncscope("workgroup") monotonic, align 4
  // SPIRV: OpAtomicUMin %uint
  tt.func public @shared(%p: !tt.ptr<i32>, %x: i32) {
    %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32, #one>
    %0 = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>, #one>
    %1 = tt.addptr %0, %r : tensor<16x!tt.ptr<i32>, #one>, tensor<16xi32, #one>
    %2 = tt.splat %x : i32 -> tensor<16xi32, #one>
    %3 = tt.atomic_rmw umin, relaxed, cta, %1, %2 : (tensor<16x!tt.ptr<i32>, #one>, tensor<16xi32, #one>) -> tensor<16xi32, #one>
    tt.store %1, %3 : tensor<16x!tt.ptr<i32>, #one>
    tt.return
  }

  // One lane for all, which all ask.
  // CHECK-LABEL: func.func @number
  // CHECK: [[ID:%.+]] = arith.ori %lane, %subgroup
  // CHECK: [[FIRST:%.+]] = arith.cmpi eq, [[ID]], %c0
  // CHECK: [[OLD:%.+]] = scf.if [[FIRST]] -> (i32)
  // CHECK-NEXT: "memref.atomic_rmw"(%x, %p) <{kind = 1 : i64}> {simt.ordering = "relaxed", simt.ordering_scope = "cross_device"}
  // CHECK: simt.barrier workgroup
  // CHECK: memref.store [[OLD]], %scratch
  // CHECK: simt.barrier workgroup
  // CHECK-NEXT: [[ALL:%.+]] = memref.load %scratch
  // CHECK: memref.store [[ALL]], %q[]
  // LLVM: atomicrmw add ptr addrspace(1) %p, i32 %x monotonic, align 4
  // SPIRV: OpAtomicIAdd %uint
  tt.func public @number(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %x: i32) {
    %0 = tt.atomic_rmw add, relaxed, sys, %p, %x : (!tt.ptr<i32>, i32) -> i32
    tt.store %q, %0 : !tt.ptr<i32>
    tt.return
  }

  // Booleans are bytes in memory; of other types the values are cast.
  // CHECK-LABEL: func.func @casts(%p: memref<i8>, %q: memref<f32>)
  // CHECK: [[BYTE:%.+]] = memref.load %{{.+}} : memref<1099511627776xi8>
  // CHECK: vector.insert [[BYTE]], %{{.+}} [0] : i8 into vector<2xi8>
  // CHECK: [[WORD:%.+]] = memref.load %q[] : memref<f32>
  // CHECK-NEXT: %word = arith.bitcast [[WORD]] : f32 to i32
  // CHECK: [[X:%.+]] = arith.bitcast %{{.+}} : vector<2xi32> to vector<2xf32>
  // CHECK: vector.extract [[X]][0] : f32
  // CHECK: memref.store %{{.+}}, %{{.+}} : memref<1099511627776xf32>
  tt.func public @casts(%p: !tt.ptr<i1>, %q: !tt.ptr<f32>) {
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #each>
    %0 = tt.splat %p : !tt.ptr<i1> -> tensor<64x!tt.ptr<i1>, #each>
    %1 = tt.addptr %0, %r : tensor<64x!tt.ptr<i1>, #each>, tensor<64xi32, #each>
    %2 = tt.bitcast %1 : tensor<64x!tt.ptr<i1>, #each> -> tensor<64x!tt.ptr<i8>, #each>
    %bytes = tt.load %2 : tensor<64x!tt.ptr<i8>, #each>
    %4 = tt.bitcast %q : !tt.ptr<f32> -> !tt.ptr<i32>
    %word = tt.load %4 : !tt.ptr<i32>
    %6 = tt.splat %4 : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>, #each>
    %7 = tt.addptr %6, %r : tensor<64x!tt.ptr<i32>, #each>, tensor<64xi32, #each>
    %8 = arith.extui %bytes : tensor<64xi8, #each> to tensor<64xi32, #each>
    %9 = tt.splat %word : i32 -> tensor<64xi32, #each>
    %10 = arith.addi %8, %9 : tensor<64xi32, #each>
    tt.store %7, %10 : tensor<64x!tt.ptr<i32>, #each>
    tt.return
  }

  // What is updated is memory of the integers that the floats there are.
  // CHECK-LABEL: func.func @updates_bits(%p: memref<f32>, %x: i32)
  // CHECK: [[ONE:%.+]] = memref.reinterpret_cast %p to offset: [%{{.+}}], sizes: [1099511627776], strides: [1]
  // CHECK: [[BITS:%.+]] = simt.view_elements [[ONE]][%{{.+}}] : memref<1099511627776xf32, strided<[1], offset: ?>> -> memref<1099511627776xi32, strided<[1], offset: ?>>
  // CHECK: "memref.atomic_rmw"(%x, [[BITS]], %{{.+}}) <{kind = 4 : i64}>
  // CHECK: simt.compare_exchange %x, %x, [[BITS]][%{{.+}}]
  // CHECK: [[ALL:%.+]] = simt.view_elements %{{.+}} : memref<1099511627776xf32> -> memref<1099511627776xi32, strided<[1], offset: ?>>
  // CHECK: "memref.atomic_rmw"(%{{.+}}, [[ALL]], %{{.+}}) <{kind = 8 : i64}>
  // SPIRV: OpAtomicSMax %uint
  // SPIRV: OpAtomicUMin %uint
  tt.func public @updates_bits(%p: !tt.ptr<f32>, %x: i32) {
    %q = tt.addptr %p, %x : !tt.ptr<f32>, i32
    %0 = tt.bitcast %q : !tt.ptr<f32> -> !tt.ptr<i32>
    %1 = tt.atomic_rmw max, relaxed, gpu, %0, %x : (!tt.ptr<i32>, i32) -> i32
    %2 = tt.atomic_cas relaxed, gpu, %0, %x, %x : (!tt.ptr<i32>, i32, i32) -> i32
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #each>
    %3 = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #each>
    %4 = tt.addptr %3, %r : tensor<64x!tt.ptr<f32>, #each>, tensor<64xi32, #each>
    %5 = tt.bitcast %4 : tensor<64x!tt.ptr<f32>, #each> -> tensor<64x!tt.ptr<i32>, #each>
    %6 = tt.atomic_rmw umin, relaxed, gpu, %5, %r : (tensor<64x!tt.ptr<i32>, #each>, tensor<64xi32, #each>) -> tensor<64xi32, #each>
    tt.return
  }
}
