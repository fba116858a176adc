// REQUIRES: ocloc, spirv-val
// RUN: coopc-opt %s -t 'spirv{device=dg2}' | filecheck %s
// RUN: coopc-isa %s --device dg2 --clean \
// RUN:   --expect simd=8 dpas=10 'm8:dpas.8x8(8)=10' 'm4:dpas.8x4(8)=10' 'm2:dpas.8x2(8)=10' \
// RUN:   'm1:dpas.8x1(8)=10' dpas.hf.hf.f=1 dpas.bf.bf.f=1 dpas.b.b.d=1 dpas.b.ub.d=1 \
// RUN:   dpas.ub.b.d=1 dpas.ub.ub.d=1 dpas.s4.s4.d=1 dpas.s4.u4.d=1 dpas.u4.s4.d=1 dpas.u4.u4.d=1

// Every multiplication of DG2: 8 lanes, N = 8, both operands packed in 32 bits.

func.func @m8(%f32: memref<?xf32, strided<[1]>>, %f16: memref<?xf16, strided<[1]>>,
               %i32: memref<?xi32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %a = arith.constant dense<1> : vector<8xi32>
  %b = arith.constant dense<2> : vector<8xi32>
  %c_f32 = arith.constant dense<0.0> : vector<8xf32>
  %c_i32 = arith.constant dense<0> : vector<8xi32>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8float %uint_16
  // CHECK-SAME: MatrixAPackedFloat16INTEL|MatrixBPackedFloat16INTEL{{$}}
  %f16_f16 = xe.dpas f16 x f16 repeat 8 %a, %b, %c_f32 : vector<8xi32>, vector<8xi32>, vector<8xf32>
  simt.block_write %f16_f16, %f32[%at] : vector<8xf32>, memref<?xf32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8float %uint_16
  // CHECK-SAME: MatrixAPackedBFloat16INTEL|MatrixBPackedBFloat16INTEL{{$}}
  %bf16_bf16 = xe.dpas bf16 x bf16 repeat 8 %a, %b, %c_f32 : vector<8xi32>, vector<8xi32>, vector<8xf32>
  simt.block_write %bf16_bf16, %f32[%at] : vector<8xf32>, memref<?xf32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_32
  // CHECK-SAME: MatrixASignedComponentsINTEL|MatrixBSignedComponentsINTEL|MatrixAPackedInt8INTEL|MatrixBPackedInt8INTEL{{$}}
  %s8_s8 = xe.dpas s8 x s8 repeat 8 %a, %b, %c_i32 : vector<8xi32>, vector<8xi32>, vector<8xi32>
  simt.block_write %s8_s8, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_32
  // CHECK-SAME: MatrixASignedComponentsINTEL|MatrixAPackedInt8INTEL|MatrixBPackedInt8INTEL{{$}}
  %s8_u8 = xe.dpas s8 x u8 repeat 8 %a, %b, %c_i32 : vector<8xi32>, vector<8xi32>, vector<8xi32>
  simt.block_write %s8_u8, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_32
  // CHECK-SAME: MatrixBSignedComponentsINTEL|MatrixAPackedInt8INTEL|MatrixBPackedInt8INTEL{{$}}
  %u8_s8 = xe.dpas u8 x s8 repeat 8 %a, %b, %c_i32 : vector<8xi32>, vector<8xi32>, vector<8xi32>
  simt.block_write %u8_s8, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_32
  // CHECK-SAME: MatrixAPackedInt8INTEL|MatrixBPackedInt8INTEL{{$}}
  %u8_u8 = xe.dpas u8 x u8 repeat 8 %a, %b, %c_i32 : vector<8xi32>, vector<8xi32>, vector<8xi32>
  simt.block_write %u8_u8, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_64
  // CHECK-SAME: MatrixASignedComponentsINTEL|MatrixBSignedComponentsINTEL|MatrixAPackedInt4INTEL|MatrixBPackedInt4INTEL{{$}}
  %s4_s4 = xe.dpas s4 x s4 repeat 8 %a, %b, %c_i32 : vector<8xi32>, vector<8xi32>, vector<8xi32>
  simt.block_write %s4_s4, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_64
  // CHECK-SAME: MatrixASignedComponentsINTEL|MatrixAPackedInt4INTEL|MatrixBPackedInt4INTEL{{$}}
  %s4_u4 = xe.dpas s4 x u4 repeat 8 %a, %b, %c_i32 : vector<8xi32>, vector<8xi32>, vector<8xi32>
  simt.block_write %s4_u4, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_64
  // CHECK-SAME: MatrixBSignedComponentsINTEL|MatrixAPackedInt4INTEL|MatrixBPackedInt4INTEL{{$}}
  %u4_s4 = xe.dpas u4 x s4 repeat 8 %a, %b, %c_i32 : vector<8xi32>, vector<8xi32>, vector<8xi32>
  simt.block_write %u4_s4, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_64
  // CHECK-SAME: MatrixAPackedInt4INTEL|MatrixBPackedInt4INTEL{{$}}
  %u4_u4 = xe.dpas u4 x u4 repeat 8 %a, %b, %c_i32 : vector<8xi32>, vector<8xi32>, vector<8xi32>
  simt.block_write %u4_u4, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  func.return
}

func.func @m4(%f32: memref<?xf32, strided<[1]>>, %f16: memref<?xf16, strided<[1]>>,
               %i32: memref<?xi32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %a = arith.constant dense<1> : vector<4xi32>
  %b = arith.constant dense<2> : vector<8xi32>
  %c_f32 = arith.constant dense<0.0> : vector<4xf32>
  %c_i32 = arith.constant dense<0> : vector<4xi32>
  %f16_f16 = xe.dpas f16 x f16 repeat 4 %a, %b, %c_f32 : vector<4xi32>, vector<8xi32>, vector<4xf32>
  simt.block_write %f16_f16, %f32[%at] : vector<4xf32>, memref<?xf32, strided<[1]>>
  %bf16_bf16 = xe.dpas bf16 x bf16 repeat 4 %a, %b, %c_f32 : vector<4xi32>, vector<8xi32>, vector<4xf32>
  simt.block_write %bf16_bf16, %f32[%at] : vector<4xf32>, memref<?xf32, strided<[1]>>
  %s8_s8 = xe.dpas s8 x s8 repeat 4 %a, %b, %c_i32 : vector<4xi32>, vector<8xi32>, vector<4xi32>
  simt.block_write %s8_s8, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  %s8_u8 = xe.dpas s8 x u8 repeat 4 %a, %b, %c_i32 : vector<4xi32>, vector<8xi32>, vector<4xi32>
  simt.block_write %s8_u8, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  %u8_s8 = xe.dpas u8 x s8 repeat 4 %a, %b, %c_i32 : vector<4xi32>, vector<8xi32>, vector<4xi32>
  simt.block_write %u8_s8, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  %u8_u8 = xe.dpas u8 x u8 repeat 4 %a, %b, %c_i32 : vector<4xi32>, vector<8xi32>, vector<4xi32>
  simt.block_write %u8_u8, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  %s4_s4 = xe.dpas s4 x s4 repeat 4 %a, %b, %c_i32 : vector<4xi32>, vector<8xi32>, vector<4xi32>
  simt.block_write %s4_s4, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  %s4_u4 = xe.dpas s4 x u4 repeat 4 %a, %b, %c_i32 : vector<4xi32>, vector<8xi32>, vector<4xi32>
  simt.block_write %s4_u4, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  %u4_s4 = xe.dpas u4 x s4 repeat 4 %a, %b, %c_i32 : vector<4xi32>, vector<8xi32>, vector<4xi32>
  simt.block_write %u4_s4, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  %u4_u4 = xe.dpas u4 x u4 repeat 4 %a, %b, %c_i32 : vector<4xi32>, vector<8xi32>, vector<4xi32>
  simt.block_write %u4_u4, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  func.return
}

func.func @m2(%f32: memref<?xf32, strided<[1]>>, %f16: memref<?xf16, strided<[1]>>,
               %i32: memref<?xi32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %a = arith.constant dense<1> : vector<2xi32>
  %b = arith.constant dense<2> : vector<8xi32>
  %c_f32 = arith.constant dense<0.0> : vector<2xf32>
  %c_i32 = arith.constant dense<0> : vector<2xi32>
  %f16_f16 = xe.dpas f16 x f16 repeat 2 %a, %b, %c_f32 : vector<2xi32>, vector<8xi32>, vector<2xf32>
  simt.block_write %f16_f16, %f32[%at] : vector<2xf32>, memref<?xf32, strided<[1]>>
  %bf16_bf16 = xe.dpas bf16 x bf16 repeat 2 %a, %b, %c_f32 : vector<2xi32>, vector<8xi32>, vector<2xf32>
  simt.block_write %bf16_bf16, %f32[%at] : vector<2xf32>, memref<?xf32, strided<[1]>>
  %s8_s8 = xe.dpas s8 x s8 repeat 2 %a, %b, %c_i32 : vector<2xi32>, vector<8xi32>, vector<2xi32>
  simt.block_write %s8_s8, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  %s8_u8 = xe.dpas s8 x u8 repeat 2 %a, %b, %c_i32 : vector<2xi32>, vector<8xi32>, vector<2xi32>
  simt.block_write %s8_u8, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  %u8_s8 = xe.dpas u8 x s8 repeat 2 %a, %b, %c_i32 : vector<2xi32>, vector<8xi32>, vector<2xi32>
  simt.block_write %u8_s8, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  %u8_u8 = xe.dpas u8 x u8 repeat 2 %a, %b, %c_i32 : vector<2xi32>, vector<8xi32>, vector<2xi32>
  simt.block_write %u8_u8, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  %s4_s4 = xe.dpas s4 x s4 repeat 2 %a, %b, %c_i32 : vector<2xi32>, vector<8xi32>, vector<2xi32>
  simt.block_write %s4_s4, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  %s4_u4 = xe.dpas s4 x u4 repeat 2 %a, %b, %c_i32 : vector<2xi32>, vector<8xi32>, vector<2xi32>
  simt.block_write %s4_u4, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  %u4_s4 = xe.dpas u4 x s4 repeat 2 %a, %b, %c_i32 : vector<2xi32>, vector<8xi32>, vector<2xi32>
  simt.block_write %u4_s4, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  %u4_u4 = xe.dpas u4 x u4 repeat 2 %a, %b, %c_i32 : vector<2xi32>, vector<8xi32>, vector<2xi32>
  simt.block_write %u4_u4, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  func.return
}

func.func @m1(%f32: memref<?xf32, strided<[1]>>, %f16: memref<?xf16, strided<[1]>>,
               %i32: memref<?xi32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %a = arith.constant dense<1> : vector<1xi32>
  %b = arith.constant dense<2> : vector<8xi32>
  %c_f32 = arith.constant dense<0.0> : vector<1xf32>
  %c_i32 = arith.constant dense<0> : vector<1xi32>
  %f16_f16 = xe.dpas f16 x f16 repeat 1 %a, %b, %c_f32 : vector<1xi32>, vector<8xi32>, vector<1xf32>
  %f16_f16_one = vector.extract %f16_f16[0] : f32 from vector<1xf32>
  simt.block_write %f16_f16_one, %f32[%at] : f32, memref<?xf32, strided<[1]>>
  %bf16_bf16 = xe.dpas bf16 x bf16 repeat 1 %a, %b, %c_f32 : vector<1xi32>, vector<8xi32>, vector<1xf32>
  %bf16_bf16_one = vector.extract %bf16_bf16[0] : f32 from vector<1xf32>
  simt.block_write %bf16_bf16_one, %f32[%at] : f32, memref<?xf32, strided<[1]>>
  %s8_s8 = xe.dpas s8 x s8 repeat 1 %a, %b, %c_i32 : vector<1xi32>, vector<8xi32>, vector<1xi32>
  %s8_s8_one = vector.extract %s8_s8[0] : i32 from vector<1xi32>
  simt.block_write %s8_s8_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  %s8_u8 = xe.dpas s8 x u8 repeat 1 %a, %b, %c_i32 : vector<1xi32>, vector<8xi32>, vector<1xi32>
  %s8_u8_one = vector.extract %s8_u8[0] : i32 from vector<1xi32>
  simt.block_write %s8_u8_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  %u8_s8 = xe.dpas u8 x s8 repeat 1 %a, %b, %c_i32 : vector<1xi32>, vector<8xi32>, vector<1xi32>
  %u8_s8_one = vector.extract %u8_s8[0] : i32 from vector<1xi32>
  simt.block_write %u8_s8_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  %u8_u8 = xe.dpas u8 x u8 repeat 1 %a, %b, %c_i32 : vector<1xi32>, vector<8xi32>, vector<1xi32>
  %u8_u8_one = vector.extract %u8_u8[0] : i32 from vector<1xi32>
  simt.block_write %u8_u8_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  %s4_s4 = xe.dpas s4 x s4 repeat 1 %a, %b, %c_i32 : vector<1xi32>, vector<8xi32>, vector<1xi32>
  %s4_s4_one = vector.extract %s4_s4[0] : i32 from vector<1xi32>
  simt.block_write %s4_s4_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  %s4_u4 = xe.dpas s4 x u4 repeat 1 %a, %b, %c_i32 : vector<1xi32>, vector<8xi32>, vector<1xi32>
  %s4_u4_one = vector.extract %s4_u4[0] : i32 from vector<1xi32>
  simt.block_write %s4_u4_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  %u4_s4 = xe.dpas u4 x s4 repeat 1 %a, %b, %c_i32 : vector<1xi32>, vector<8xi32>, vector<1xi32>
  %u4_s4_one = vector.extract %u4_s4[0] : i32 from vector<1xi32>
  simt.block_write %u4_s4_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  %u4_u4 = xe.dpas u4 x u4 repeat 1 %a, %b, %c_i32 : vector<1xi32>, vector<8xi32>, vector<1xi32>
  %u4_u4_one = vector.extract %u4_u4[0] : i32 from vector<1xi32>
  simt.block_write %u4_u4_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  func.return
}
