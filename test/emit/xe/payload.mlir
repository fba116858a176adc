// REQUIRES: ocloc, spirv-val
// RUN: coopc-opt %s -t 'spirv{device=bmg}' | filecheck %s
// RUN: coopc-isa %s --device bmg,pvc --clean --expect simd=16 scratch=0 \
// RUN:   stream:load_block2d.d32t=2 stream:prefetch_block2d.d16=1 \
// RUN:   pieces:load_block2d.d16=1 transformed:load_block2d.d8v=1

// A payload is a pointer that only builtins of Intel's compiler look at.  They take the
// sizes of the surface less one.

// CHECK: OpDecorate %{{[_a-zA-Z0-9]+}} LinkageAttributes "__builtin_IB_subgroup_createBlock2DAddressPayload" Import

// CHECK:      %stream = OpFunction
// CHECK:      %[[BASE:[0-9]+]] = OpConvertPtrToU %ulong %p
// CHECK-NEXT: %[[W:[0-9]+]] = OpISub %uint %w %uint_1
// CHECK-NEXT: %[[H:[0-9]+]] = OpISub %uint %h %uint_1
// CHECK-NEXT: %[[PITCH:[0-9]+]] = OpISub %uint %pitch %uint_1
// CHECK-NEXT: %t = OpFunctionCall %ptr_Function_uint %__builtin_IB_subgroup_createBlock2DAddressPayload %[[BASE]] %[[W]] %[[H]] %[[PITCH]] %x %y %uint_8 %uint_16 %uint_1
// CHECK:      %f = OpFunctionCall %ptr_Function_uint %__builtin_IB_subgroup_createBlock2DAddressPayload
// CHECK:      OpFunctionCall %void %__builtin_IB_subgroup_setBlock2DAddressPayloadBlockX %t %y
// CHECK-NEXT: %v0 = OpFunctionCall %v8uint %__builtin_IB_subgroup_block_read_ap_transpose_u32_m16k8v1 %t %uint_0 %uint_0 %uint_0
// CHECK-NEXT: %v1 = OpFunctionCall %v8uint %__builtin_IB_subgroup_block_read_ap_transpose_u32_m16k8v1 %t %uint_8 %uint_4294967280 %uint_6
// CHECK-NEXT: OpFunctionCall %void %__builtin_IB_subgroup_setBlock2DAddressPayloadBlockY %f %x
// CHECK-NEXT: OpFunctionCall %void %__builtin_IB_subgroup_addBlock2DAddressPayloadBlockX %f %y
// CHECK-NEXT: OpFunctionCall %void %__builtin_IB_subgroup_addBlock2DAddressPayloadBlockY %f %x
// CHECK-NEXT: OpFunctionCall %void %__builtin_IB_subgroup_block_read_ap_prefetch_u16_m32k16v2 %f %uint_0 %uint_0 %uint_4
func.func @stream(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32,
                  %out: memref<?xi32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %t = xe.payload_create %p[%x, %y] surface(%w, %h, %pitch)
    : memref<f16> -> !xe.payload<32, 16x8x1, transpose>
  %f = xe.payload_create %p[%x, %y] surface(%w, %h, %pitch)
    : memref<f16> -> !xe.payload<16, 32x16x2>
  xe.payload_set_x %t, %y : !xe.payload<32, 16x8x1, transpose>
  %v0 = xe.payload_load %t[0, 0] : !xe.payload<32, 16x8x1, transpose> -> vector<8xi32>
  %v1 = xe.payload_load %t[8, -16] cache <l1 = streaming, l3 = default>
    : !xe.payload<32, 16x8x1, transpose> -> vector<8xi32>
  xe.payload_set_y %f, %x : !xe.payload<16, 32x16x2>
  xe.payload_add_x %f, %y : !xe.payload<16, 32x16x2>
  xe.payload_add_y %f, %x : !xe.payload<16, 32x16x2>
  xe.payload_prefetch %f[0, 0] cache <l1 = cached, l3 = cached>
    : !xe.payload<16, 32x16x2>
  simt.block_write %v0, %out[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  simt.block_write %v1, %out[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// The builtin returns one vector, which is cut into pieces.

// CHECK:      %pieces = OpFunction
// CHECK:      %[[V:[0-9]+]] = OpFunctionCall %v16ushort %__builtin_IB_subgroup_block_read_ap_u16_m8k16v2
// CHECK-NEXT: %a0 = OpVectorShuffle %v8ushort %[[V]] %[[V]] 0 1 2 3 4 5 6 7
// CHECK-NEXT: %a1 = OpVectorShuffle %v8ushort %[[V]] %[[V]] 8 9 10 11 12 13 14 15
func.func @pieces(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32,
                  %out: memref<?xi16, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %t = xe.payload_create %p[%x, %y] surface(%w, %h, %pitch)
    : memref<f16> -> !xe.payload<16, 8x16x2>
  %a0, %a1 = xe.payload_load %t[0, 0]
    : !xe.payload<16, 8x16x2> -> vector<8xi16>, vector<8xi16>
  simt.block_write %a0, %out[%at] : vector<8xi16>, memref<?xi16, strided<[1]>>
  simt.block_write %a1, %out[%at] : vector<8xi16>, memref<?xi16, strided<[1]>>
  func.return
}

// CHECK: %transformed = OpFunction
// CHECK: OpFunctionCall %v8uint %__builtin_IB_subgroup_block_read_ap_transform_u8_m32k16v1
func.func @transformed(%p: memref<i8>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32,
                       %out: memref<?xi32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %t = xe.payload_create %p[%x, %y] surface(%w, %h, %pitch)
    : memref<i8> -> !xe.payload<8, 32x16x1, transform>
  %b = xe.payload_load %t[0, 0]
    : !xe.payload<8, 32x16x1, transform> -> vector<8xi32>
  simt.block_write %b, %out[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  func.return
}
