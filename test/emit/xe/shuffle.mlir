// REQUIRES: ocloc, spirv-val
// RUN: coopc-opt %s -t 'spirv{device=bmg}' | filecheck %s
// RUN: coopc-isa %s --device bmg,pvc --clean --expect simd=16

// From lanes so many before or behind, moves of registers; from any lane, indirect reads.

// CHECK: OpCapability SubgroupShuffleINTEL
// CHECK: OpExtension "SPV_INTEL_subgroups"
// CHECK: [[X:%.+]] = OpLoad %float
// CHECK: [[UP:%.+]] = OpSubgroupShuffleUpINTEL %float [[X]] [[X]] %uint_2
// CHECK: [[DOWN:%.+]] = OpSubgroupShuffleDownINTEL %float [[UP]] [[UP]] %uint_2
// CHECK: OpGroupNonUniformShuffle %float %uint_3 [[DOWN]] %uint_2
func.func @moved(%f: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %l = simt.lane_id : index
  %two = arith.constant 2 : index
  %x = memref.load %f[%l] : memref<?xf32>
  %y = simt.shuffle up %x, %two : f32
  %z = simt.shuffle down %y, %two : f32
  %w = simt.shuffle idx %z, %two : f32
  memref.store %w, %f[%l] : memref<?xf32>
  func.return
}
