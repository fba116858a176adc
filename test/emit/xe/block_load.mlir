// REQUIRES: ocloc, spirv-val
// RUN: coopc-opt %s -t 'spirv{device=dg2}' | filecheck %s
// RUN: coopc-opt %s -t 'llvm-ir{device=dg2}' | filecheck %s --check-prefix LLVM
// RUN: coopc-isa %s --device dg2 --clean --expect simd=8 load2d=0 \
// RUN:   plain:send.load.ugm.d32x32t.a32.ca.ca.bss=2

// Slots at a number of bytes from a base: an index of bytes is not shifted, as that of
// wider elements would be for each message.  8 channels of 8 lanes are two messages.

// CHECK: [[ZEROS:%.*]] = OpConstantComposite %v2ushort %ushort_0 %ushort_0
// CHECK: %plain = OpFunction
// CHECK: [[AT:%.*]] = OpUConvert %ulong %at
// CHECK: [[BASE:%.*]] = OpBitcast %ptr_CrossWorkgroup_uchar %p
// CHECK: [[PLACE:%.*]] = OpInBoundsPtrAccessChain %ptr_CrossWorkgroup_uchar [[BASE]] [[AT]]
// CHECK: [[CHANNELS:%.*]] = OpBitcast %ptr_CrossWorkgroup_uint [[PLACE]]
// CHECK: %a = OpSubgroupBlockReadINTEL %v8uint [[CHANNELS]]
// LLVM-LABEL: spir_kernel void @plain(
// LLVM: [[AT:%.*]] = zext i32 %at to i64
// LLVM: [[PLACE:%.*]] = getelementptr inbounds i8, ptr addrspace(1) %p, i64 [[AT]]
// LLVM: call spir_func <8 x i32> @_Z30intel_sub_group_block_read_ui8PU3AS1j(ptr addrspace(1) [[PLACE]])
func.func @plain(%p: memref<f16>, %at: i32, %out: memref<?xi32>, %to: index)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
  simt.block_write %a, %out[%to] : vector<8xi32>, memref<?xi32>
  func.return
}

// A guard that is false: what is at the base is read, and is not used.

// CHECK: %guarded = OpFunction
// CHECK: [[SAFE:%.*]] = OpSelect %uint %inside %at_0 %uint_0
// CHECK: [[AT:%.*]] = OpUConvert %ulong [[SAFE]]
// CHECK: [[READ:%.*]] = OpSubgroupBlockReadINTEL %v2ushort
// CHECK: %a_0 = OpSelect %v2ushort %inside [[READ]] [[ZEROS]]
// LLVM-LABEL: spir_kernel void @guarded(
// LLVM: [[SAFE:%.*]] = select i1 {{%.*}}, i32 %at, i32 0
// LLVM: [[READ:%.*]] = call spir_func <2 x i16> @_Z30intel_sub_group_block_read_us2PU3AS1t(
// LLVM: select i1 {{%.*}}, <2 x i16> [[READ]], <2 x i16> {{.*}}
func.func @guarded(%p: memref<f16>, %at: i32, %n: i32, %out: memref<?xi16>, %to: index)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %inside = arith.cmpi ult, %at, %n : i32
  %a = xe.block_load %p[%at] where %inside : memref<f16> -> vector<2xi16>
  simt.block_write %a, %out[%to] : vector<2xi16>, memref<?xi16>
  func.return
}
