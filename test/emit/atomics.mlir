// RUN: coopc-opt %s -t 'spirv{device=lavapipe}' | filecheck %s --check-prefix VULKAN
// RUN: coopc-opt %s -t 'spirv{device=bmg}' | filecheck %s --check-prefix OPENCL

// Atomic accesses: an instruction where the device has one, else a loop that compares
// and exchanges integers.

// The buffer once more as integers, of the same binding.
// VULKAN-NOT: OpDecorate %d NonWritable
// VULKAN-DAG: OpDecorate %d_words2 Binding 1
// VULKAN-DAG: OpDecorate %d_words2 Aliased
// VULKAN-DAG: OpDecorate %h_words1 Binding 2

// OPENCL-DAG: OpCapability AtomicFloat32AddEXT
// OPENCL-DAG: OpCapability AtomicFloat32MinMaxEXT
// OPENCL-DAG: OpCapability AtomicFloat64AddEXT

// VULKAN-LABEL: %sums = OpFunction
// OPENCL-LABEL: %sums = OpFunction
func.func @sums(%f: memref<?xf32>, %d: memref<?xf64>, %h: memref<?xf16>, %i: index,
                %x: f32, %y: f64, %z: f16) attributes {simt.kernel} {
  // VULKAN: OpAtomicFAddEXT %float
  // OPENCL: OpAtomicFAddEXT %float
  %a = "memref.atomic_rmw"(%x, %f, %i) <{kind = 0 : i64}>
    : (f32, memref<?xf32>, index) -> f32

  // VULKAN:      %[[AT:.*]] = OpAccessChain %ptr_StorageBuffer_ulong %d_words2 %uint_0
  // VULKAN-NEXT: %[[FIRST:.*]] = OpAtomicLoad %ulong %[[AT]] %uint_5 %uint_0
  // VULKAN:      %[[OLD:.*]] = OpPhi %ulong %[[FIRST]] %{{.*}} %[[SEEN:.*]] %again
  // VULKAN-NEXT: OpLoopMerge %exchanged %again None
  // VULKAN:      %[[WAS:.*]] = OpBitcast %double %[[OLD]]
  // VULKAN-NEXT: %[[SUM:.*]] = OpFAdd %double %[[WAS]] %y
  // VULKAN-NEXT: %[[NEW:.*]] = OpBitcast %ulong %[[SUM]]
  // VULKAN-NEXT: %[[SEEN]] = OpAtomicCompareExchange %ulong %[[AT]] %uint_5 %uint_0 %uint_0 %[[NEW]] %[[OLD]]
  // VULKAN-NEXT: %[[SAME:.*]] = OpIEqual %bool %[[SEEN]] %[[OLD]]
  // VULKAN-NEXT: OpBranchConditional %[[SAME]] %exchanged %again
  // OPENCL:      OpAtomicFAddEXT %double
  %b = "memref.atomic_rmw"(%y, %d, %i) <{kind = 0 : i64}>
    : (f64, memref<?xf64>, index) -> f64

  // Half of a word: the other half is kept.
  // VULKAN:      %[[WORD:.*]] = OpShiftRightLogical %uint %{{.*}} %uint_1
  // VULKAN-NEXT: OpAccessChain %ptr_StorageBuffer_uint %h_words1 %uint_0 %[[WORD]]
  // VULKAN-NEXT: %[[HALF:.*]] = OpBitwiseAnd %uint %{{.*}} %uint_1
  // VULKAN-NEXT: OpIMul %uint %[[HALF]] %uint_16
  // VULKAN:      OpFAdd %half
  // VULKAN:      OpAtomicCompareExchange %uint
  // OPENCL:      %[[P:.*]] = OpConvertPtrToU %ulong
  // OPENCL-NEXT: %[[Q:.*]] = OpBitwiseAnd %ulong %[[P]] %ulong_18446744073709551612
  // OPENCL:      OpConvertUToPtr %ptr_CrossWorkgroup_uint %[[Q]]
  // OPENCL:      OpFAdd %half
  // OPENCL:      OpAtomicCompareExchange %uint
  %c = "memref.atomic_rmw"(%z, %h, %i) <{kind = 0 : i64}>
    : (f16, memref<?xf16>, index) -> f16
  func.return
}

// VULKAN-LABEL: %accesses = OpFunction
// OPENCL-LABEL: %accesses = OpFunction
func.func @accesses(%f: memref<?xf32>, %d: memref<?xf64>, %i: index)
    attributes {simt.kernel} {
  // VULKAN:      OpAtomicLoad %float %{{.*}} %uint_5 %uint_16450
  // VULKAN:      OpAtomicStore %{{.*}} %uint_5 %uint_8260
  // OPENCL:      %[[P:.*]] = OpBitcast %ptr_CrossWorkgroup_uint
  // OPENCL-NEXT: %[[X:.*]] = OpAtomicLoad %uint %[[P]] %uint_1 %uint_514
  // OPENCL-NEXT: OpBitcast %float %[[X]]
  %x = memref.load %f[%i] {simt.ordering = "acquire"} : memref<?xf32>
  memref.store %x, %f[%i] {simt.ordering = "release"} : memref<?xf32>
  // VULKAN:      OpAtomicLoad %ulong
  // VULKAN:      %[[Y:.*]] = OpBitcast %ulong
  // VULKAN:      OpAtomicStore %{{.*}} %uint_5 %uint_0 %[[Y]]
  %y = memref.load %d[%i] {simt.ordering = "relaxed"} : memref<?xf64>
  memref.store %y, %d[%i] {simt.ordering = "relaxed"} : memref<?xf64>
  func.return
}

// The greater of floats: an instruction, or NMax and fmax in the loop.
// VULKAN-LABEL: %greatest = OpFunction
// OPENCL-LABEL: %greatest = OpFunction
func.func @greatest(%f: memref<?xf32>, %d: memref<?xf64>, %i: index, %x: f32, %y: f64)
    attributes {simt.kernel} {
  // VULKAN: OpAtomicFMaxEXT %float
  // OPENCL: OpAtomicFMaxEXT %float
  %a = "memref.atomic_rmw"(%x, %f, %i) <{kind = 13 : i64}>
    : (f32, memref<?xf32>, index) -> f32
  // VULKAN: OpExtInst %double %{{.*}} NMax
  // OPENCL: OpExtInst %double %{{.*}} fmax
  // OPENCL: OpAtomicCompareExchange %ulong
  %b = "memref.atomic_rmw"(%y, %d, %i) <{kind = 13 : i64}>
    : (f64, memref<?xf64>, index) -> f64
  func.return
}
