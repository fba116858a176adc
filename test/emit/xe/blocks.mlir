// REQUIRES: ocloc, spirv-val
// RUN: coopc-opt %s -t 'spirv{device=bmg}' | filecheck %s
// RUN: coopc-isa %s --device bmg,pvc --clean --expect simd=16 scratch=0 \
// RUN:   operand_a:load_block2d.d16=1 operand_b:load_block2d.d16v=1 \
// RUN:   operand_bt:load_block2d.d32t=1 wide_rows:load_block2d.d16=1 \
// RUN:   store:store_block2d.d32=1 prefetch:prefetch_block2d.d16=1

// Each message is one instruction.  A load's destination is a variable, an array of the
// pieces, that the compiler keeps in registers.

// CHECK-DAG: OpCapability Subgroup2DBlockIOINTEL
// CHECK-DAG: OpCapability Subgroup2DBlockTransformINTEL
// CHECK-DAG: OpCapability Subgroup2DBlockTransposeINTEL
// CHECK-DAG: OpExtension "SPV_INTEL_2d_block_io"
// CHECK-DAG: OpExecutionMode %operand_a SubgroupSize 16

// The decorations of L1 and of L3 are two groups: one id takes each decoration but once.
// CHECK:      OpDecorate %[[L1:[0-9]+]] CacheControlLoadINTEL 0 StreamingINTEL
// CHECK-NEXT: %[[L1]] = OpDecorationGroup
// CHECK-NEXT: OpGroupDecorate %[[L1]] %[[BASE:[0-9]+]]
// CHECK-NEXT: OpDecorate %[[L3:[0-9]+]] CacheControlLoadINTEL 1 UncachedINTEL
// CHECK-NEXT: %[[L3]] = OpDecorationGroup
// CHECK-NEXT: OpGroupDecorate %[[L3]] %[[BASE]]
// CHECK:      %[[BASE]] = OpCopyObject %ptr_CrossWorkgroup_half %p
func.func @cached(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  xe.block_prefetch_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 32x16x2>
    cache <l1 = streaming, l3 = uncached> : memref<f16>
  func.return
}

// Operand A of f16: eight pieces of eight rows, each an operand of DPAS.

// CHECK:      %operand_a = OpFunction
// CHECK:      %[[VAR:[0-9]+]] = OpVariable %ptr_Function_arr_v8ushort_uint_8 Function
// CHECK:      %[[XY:[0-9]+]] = OpCompositeConstruct %v2uint %x{{[_0-9]*}} %y{{[_0-9]*}}
// CHECK-NEXT: OpSubgroup2DBlockLoadINTEL %uint_2 %uint_16 %uint_32 %uint_2 %p{{[_0-9]*}} %w{{[_0-9]*}} %h{{[_0-9]*}} %pitch{{[_0-9]*}} %[[XY]] %[[VAR]]
// CHECK-NEXT: %[[AT:[0-9]+]] = OpAccessChain %ptr_Function_v8ushort %[[VAR]] %ulong_0
// CHECK-NEXT: %a0 = OpLoad %v8ushort %[[AT]]
// CHECK-NEXT: %[[AT:[0-9]+]] = OpAccessChain %ptr_Function_v8ushort %[[VAR]] %ulong_1
// CHECK-NEXT: %a1 = OpLoad %v8ushort %[[AT]]
func.func @operand_a(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32,
                     %out: memref<?xi16, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7 =
    xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 32x16x2>
    : memref<f16> -> vector<8xi16>, vector<8xi16>, vector<8xi16>, vector<8xi16>,
                     vector<8xi16>, vector<8xi16>, vector<8xi16>, vector<8xi16>
  %s = arith.addi %a0, %a7 : vector<8xi16>
  simt.block_write %s, %out[%at] : vector<8xi16>, memref<?xi16, strided<[1]>>
  func.return
}

// Operand B of f16: rows packed in pairs.

// CHECK: %operand_b = OpFunction
// CHECK: OpSubgroup2DBlockLoadTransformINTEL %uint_2 %uint_16 %uint_16 %uint_1 %p
func.func @operand_b(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32,
                     %out: memref<?xi32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %b = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch)
    block <16, 16x16x1, transform> : memref<f16> -> vector<8xi32>
  simt.block_write %b, %out[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// Operand B of a transposed f16: pairs of columns, 32 bits, transposed.

// CHECK: %operand_bt = OpFunction
// CHECK: OpSubgroup2DBlockLoadTransposeINTEL %uint_4 %uint_8 %uint_16 %uint_1 %p
func.func @operand_bt(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32,
                      %out: memref<?xi32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %b = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch)
    block <32, 16x8x1, transpose> : memref<f16> -> vector<8xi32>
  simt.block_write %b, %out[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// Rows of 64 bytes: 16 lanes hold two neighbours each, in slots of 32 bits.

// CHECK: %wide_rows = OpFunction
// CHECK: OpSubgroup2DBlockLoadINTEL %uint_2 %uint_32 %uint_8 %uint_1 %p
// CHECK: OpLoad %v8uint
func.func @wide_rows(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32,
                     %out: memref<?xi32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %v = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 8x32x1>
    : memref<f16> -> vector<8xi32>
  simt.block_write %v, %out[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// A store, from a subview: the surface begins where it begins.

// CHECK:      %store = OpFunction
// CHECK:      %[[VAR:[0-9]+]] = OpVariable %ptr_Function_v8uint Function
// CHECK:      %[[XY:[0-9]+]] = OpCompositeConstruct %v2uint %x{{[_0-9]*}} %y{{[_0-9]*}}
// CHECK:      %[[BASE:[0-9]+]] = OpInBoundsPtrAccessChain %ptr_CrossWorkgroup_float %p
// CHECK-NEXT: OpStore %[[VAR]]
// CHECK-NEXT: OpSubgroup2DBlockStoreINTEL %uint_4 %uint_16 %uint_8 %uint_1 %[[VAR]] %[[BASE]] %w{{[_0-9]*}} %h{{[_0-9]*}} %pitch{{[_0-9]*}} %[[XY]]
func.func @store(%p: memref<?x64xf32>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32,
                 %row: index)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %v = arith.constant dense<7> : vector<8xi32>
  %tile = memref.subview %p[%row, 0] [8, 64] [1, 1]
    : memref<?x64xf32> to memref<8x64xf32, strided<[64, 1], offset: ?>>
  xe.block_store_2d %v into %tile[%x, %y] surface(%w, %h, %pitch) block <32, 8x16x1>
    : vector<8xi32> into memref<8x64xf32, strided<[64, 1], offset: ?>>
  func.return
}

// CHECK: %prefetch = OpFunction
// CHECK: OpSubgroup2DBlockPrefetchINTEL %uint_2 %uint_16 %uint_32 %uint_2 %p{{[_0-9]*}} %w{{[_0-9]*}} %h{{[_0-9]*}} %pitch
func.func @prefetch(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  xe.block_prefetch_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 32x16x2>
    : memref<f16>
  func.return
}
