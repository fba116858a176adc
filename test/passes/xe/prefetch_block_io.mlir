// RUN: coopc-opt %root/test/inputs/ttgir/gemm_axb_32x32.ttgir -p 'prefetch-block-io{steps=2 barriers=true}' | filecheck %s
// RUN: coopc-opt %s -p 'plan-block-io{device=bmg},convert-ttgir-to-xe' | filecheck %s --check-prefix BARRIER
// RUN: coopc-opt %root/test/inputs/ttgir/gemm_axb_32x32.ttgir -p 'prefetch-block-io{steps=0}' | filecheck %s --check-prefix NONE
// RUN: not coopc-opt %s -p 'coopc-xe{device=bmg prefetch=-1}' 2>&1 | filecheck %s --check-prefix NEGATIVE

// NONE-NOT: prefetch
// NEGATIVE: error: coopc-xe: expected prefetches 0 or more iterations ahead, got -1

// The tiles of two steps before the loop, in it that of two steps ahead, and the
// subgroups together in each step.

// CHECK: ttig.descriptor_prefetch %a_desc[%row, [[K0:%.+]]] cacheModifier = ca
// CHECK-NEXT: ttig.descriptor_prefetch %b_desc[[[K0]], %col] cacheModifier = ca
// CHECK: [[K1:%.+]] = arith.constant 32 : i32
// CHECK-NEXT: ttig.descriptor_prefetch %a_desc[%row, [[K1]]] cacheModifier = ca
// CHECK-NEXT: ttig.descriptor_prefetch %b_desc[[[K1]], %col] cacheModifier = ca
// CHECK: scf.for %step =
// CHECK-NEXT: simt.barrier_arrive workgroup
// CHECK-NEXT: tt.descriptor_load %a_desc[%row, %step]
// CHECK-NEXT: tt.descriptor_load %b_desc[%step, %col]
// CHECK-NEXT: [[AHEAD:%.+]] = arith.constant 64 : i32
// CHECK-NEXT: [[K:%.+]] = arith.addi %step, [[AHEAD]]
// CHECK-NEXT: ttig.descriptor_prefetch %a_desc[%row, [[K]]] cacheModifier = ca
// CHECK-NEXT: ttig.descriptor_prefetch %b_desc[[[K]], %col] cacheModifier = ca
// CHECK-NEXT: tt.dot
// CHECK-NEXT: simt.barrier_wait workgroup
// CHECK-NEXT: scf.yield

module attributes {"ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // BARRIER: simt.barrier workgroup
  tt.func public @barrier() {
    ttg.barrier local
    tt.return
  }
}
