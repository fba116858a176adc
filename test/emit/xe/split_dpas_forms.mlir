// REQUIRES: ocloc, spirv-val
// RUN: coopc-opt %s -t 'spirv{device=dg2}' | filecheck %s
// RUN: coopc-opt %s -t 'llvm-ir{device=dg2}' | filecheck %s --check-prefix LLVM
// RUN: coopc-isa %s --device dg2 --clean --expect simd=8 dpas=0 dpasw=1 \
// RUN:   s8_s8_8:dpasw.b.b.d=1 's8_s8_8:dpasw.8x8(8)=1' \
// RUN:   s8_s8_4:dpasw.b.b.d=1 's8_s8_4:dpasw.8x4(8)=1' \
// RUN:   s8_s8_2:dpasw.b.b.d=1 's8_s8_2:dpasw.8x2(8)=1' \
// RUN:   s8_u8_8:dpasw.b.ub.d=1 's8_u8_8:dpasw.8x8(8)=1' \
// RUN:   s8_u8_4:dpasw.b.ub.d=1 's8_u8_4:dpasw.8x4(8)=1' \
// RUN:   s8_u8_2:dpasw.b.ub.d=1 's8_u8_2:dpasw.8x2(8)=1' \
// RUN:   u8_s8_8:dpasw.ub.b.d=1 'u8_s8_8:dpasw.8x8(8)=1' \
// RUN:   u8_s8_4:dpasw.ub.b.d=1 'u8_s8_4:dpasw.8x4(8)=1' \
// RUN:   u8_s8_2:dpasw.ub.b.d=1 'u8_s8_2:dpasw.8x2(8)=1' \
// RUN:   u8_u8_8:dpasw.ub.ub.d=1 'u8_u8_8:dpasw.8x8(8)=1' \
// RUN:   u8_u8_4:dpasw.ub.ub.d=1 'u8_u8_4:dpasw.8x4(8)=1' \
// RUN:   u8_u8_2:dpasw.ub.ub.d=1 'u8_u8_2:dpasw.8x2(8)=1' \
// RUN:   f16_f16_8:dpasw.hf.hf.f=1 'f16_f16_8:dpasw.8x8(8)=1' \
// RUN:   f16_f16_4:dpasw.hf.hf.f=1 'f16_f16_4:dpasw.8x4(8)=1' \
// RUN:   f16_f16_2:dpasw.hf.hf.f=1 'f16_f16_2:dpasw.8x2(8)=1' \
// RUN:   bf16_bf16_8:dpasw.bf.bf.f=1 'bf16_bf16_8:dpasw.8x8(8)=1' \
// RUN:   bf16_bf16_4:dpasw.bf.bf.f=1 'bf16_bf16_4:dpasw.8x4(8)=1' \
// RUN:   bf16_bf16_2:dpasw.bf.bf.f=1 'bf16_bf16_2:dpasw.8x2(8)=1'

// Each of the eighteen functions of split DPAS is one instruction of DG2: the types of A,
// B and the accumulator and the repeat count are those of its name, and no call is left.
// (test_llvm_spir64.py takes the same kernels through LLVM IR and its SPIR-V back end.)

// CHECK: %s8_s8_8 = OpFunction
// CHECK: OpFunctionCall %v8uint %_Z42intel_sub_group_i8_i8_split_matrix_mad_k32Dv4_iDv8_iS0_
// LLVM-LABEL: spir_kernel void @s8_s8_8(
// LLVM: call spir_func <8 x i32> @_Z42intel_sub_group_i8_i8_split_matrix_mad_k32Dv4_iDv8_iS0_(
func.func @s8_s8_8(%in: memref<i32>, %out: memref<?xi32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<4xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xi32, strided<[1]>> -> vector<8xi32>
  %d = xe.split_dpas s8 x s8 repeat 8 %a, %b, %c : vector<4xi32>, vector<8xi32>, vector<8xi32>
  simt.block_write %d, %out[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// CHECK: %s8_s8_4 = OpFunction
// CHECK: OpFunctionCall %v4uint %_Z42intel_sub_group_i8_i8_split_matrix_mad_k32Dv2_iDv8_iDv4_i
// LLVM-LABEL: spir_kernel void @s8_s8_4(
// LLVM: call spir_func <4 x i32> @_Z42intel_sub_group_i8_i8_split_matrix_mad_k32Dv2_iDv8_iDv4_i(
func.func @s8_s8_4(%in: memref<i32>, %out: memref<?xi32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<2xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xi32, strided<[1]>> -> vector<4xi32>
  %d = xe.split_dpas s8 x s8 repeat 4 %a, %b, %c : vector<2xi32>, vector<8xi32>, vector<4xi32>
  simt.block_write %d, %out[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// CHECK: %s8_s8_2 = OpFunction
// CHECK: OpFunctionCall %v2uint %_Z42intel_sub_group_i8_i8_split_matrix_mad_k32iDv8_iDv2_i
// LLVM-LABEL: spir_kernel void @s8_s8_2(
// LLVM: call spir_func <2 x i32> @_Z42intel_sub_group_i8_i8_split_matrix_mad_k32iDv8_iDv2_i(
func.func @s8_s8_2(%in: memref<i32>, %out: memref<?xi32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<1xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xi32, strided<[1]>> -> vector<2xi32>
  %d = xe.split_dpas s8 x s8 repeat 2 %a, %b, %c : vector<1xi32>, vector<8xi32>, vector<2xi32>
  simt.block_write %d, %out[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// CHECK: %s8_u8_8 = OpFunction
// CHECK: OpFunctionCall %v8uint %_Z42intel_sub_group_i8_u8_split_matrix_mad_k32Dv4_iDv8_jDv8_i
// LLVM-LABEL: spir_kernel void @s8_u8_8(
// LLVM: call spir_func <8 x i32> @_Z42intel_sub_group_i8_u8_split_matrix_mad_k32Dv4_iDv8_jDv8_i(
func.func @s8_u8_8(%in: memref<i32>, %out: memref<?xi32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<4xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xi32, strided<[1]>> -> vector<8xi32>
  %d = xe.split_dpas s8 x u8 repeat 8 %a, %b, %c : vector<4xi32>, vector<8xi32>, vector<8xi32>
  simt.block_write %d, %out[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// CHECK: %s8_u8_4 = OpFunction
// CHECK: OpFunctionCall %v4uint %_Z42intel_sub_group_i8_u8_split_matrix_mad_k32Dv2_iDv8_jDv4_i
// LLVM-LABEL: spir_kernel void @s8_u8_4(
// LLVM: call spir_func <4 x i32> @_Z42intel_sub_group_i8_u8_split_matrix_mad_k32Dv2_iDv8_jDv4_i(
func.func @s8_u8_4(%in: memref<i32>, %out: memref<?xi32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<2xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xi32, strided<[1]>> -> vector<4xi32>
  %d = xe.split_dpas s8 x u8 repeat 4 %a, %b, %c : vector<2xi32>, vector<8xi32>, vector<4xi32>
  simt.block_write %d, %out[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// CHECK: %s8_u8_2 = OpFunction
// CHECK: OpFunctionCall %v2uint %_Z42intel_sub_group_i8_u8_split_matrix_mad_k32iDv8_jDv2_i
// LLVM-LABEL: spir_kernel void @s8_u8_2(
// LLVM: call spir_func <2 x i32> @_Z42intel_sub_group_i8_u8_split_matrix_mad_k32iDv8_jDv2_i(
func.func @s8_u8_2(%in: memref<i32>, %out: memref<?xi32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<1xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xi32, strided<[1]>> -> vector<2xi32>
  %d = xe.split_dpas s8 x u8 repeat 2 %a, %b, %c : vector<1xi32>, vector<8xi32>, vector<2xi32>
  simt.block_write %d, %out[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// CHECK: %u8_s8_8 = OpFunction
// CHECK: OpFunctionCall %v8uint %_Z42intel_sub_group_u8_i8_split_matrix_mad_k32Dv4_jDv8_iS0_
// LLVM-LABEL: spir_kernel void @u8_s8_8(
// LLVM: call spir_func <8 x i32> @_Z42intel_sub_group_u8_i8_split_matrix_mad_k32Dv4_jDv8_iS0_(
func.func @u8_s8_8(%in: memref<i32>, %out: memref<?xi32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<4xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xi32, strided<[1]>> -> vector<8xi32>
  %d = xe.split_dpas u8 x s8 repeat 8 %a, %b, %c : vector<4xi32>, vector<8xi32>, vector<8xi32>
  simt.block_write %d, %out[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// CHECK: %u8_s8_4 = OpFunction
// CHECK: OpFunctionCall %v4uint %_Z42intel_sub_group_u8_i8_split_matrix_mad_k32Dv2_jDv8_iDv4_i
// LLVM-LABEL: spir_kernel void @u8_s8_4(
// LLVM: call spir_func <4 x i32> @_Z42intel_sub_group_u8_i8_split_matrix_mad_k32Dv2_jDv8_iDv4_i(
func.func @u8_s8_4(%in: memref<i32>, %out: memref<?xi32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<2xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xi32, strided<[1]>> -> vector<4xi32>
  %d = xe.split_dpas u8 x s8 repeat 4 %a, %b, %c : vector<2xi32>, vector<8xi32>, vector<4xi32>
  simt.block_write %d, %out[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// CHECK: %u8_s8_2 = OpFunction
// CHECK: OpFunctionCall %v2uint %_Z42intel_sub_group_u8_i8_split_matrix_mad_k32jDv8_iDv2_i
// LLVM-LABEL: spir_kernel void @u8_s8_2(
// LLVM: call spir_func <2 x i32> @_Z42intel_sub_group_u8_i8_split_matrix_mad_k32jDv8_iDv2_i(
func.func @u8_s8_2(%in: memref<i32>, %out: memref<?xi32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<1xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xi32, strided<[1]>> -> vector<2xi32>
  %d = xe.split_dpas u8 x s8 repeat 2 %a, %b, %c : vector<1xi32>, vector<8xi32>, vector<2xi32>
  simt.block_write %d, %out[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// CHECK: %u8_u8_8 = OpFunction
// CHECK: OpFunctionCall %v8uint %_Z42intel_sub_group_u8_u8_split_matrix_mad_k32Dv4_jDv8_jDv8_i
// LLVM-LABEL: spir_kernel void @u8_u8_8(
// LLVM: call spir_func <8 x i32> @_Z42intel_sub_group_u8_u8_split_matrix_mad_k32Dv4_jDv8_jDv8_i(
func.func @u8_u8_8(%in: memref<i32>, %out: memref<?xi32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<4xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xi32, strided<[1]>> -> vector<8xi32>
  %d = xe.split_dpas u8 x u8 repeat 8 %a, %b, %c : vector<4xi32>, vector<8xi32>, vector<8xi32>
  simt.block_write %d, %out[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// CHECK: %u8_u8_4 = OpFunction
// CHECK: OpFunctionCall %v4uint %_Z42intel_sub_group_u8_u8_split_matrix_mad_k32Dv2_jDv8_jDv4_i
// LLVM-LABEL: spir_kernel void @u8_u8_4(
// LLVM: call spir_func <4 x i32> @_Z42intel_sub_group_u8_u8_split_matrix_mad_k32Dv2_jDv8_jDv4_i(
func.func @u8_u8_4(%in: memref<i32>, %out: memref<?xi32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<2xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xi32, strided<[1]>> -> vector<4xi32>
  %d = xe.split_dpas u8 x u8 repeat 4 %a, %b, %c : vector<2xi32>, vector<8xi32>, vector<4xi32>
  simt.block_write %d, %out[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// CHECK: %u8_u8_2 = OpFunction
// CHECK: OpFunctionCall %v2uint %_Z42intel_sub_group_u8_u8_split_matrix_mad_k32jDv8_jDv2_i
// LLVM-LABEL: spir_kernel void @u8_u8_2(
// LLVM: call spir_func <2 x i32> @_Z42intel_sub_group_u8_u8_split_matrix_mad_k32jDv8_jDv2_i(
func.func @u8_u8_2(%in: memref<i32>, %out: memref<?xi32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<1xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xi32, strided<[1]>> -> vector<2xi32>
  %d = xe.split_dpas u8 x u8 repeat 2 %a, %b, %c : vector<1xi32>, vector<8xi32>, vector<2xi32>
  simt.block_write %d, %out[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  func.return
}

// CHECK: %f16_f16_8 = OpFunction
// CHECK: OpFunctionCall %v8float %_Z44intel_sub_group_f16_f16_split_matrix_mad_k16Dv4_iDv8_iDv8_f
// LLVM-LABEL: spir_kernel void @f16_f16_8(
// LLVM: call spir_func <8 x float> @_Z44intel_sub_group_f16_f16_split_matrix_mad_k16Dv4_iDv8_iDv8_f(
func.func @f16_f16_8(%in: memref<i32>, %out: memref<?xf32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<4xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xf32, strided<[1]>> -> vector<8xf32>
  %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c : vector<4xi32>, vector<8xi32>, vector<8xf32>
  simt.block_write %d, %out[%at] : vector<8xf32>, memref<?xf32, strided<[1]>>
  func.return
}

// CHECK: %f16_f16_4 = OpFunction
// CHECK: OpFunctionCall %v4float %_Z44intel_sub_group_f16_f16_split_matrix_mad_k16Dv2_iDv8_iDv4_f
// LLVM-LABEL: spir_kernel void @f16_f16_4(
// LLVM: call spir_func <4 x float> @_Z44intel_sub_group_f16_f16_split_matrix_mad_k16Dv2_iDv8_iDv4_f(
func.func @f16_f16_4(%in: memref<i32>, %out: memref<?xf32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<2xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xf32, strided<[1]>> -> vector<4xf32>
  %d = xe.split_dpas f16 x f16 repeat 4 %a, %b, %c : vector<2xi32>, vector<8xi32>, vector<4xf32>
  simt.block_write %d, %out[%at] : vector<4xf32>, memref<?xf32, strided<[1]>>
  func.return
}

// CHECK: %f16_f16_2 = OpFunction
// CHECK: OpFunctionCall %v2float %_Z44intel_sub_group_f16_f16_split_matrix_mad_k16iDv8_iDv2_f
// LLVM-LABEL: spir_kernel void @f16_f16_2(
// LLVM: call spir_func <2 x float> @_Z44intel_sub_group_f16_f16_split_matrix_mad_k16iDv8_iDv2_f(
func.func @f16_f16_2(%in: memref<i32>, %out: memref<?xf32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<1xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xf32, strided<[1]>> -> vector<2xf32>
  %d = xe.split_dpas f16 x f16 repeat 2 %a, %b, %c : vector<1xi32>, vector<8xi32>, vector<2xf32>
  simt.block_write %d, %out[%at] : vector<2xf32>, memref<?xf32, strided<[1]>>
  func.return
}

// CHECK: %bf16_bf16_8 = OpFunction
// CHECK: OpFunctionCall %v8float %_Z46intel_sub_group_bf16_bf16_split_matrix_mad_k16Dv4_iDv8_iDv8_f
// LLVM-LABEL: spir_kernel void @bf16_bf16_8(
// LLVM: call spir_func <8 x float> @_Z46intel_sub_group_bf16_bf16_split_matrix_mad_k16Dv4_iDv8_iDv8_f(
func.func @bf16_bf16_8(%in: memref<i32>, %out: memref<?xf32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<4xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xf32, strided<[1]>> -> vector<8xf32>
  %d = xe.split_dpas bf16 x bf16 repeat 8 %a, %b, %c : vector<4xi32>, vector<8xi32>, vector<8xf32>
  simt.block_write %d, %out[%at] : vector<8xf32>, memref<?xf32, strided<[1]>>
  func.return
}

// CHECK: %bf16_bf16_4 = OpFunction
// CHECK: OpFunctionCall %v4float %_Z46intel_sub_group_bf16_bf16_split_matrix_mad_k16Dv2_iDv8_iDv4_f
// LLVM-LABEL: spir_kernel void @bf16_bf16_4(
// LLVM: call spir_func <4 x float> @_Z46intel_sub_group_bf16_bf16_split_matrix_mad_k16Dv2_iDv8_iDv4_f(
func.func @bf16_bf16_4(%in: memref<i32>, %out: memref<?xf32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<2xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xf32, strided<[1]>> -> vector<4xf32>
  %d = xe.split_dpas bf16 x bf16 repeat 4 %a, %b, %c : vector<2xi32>, vector<8xi32>, vector<4xf32>
  simt.block_write %d, %out[%at] : vector<4xf32>, memref<?xf32, strided<[1]>>
  func.return
}

// CHECK: %bf16_bf16_2 = OpFunction
// CHECK: OpFunctionCall %v2float %_Z46intel_sub_group_bf16_bf16_split_matrix_mad_k16iDv8_iDv2_f
// LLVM-LABEL: spir_kernel void @bf16_bf16_2(
// LLVM: call spir_func <2 x float> @_Z46intel_sub_group_bf16_bf16_split_matrix_mad_k16iDv8_iDv2_f(
func.func @bf16_bf16_2(%in: memref<i32>, %out: memref<?xf32, strided<[1]>>, %at: index, %x: i32, %y: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %in[%x] : memref<i32> -> vector<1xi32>
  %b = xe.block_load %in[%y] : memref<i32> -> vector<8xi32>
  %c = simt.block_read %out[%at] : memref<?xf32, strided<[1]>> -> vector<2xf32>
  %d = xe.split_dpas bf16 x bf16 repeat 2 %a, %b, %c : vector<1xi32>, vector<8xi32>, vector<2xf32>
  simt.block_write %d, %out[%at] : vector<2xf32>, memref<?xf32, strided<[1]>>
  func.return
}
