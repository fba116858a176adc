// RUN: coopc-opt %s -t 'spirv{device=lavapipe}' | filecheck %s --check-prefix VULKAN
// RUN: coopc-opt %s -t 'spirv{device=bmg}' | filecheck %s --check-prefix OPENCL
// VALID: lavapipe bmg

// Allocations, barriers, lanes, blocks and calls.

// VULKAN-DAG: %shared = OpVariable %{{.*}} Workgroup
// OPENCL-DAG: %shared = OpVariable %{{.*}} Workgroup

// Where work-items wait for each other, what others see is not private to one.
// VULKAN-LABEL: %wait = OpFunction
// VULKAN:       %own = OpVariable %{{.*}} Function
// VULKAN:       OpStore %{{.*}} %{{.*}} NonPrivatePointer
// VULKAN:       OpControlBarrier %uint_2 %uint_2 %uint_24904
// VULKAN:       OpLoad %half %{{.*}} NonPrivatePointer
// VULKAN:       OpStore %{{[0-9]+}} %y{{$}}
// The lanes of lavapipe's subgroups are in lockstep: only what they see is ordered.
// VULKAN:       OpMemoryBarrier %uint_3 %uint_24904
// OPENCL-LABEL: %wait = OpFunction
// OPENCL:       OpControlBarrier %uint_2 %uint_2 %uint_776
// OPENCL:       OpControlBarrierArriveINTEL %uint_3 %uint_3 %uint_772
// OPENCL:       OpControlBarrierWaitINTEL %uint_3 %uint_3 %uint_770
func.func @wait(%m: memref<8xf16>)
    attributes {simt.kernel, simt.work_group_size = array<i32: 8>} {
  %shared = memref.alloca() : memref<8xf16, #simt.memory<workgroup>>
  %own = memref.alloca() : memref<2xf16, #simt.memory<private>>
  %i = simt.local_id x : index
  %0 = arith.constant 0 : index
  %x = memref.load %m[%i] : memref<8xf16>
  memref.store %x, %shared[%i] : memref<8xf16, #simt.memory<workgroup>>
  simt.barrier workgroup
  %y = memref.load %shared[%0] : memref<8xf16, #simt.memory<workgroup>>
  memref.store %y, %own[%0] : memref<2xf16, #simt.memory<private>>
  simt.barrier_arrive subgroup
  simt.barrier_wait subgroup
  func.return
}

// VULKAN-LABEL: %lanes = OpFunction
// VULKAN: OpGroupNonUniformBroadcast %uint %uint_3 %n %uint_2
// VULKAN: OpGroupNonUniformShuffleXor %uint %uint_3 %n %uint_2
// VULKAN: OpGroupNonUniformSMax %uint %uint_3 Reduce %n
// VULKAN: OpGroupNonUniformBitwiseAnd %uint %uint_3 Reduce %n
// OPENCL-LABEL: %lanes = OpFunction
// OPENCL: OpGroupBroadcast %uint %uint_3 %n %uint_2
// OPENCL: OpGroupNonUniformShuffleXor %uint %uint_3 %n %uint_2
// OPENCL: OpGroupSMax %uint %uint_3 Reduce %n
// OPENCL: OpGroupNonUniformBitwiseAnd %uint %uint_3 Reduce %n
func.func @lanes(%n: i32) attributes {simt.kernel} {
  %2 = arith.constant 2 : index
  %a = simt.broadcast %n, %2 : i32
  %b = simt.shuffle xor %n, %2 : i32
  %c = simt.reduce max signed %n : i32
  %d = simt.reduce and %n : i32
  func.return
}

// VULKAN-LABEL: %blocks = OpFunction
// VULKAN-COUNT-4: OpLoad %half
// VULKAN-NOT: OpLoad %half
// OPENCL-LABEL: %blocks = OpFunction
// OPENCL: %[[P:.*]] = OpBitcast %ptr_CrossWorkgroup_ushort %m
// OPENCL: %[[B:.*]] = OpSubgroupBlockReadINTEL %v4ushort %[[P]]
// OPENCL: %v = OpBitcast %v4half %[[B]]
func.func @blocks(%m: memref<64xf16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %v = simt.block_read %m[%0] : memref<64xf16> -> vector<4xf16>
  simt.block_write %v, %m[%0] : vector<4xf16>, memref<64xf16>
  func.return
}

// A function is called under OpenCL, and emitted in place under Vulkan.
// VULKAN-LABEL: %calls = OpFunction
// VULKAN-NOT:   OpFunctionCall
// VULKAN:       %twice = OpFAdd %float
// OPENCL-LABEL: %calls = OpFunction
// OPENCL:       %{{.*}} = OpFunctionCall %float %first %from %from_size0
// OPENCL-LABEL: %first = OpFunction %float
// OPENCL-NEXT:  OpFunctionParameter %ptr_CrossWorkgroup_float
// OPENCL-NEXT:  OpFunctionParameter %ulong
// OPENCL:       OpReturnValue %twice
func.func @calls(%from: memref<?xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = func.call @first(%from) : (memref<?xf32>) -> f32
  memref.store %x, %from[%0] : memref<?xf32>
  func.return
}
func.func @first(%from: memref<?xf32>) -> f32 {
  %0 = arith.constant 0 : index
  %x = memref.load %from[%0] : memref<?xf32>
  %twice = arith.addf %x, %x : f32
  func.return %twice : f32
}
