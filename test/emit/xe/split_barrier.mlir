// REQUIRES: ocloc, spirv-val
// RUN: coopc-opt %s -t 'spirv{device=bmg}' | filecheck %s
// RUN: coopc-isa %s --device bmg,pvc,dg2 --clean --expect simd=16 barriers=1 sync.bar=1

// A barrier in two halves, between which a subgroup works on what it has.

// CHECK: OpExtension "SPV_INTEL_split_barrier"
// CHECK: OpControlBarrierArriveINTEL %uint_2 %uint_2
// CHECK: OpFMul
// CHECK: OpControlBarrierWaitINTEL %uint_2 %uint_2
func.func @halves(%m: memref<?xf32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.work_group_size = array<i32: 64>,
                simt.subgroup_size = 16 : i32} {
  %v = simt.block_read %m[%at] : memref<?xf32, strided<[1]>> -> vector<8xf32>
  simt.barrier_arrive workgroup
  %s = arith.mulf %v, %v : vector<8xf32>
  simt.barrier_wait workgroup
  simt.block_write %s, %m[%at] : vector<8xf32>, memref<?xf32, strided<[1]>>
  func.return
}
