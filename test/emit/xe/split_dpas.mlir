// REQUIRES: ocloc, spirv-val
// RUN: coopc-opt %s -t 'spirv{device=dg2}' | filecheck %s
// RUN: coopc-isa %s --device dg2 --clean --expect simd=8 f16:dpas=0 f16:dpasw=6 \
// RUN:   'f16:dpasw.8x8(8)=2' 'f16:dpasw.8x4(8)=2' 'f16:dpasw.8x2(8)=2' \
// RUN:   f16:dpasw.hf.hf.f=3 f16:dpasw.bf.bf.f=3 i8:dpas=0 i8:dpasw=6 \
// RUN:   'i8:dpasw.8x8(8)=4' 'i8:dpasw.8x4(8)=1' 'i8:dpasw.8x2(8)=1' \
// RUN:   i8:dpasw.b.b.d=1 i8:dpasw.b.ub.d=3 i8:dpasw.ub.b.d=1 i8:dpasw.ub.ub.d=1

// Split DPAS is an imported builtin; its name says the types of its arguments.

// CHECK-DAG: OpDecorate %{{[_a-zA-Z0-9]+}} LinkageAttributes "_Z44intel_sub_group_f16_f16_split_matrix_mad_k16Dv4_iDv8_iDv8_f" Import
// CHECK-DAG: OpCapability Linkage

// CHECK: %f16 = OpFunction
// CHECK: %d8 = OpFunctionCall %v8float %_Z44intel_sub_group_f16_f16_split_matrix_mad_k16Dv4_iDv8_iDv8_f
// CHECK: %d4 = OpFunctionCall %v4float %_Z44intel_sub_group_f16_f16_split_matrix_mad_k16Dv2_iDv8_iDv4_f
// CHECK: %d2 = OpFunctionCall %v2float %_Z44intel_sub_group_f16_f16_split_matrix_mad_k16iDv8_iDv2_f
// CHECK: %e8 = OpFunctionCall %v8float %_Z46intel_sub_group_bf16_bf16_split_matrix_mad_k16Dv4_iDv8_iDv8_f
// CHECK: %e4 = OpFunctionCall %v4float %_Z46intel_sub_group_bf16_bf16_split_matrix_mad_k16Dv2_iDv8_iDv4_f
// CHECK: %e2 = OpFunctionCall %v2float %_Z46intel_sub_group_bf16_bf16_split_matrix_mad_k16iDv8_iDv2_f
func.func @f16(%out: memref<?xf32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32,
                simt.work_group_size = array<i32: 16>} {
  %a4 = arith.constant dense<1> : vector<4xi32>
  %a2 = arith.constant dense<1> : vector<2xi32>
  %a1 = arith.constant dense<1> : vector<1xi32>
  %b = arith.constant dense<2> : vector<8xi32>
  %c8 = arith.constant dense<0.0> : vector<8xf32>
  %c4 = arith.constant dense<0.0> : vector<4xf32>
  %c2 = arith.constant dense<0.0> : vector<2xf32>
  %d8 = xe.split_dpas f16 x f16 repeat 8 %a4, %b, %c8 : vector<4xi32>, vector<8xi32>, vector<8xf32>
  %d4 = xe.split_dpas f16 x f16 repeat 4 %a2, %b, %c4 : vector<2xi32>, vector<8xi32>, vector<4xf32>
  %d2 = xe.split_dpas f16 x f16 repeat 2 %a1, %b, %c2 : vector<1xi32>, vector<8xi32>, vector<2xf32>
  %e8 = xe.split_dpas bf16 x bf16 repeat 8 %a4, %b, %c8 : vector<4xi32>, vector<8xi32>, vector<8xf32>
  %e4 = xe.split_dpas bf16 x bf16 repeat 4 %a2, %b, %c4 : vector<2xi32>, vector<8xi32>, vector<4xf32>
  %e2 = xe.split_dpas bf16 x bf16 repeat 2 %a1, %b, %c2 : vector<1xi32>, vector<8xi32>, vector<2xf32>
  simt.block_write %d8, %out[%at] : vector<8xf32>, memref<?xf32, strided<[1]>>
  simt.block_write %d4, %out[%at] : vector<4xf32>, memref<?xf32, strided<[1]>>
  simt.block_write %d2, %out[%at] : vector<2xf32>, memref<?xf32, strided<[1]>>
  simt.block_write %e8, %out[%at] : vector<8xf32>, memref<?xf32, strided<[1]>>
  simt.block_write %e4, %out[%at] : vector<4xf32>, memref<?xf32, strided<[1]>>
  simt.block_write %e2, %out[%at] : vector<2xf32>, memref<?xf32, strided<[1]>>
  func.return
}

// Operands of u8 are unsigned integers in the name, a vector that occurred is not
// repeated.

// CHECK: %i8 = OpFunction
// CHECK: %ss = OpFunctionCall %v8uint %_Z42intel_sub_group_i8_i8_split_matrix_mad_k32Dv4_iDv8_iS0_
// CHECK: %su = OpFunctionCall %v8uint %_Z42intel_sub_group_i8_u8_split_matrix_mad_k32Dv4_iDv8_jDv8_i
// CHECK: %us = OpFunctionCall %v8uint %_Z42intel_sub_group_u8_i8_split_matrix_mad_k32Dv4_jDv8_iS0_
// CHECK: %uu = OpFunctionCall %v8uint %_Z42intel_sub_group_u8_u8_split_matrix_mad_k32Dv4_jDv8_jDv8_i
// CHECK: %su4 = OpFunctionCall %v4uint %_Z42intel_sub_group_i8_u8_split_matrix_mad_k32Dv2_iDv8_jDv4_i
// CHECK: %su2 = OpFunctionCall %v2uint %_Z42intel_sub_group_i8_u8_split_matrix_mad_k32iDv8_jDv2_i
func.func @i8(%out: memref<?xi32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32,
                simt.work_group_size = array<i32: 16>} {
  %a4 = arith.constant dense<1> : vector<4xi32>
  %a2 = arith.constant dense<1> : vector<2xi32>
  %a1 = arith.constant dense<1> : vector<1xi32>
  %b = arith.constant dense<2> : vector<8xi32>
  %c8 = arith.constant dense<0> : vector<8xi32>
  %c4 = arith.constant dense<0> : vector<4xi32>
  %c2 = arith.constant dense<0> : vector<2xi32>
  %ss = xe.split_dpas s8 x s8 repeat 8 %a4, %b, %c8 : vector<4xi32>, vector<8xi32>, vector<8xi32>
  %su = xe.split_dpas s8 x u8 repeat 8 %a4, %b, %c8 : vector<4xi32>, vector<8xi32>, vector<8xi32>
  %us = xe.split_dpas u8 x s8 repeat 8 %a4, %b, %c8 : vector<4xi32>, vector<8xi32>, vector<8xi32>
  %uu = xe.split_dpas u8 x u8 repeat 8 %a4, %b, %c8 : vector<4xi32>, vector<8xi32>, vector<8xi32>
  %su4 = xe.split_dpas s8 x u8 repeat 4 %a2, %b, %c4 : vector<2xi32>, vector<8xi32>, vector<4xi32>
  %su2 = xe.split_dpas s8 x u8 repeat 2 %a1, %b, %c2 : vector<1xi32>, vector<8xi32>, vector<2xi32>
  simt.block_write %ss, %out[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  simt.block_write %su, %out[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  simt.block_write %us, %out[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  simt.block_write %uu, %out[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  simt.block_write %su4, %out[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  simt.block_write %su2, %out[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  func.return
}
