// RUN: coopc-opt %s -t 'spirv{device=nvidia}' | filecheck %s --check-prefix VULKAN
// RUN: coopc-opt %s -t 'spirv{device=bmg}' | filecheck %s --check-prefix OPENCL
// VALID: nvidia bmg

// How kernels get their arguments, and what they declare.

// VULKAN:      OpMemoryModel Logical Vulkan
// VULKAN-NEXT: OpEntryPoint GLCompute %copy "copy" %arguments %from %to
// VULKAN-NEXT: OpEntryPoint GLCompute %where "where" %arguments_0 %WorkgroupId %SubgroupLocalInvocationId %there
// VULKAN-NEXT: OpExecutionMode %copy LocalSize 1 1 1
// VULKAN-NEXT: OpExecutionMode %where LocalSize 16 2 1
// OPENCL:      OpMemoryModel Physical64 OpenCL
// OPENCL-NEXT: OpEntryPoint Kernel %copy "copy"
// OPENCL-NEXT: OpEntryPoint Kernel %where "where" %WorkgroupId %SubgroupLocalInvocationId
// OPENCL-NEXT: OpExecutionMode %copy LocalSize 1 1 1
// OPENCL-NEXT: OpExecutionMode %where LocalSize 16 2 1
// OPENCL-NEXT: OpExecutionMode %where SubgroupSize 32

// The block of push constants: each member at the next multiple of its size.
// VULKAN-DAG: OpMemberName %Arguments 0 "from_offset"
// VULKAN-DAG: OpMemberName %Arguments 1 "from_size0"
// VULKAN-DAG: OpMemberName %Arguments 2 "from_stride1"
// VULKAN-DAG: OpMemberName %Arguments 3 "byte"
// VULKAN-DAG: OpMemberName %Arguments 4 "wide"
// VULKAN-DAG: OpMemberDecorate %Arguments 2 Offset 8
// VULKAN-DAG: OpMemberDecorate %Arguments 3 Offset 12
// VULKAN-DAG: OpMemberDecorate %Arguments 4 Offset 16

// Buffers may be the same memory, unless they are only read.
// VULKAN-DAG: OpDecorate %from Binding 0
// VULKAN-DAG: OpDecorate %from Aliased
// VULKAN-DAG: OpDecorate %from NonWritable
// VULKAN-DAG: OpDecorate %to DescriptorSet 0
// VULKAN-DAG: OpDecorate %to Binding 1
// VULKAN-DAG: OpDecorate %there Binding 0
// VULKAN-NOT: OpDecorate %to NonWritable

// Only what is used is loaded; an i1 is a byte.
// VULKAN-LABEL: %copy = OpFunction
// VULKAN:      %from_offset = OpLoad
// VULKAN:      %from_stride1 = OpLoad
// VULKAN-NOT:  %from_size0 =
// VULKAN:      %[[AT:.*]] = OpIAdd %uint %from_offset %from_stride1
// VULKAN-NEXT: %[[P:.*]] = OpAccessChain %ptr_StorageBuffer_uchar %from %uint_0 %[[AT]]
// VULKAN-NEXT: %[[BYTE:.*]] = OpLoad %uchar %[[P]]
// VULKAN-NEXT: %x = OpINotEqual %bool %[[BYTE]] %uchar_0
// VULKAN:      %[[BACK:.*]] = OpSelect %uchar %x %uchar_1 %uchar_0
// VULKAN-NEXT: OpStore %{{.*}} %[[BACK]]{{$}}

// OPENCL-LABEL: %copy = OpFunction
// OPENCL-NEXT: %from = OpFunctionParameter %ptr_CrossWorkgroup_uchar
// OPENCL-NEXT: %from_offset = OpFunctionParameter %ulong
// OPENCL-NEXT: %from_size0 = OpFunctionParameter %ulong
// OPENCL-NEXT: %from_stride1 = OpFunctionParameter %ulong
// OPENCL-NEXT: %byte = OpFunctionParameter %uchar
// OPENCL-NEXT: %to = OpFunctionParameter %ptr_CrossWorkgroup_uchar
// OPENCL-NEXT: %wide = OpFunctionParameter %double
// OPENCL-NEXT: %entry = OpLabel
// OPENCL-NEXT: %[[AT:.*]] = OpIAdd %ulong %from_offset %from_stride1
// OPENCL-NEXT: %[[P:.*]] = OpInBoundsPtrAccessChain %ptr_CrossWorkgroup_uchar %from %[[AT]]
func.func @copy(%from: memref<?x8xi1, strided<[8, ?], offset: ?>>, %byte: i8,
                %to: memref<8xi1>, %wide: f64) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %x = memref.load %from[%0, %1] : memref<?x8xi1, strided<[8, ?], offset: ?>>
  memref.store %x, %to[%1] : memref<8xi1>
  func.return
}

// Built-in variables are read once, at the entry, wherever they are asked for.
// VULKAN-LABEL: %where = OpFunction
// VULKAN:       %[[GROUP:.*]] = OpLoad %v3uint %WorkgroupId
// VULKAN-NEXT:  %y = OpCompositeExtract %uint %[[GROUP]] 1
// VULKAN-NEXT:  %lane = OpLoad %uint %SubgroupLocalInvocationId
// VULKAN:       OpBranchConditional
// VULKAN-NOT:   OpLoad %uint %SubgroupLocalInvocationId
// OPENCL-LABEL: %where = OpFunction
// OPENCL:       %[[GROUP:.*]] = OpLoad %v3ulong %WorkgroupId
// OPENCL:       %[[LANE:.*]] = OpLoad %uint %SubgroupLocalInvocationId
// OPENCL-NEXT:  %lane = OpUConvert %ulong %[[LANE]]
func.func @where(%there: memref<?xi32>, %n: i1)
    attributes {simt.kernel, simt.work_group_size = array<i32: 16, 2>,
                simt.subgroup_size = 32 : i32} {
  %y = simt.workgroup_id y : index
  scf.if %n {
    %lane = simt.lane_id : index
    %i = arith.index_cast %lane : index to i32
    memref.store %i, %there[%y] : memref<?xi32>
    %again = simt.lane_id : index
    %j = arith.index_cast %again : index to i32
    memref.store %j, %there[%again] : memref<?xi32>
  }
  func.return
}
