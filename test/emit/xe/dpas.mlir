// REQUIRES: ocloc, spirv-val
// RUN: coopc-opt %s -t 'spirv{device=bmg}' | filecheck %s
// RUN: coopc-isa %s --device pvc,bmg --clean \
// RUN:   --expect simd=16 dpas=13 'm8:dpas.8x8(16)=13' 'm4:dpas.8x4(16)=13' 'm2:dpas.8x2(16)=13' \
// RUN:   'm1:dpas.8x1(16)=13' dpas.hf.hf.f=1 dpas.bf.bf.f=1 dpas.hf.hf.hf=1 dpas.bf.bf.bf=1 \
// RUN:   dpas.tf32.tf32.f=1 dpas.b.b.d=1 dpas.b.ub.d=1 dpas.ub.b.d=1 dpas.ub.ub.d=1 \
// RUN:   dpas.s4.s4.d=1 dpas.s4.u4.d=1 dpas.u4.s4.d=1 dpas.u4.u4.d=1

// Every multiplication of 16 lanes: one instruction each for the precisions of a and b, the
// element types of c, and the repeat counts.

func.func @m8(%f32: memref<?xf32, strided<[1]>>, %f16: memref<?xf16, strided<[1]>>,
               %i32: memref<?xi32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %a = arith.constant dense<1> : vector<8xi16>
  %tf32_a = arith.constant dense<1> : vector<4xi32>
  %b = arith.constant dense<2> : vector<8xi32>
  %c_f32 = arith.constant dense<0.0> : vector<8xf32>
  %c_f16 = arith.constant dense<0.0> : vector<8xf16>
  %c_bf16 = arith.constant dense<0.0> : vector<8xbf16>
  %c_i32 = arith.constant dense<0> : vector<8xi32>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8float %uint_16
  // CHECK-SAME: MatrixAPackedFloat16INTEL|MatrixBPackedFloat16INTEL{{$}}
  %f16_f16 = xe.dpas f16 x f16 repeat 8 %a, %b, %c_f32 : vector<8xi16>, vector<8xi32>, vector<8xf32>
  simt.block_write %f16_f16, %f32[%at] : vector<8xf32>, memref<?xf32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8float %uint_16
  // CHECK-SAME: MatrixAPackedBFloat16INTEL|MatrixBPackedBFloat16INTEL{{$}}
  %bf16_bf16 = xe.dpas bf16 x bf16 repeat 8 %a, %b, %c_f32 : vector<8xi16>, vector<8xi32>, vector<8xf32>
  simt.block_write %bf16_bf16, %f32[%at] : vector<8xf32>, memref<?xf32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8half %uint_16
  // CHECK-SAME: MatrixAPackedFloat16INTEL|MatrixBPackedFloat16INTEL{{$}}
  %f16_f16_f16 = xe.dpas f16 x f16 repeat 8 %a, %b, %c_f16 : vector<8xi16>, vector<8xi32>, vector<8xf16>
  simt.block_write %f16_f16_f16, %f16[%at] : vector<8xf16>, memref<?xf16, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8ushort %uint_16
  // CHECK-SAME: MatrixCBFloat16INTEL|MatrixResultBFloat16INTEL|MatrixAPackedBFloat16INTEL|MatrixBPackedBFloat16INTEL{{$}}
  %bf16_bf16_bf16 = xe.dpas bf16 x bf16 repeat 8 %a, %b, %c_bf16 : vector<8xi16>, vector<8xi32>, vector<8xbf16>
  %bf16_bf16_bf16_bits = vector.bitcast %bf16_bf16_bf16 : vector<8xbf16> to vector<8xf16>
  simt.block_write %bf16_bf16_bf16_bits, %f16[%at] : vector<8xf16>, memref<?xf16, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8float %uint_8
  // CHECK-SAME: MatrixATF32INTEL|MatrixBTF32INTEL{{$}}
  %tf32_tf32 = xe.dpas tf32 x tf32 repeat 8 %tf32_a, %b, %c_f32 : vector<4xi32>, vector<8xi32>, vector<8xf32>
  simt.block_write %tf32_tf32, %f32[%at] : vector<8xf32>, memref<?xf32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_32
  // CHECK-SAME: MatrixASignedComponentsINTEL|MatrixBSignedComponentsINTEL|MatrixAPackedInt8INTEL|MatrixBPackedInt8INTEL{{$}}
  %s8_s8 = xe.dpas s8 x s8 repeat 8 %a, %b, %c_i32 : vector<8xi16>, vector<8xi32>, vector<8xi32>
  simt.block_write %s8_s8, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_32
  // CHECK-SAME: MatrixASignedComponentsINTEL|MatrixAPackedInt8INTEL|MatrixBPackedInt8INTEL{{$}}
  %s8_u8 = xe.dpas s8 x u8 repeat 8 %a, %b, %c_i32 : vector<8xi16>, vector<8xi32>, vector<8xi32>
  simt.block_write %s8_u8, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_32
  // CHECK-SAME: MatrixBSignedComponentsINTEL|MatrixAPackedInt8INTEL|MatrixBPackedInt8INTEL{{$}}
  %u8_s8 = xe.dpas u8 x s8 repeat 8 %a, %b, %c_i32 : vector<8xi16>, vector<8xi32>, vector<8xi32>
  simt.block_write %u8_s8, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_32
  // CHECK-SAME: MatrixAPackedInt8INTEL|MatrixBPackedInt8INTEL{{$}}
  %u8_u8 = xe.dpas u8 x u8 repeat 8 %a, %b, %c_i32 : vector<8xi16>, vector<8xi32>, vector<8xi32>
  simt.block_write %u8_u8, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_64
  // CHECK-SAME: MatrixASignedComponentsINTEL|MatrixBSignedComponentsINTEL|MatrixAPackedInt4INTEL|MatrixBPackedInt4INTEL{{$}}
  %s4_s4 = xe.dpas s4 x s4 repeat 8 %a, %b, %c_i32 : vector<8xi16>, vector<8xi32>, vector<8xi32>
  simt.block_write %s4_s4, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_64
  // CHECK-SAME: MatrixASignedComponentsINTEL|MatrixAPackedInt4INTEL|MatrixBPackedInt4INTEL{{$}}
  %s4_u4 = xe.dpas s4 x u4 repeat 8 %a, %b, %c_i32 : vector<8xi16>, vector<8xi32>, vector<8xi32>
  simt.block_write %s4_u4, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_64
  // CHECK-SAME: MatrixBSignedComponentsINTEL|MatrixAPackedInt4INTEL|MatrixBPackedInt4INTEL{{$}}
  %u4_s4 = xe.dpas u4 x s4 repeat 8 %a, %b, %c_i32 : vector<8xi16>, vector<8xi32>, vector<8xi32>
  simt.block_write %u4_s4, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  // CHECK: = OpSubgroupMatrixMultiplyAccumulateINTEL %v8uint %uint_64
  // CHECK-SAME: MatrixAPackedInt4INTEL|MatrixBPackedInt4INTEL{{$}}
  %u4_u4 = xe.dpas u4 x u4 repeat 8 %a, %b, %c_i32 : vector<8xi16>, vector<8xi32>, vector<8xi32>
  simt.block_write %u4_u4, %i32[%at] : vector<8xi32>, memref<?xi32, strided<[1]>>
  func.return
}

func.func @m4(%f32: memref<?xf32, strided<[1]>>, %f16: memref<?xf16, strided<[1]>>,
               %i32: memref<?xi32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %a = arith.constant dense<1> : vector<4xi16>
  %tf32_a = arith.constant dense<1> : vector<2xi32>
  %b = arith.constant dense<2> : vector<8xi32>
  %c_f32 = arith.constant dense<0.0> : vector<4xf32>
  %c_f16 = arith.constant dense<0.0> : vector<4xf16>
  %c_bf16 = arith.constant dense<0.0> : vector<4xbf16>
  %c_i32 = arith.constant dense<0> : vector<4xi32>
  %f16_f16 = xe.dpas f16 x f16 repeat 4 %a, %b, %c_f32 : vector<4xi16>, vector<8xi32>, vector<4xf32>
  simt.block_write %f16_f16, %f32[%at] : vector<4xf32>, memref<?xf32, strided<[1]>>
  %bf16_bf16 = xe.dpas bf16 x bf16 repeat 4 %a, %b, %c_f32 : vector<4xi16>, vector<8xi32>, vector<4xf32>
  simt.block_write %bf16_bf16, %f32[%at] : vector<4xf32>, memref<?xf32, strided<[1]>>
  %f16_f16_f16 = xe.dpas f16 x f16 repeat 4 %a, %b, %c_f16 : vector<4xi16>, vector<8xi32>, vector<4xf16>
  simt.block_write %f16_f16_f16, %f16[%at] : vector<4xf16>, memref<?xf16, strided<[1]>>
  %bf16_bf16_bf16 = xe.dpas bf16 x bf16 repeat 4 %a, %b, %c_bf16 : vector<4xi16>, vector<8xi32>, vector<4xbf16>
  %bf16_bf16_bf16_bits = vector.bitcast %bf16_bf16_bf16 : vector<4xbf16> to vector<4xf16>
  simt.block_write %bf16_bf16_bf16_bits, %f16[%at] : vector<4xf16>, memref<?xf16, strided<[1]>>
  %tf32_tf32 = xe.dpas tf32 x tf32 repeat 4 %tf32_a, %b, %c_f32 : vector<2xi32>, vector<8xi32>, vector<4xf32>
  simt.block_write %tf32_tf32, %f32[%at] : vector<4xf32>, memref<?xf32, strided<[1]>>
  %s8_s8 = xe.dpas s8 x s8 repeat 4 %a, %b, %c_i32 : vector<4xi16>, vector<8xi32>, vector<4xi32>
  simt.block_write %s8_s8, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  %s8_u8 = xe.dpas s8 x u8 repeat 4 %a, %b, %c_i32 : vector<4xi16>, vector<8xi32>, vector<4xi32>
  simt.block_write %s8_u8, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  %u8_s8 = xe.dpas u8 x s8 repeat 4 %a, %b, %c_i32 : vector<4xi16>, vector<8xi32>, vector<4xi32>
  simt.block_write %u8_s8, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  %u8_u8 = xe.dpas u8 x u8 repeat 4 %a, %b, %c_i32 : vector<4xi16>, vector<8xi32>, vector<4xi32>
  simt.block_write %u8_u8, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  %s4_s4 = xe.dpas s4 x s4 repeat 4 %a, %b, %c_i32 : vector<4xi16>, vector<8xi32>, vector<4xi32>
  simt.block_write %s4_s4, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  %s4_u4 = xe.dpas s4 x u4 repeat 4 %a, %b, %c_i32 : vector<4xi16>, vector<8xi32>, vector<4xi32>
  simt.block_write %s4_u4, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  %u4_s4 = xe.dpas u4 x s4 repeat 4 %a, %b, %c_i32 : vector<4xi16>, vector<8xi32>, vector<4xi32>
  simt.block_write %u4_s4, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  %u4_u4 = xe.dpas u4 x u4 repeat 4 %a, %b, %c_i32 : vector<4xi16>, vector<8xi32>, vector<4xi32>
  simt.block_write %u4_u4, %i32[%at] : vector<4xi32>, memref<?xi32, strided<[1]>>
  func.return
}

func.func @m2(%f32: memref<?xf32, strided<[1]>>, %f16: memref<?xf16, strided<[1]>>,
               %i32: memref<?xi32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %a = arith.constant dense<1> : vector<2xi16>
  %tf32_a = arith.constant dense<1> : vector<1xi32>
  %b = arith.constant dense<2> : vector<8xi32>
  %c_f32 = arith.constant dense<0.0> : vector<2xf32>
  %c_f16 = arith.constant dense<0.0> : vector<2xf16>
  %c_bf16 = arith.constant dense<0.0> : vector<2xbf16>
  %c_i32 = arith.constant dense<0> : vector<2xi32>
  %f16_f16 = xe.dpas f16 x f16 repeat 2 %a, %b, %c_f32 : vector<2xi16>, vector<8xi32>, vector<2xf32>
  simt.block_write %f16_f16, %f32[%at] : vector<2xf32>, memref<?xf32, strided<[1]>>
  %bf16_bf16 = xe.dpas bf16 x bf16 repeat 2 %a, %b, %c_f32 : vector<2xi16>, vector<8xi32>, vector<2xf32>
  simt.block_write %bf16_bf16, %f32[%at] : vector<2xf32>, memref<?xf32, strided<[1]>>
  %f16_f16_f16 = xe.dpas f16 x f16 repeat 2 %a, %b, %c_f16 : vector<2xi16>, vector<8xi32>, vector<2xf16>
  simt.block_write %f16_f16_f16, %f16[%at] : vector<2xf16>, memref<?xf16, strided<[1]>>
  %bf16_bf16_bf16 = xe.dpas bf16 x bf16 repeat 2 %a, %b, %c_bf16 : vector<2xi16>, vector<8xi32>, vector<2xbf16>
  %bf16_bf16_bf16_bits = vector.bitcast %bf16_bf16_bf16 : vector<2xbf16> to vector<2xf16>
  simt.block_write %bf16_bf16_bf16_bits, %f16[%at] : vector<2xf16>, memref<?xf16, strided<[1]>>
  %tf32_tf32 = xe.dpas tf32 x tf32 repeat 2 %tf32_a, %b, %c_f32 : vector<1xi32>, vector<8xi32>, vector<2xf32>
  simt.block_write %tf32_tf32, %f32[%at] : vector<2xf32>, memref<?xf32, strided<[1]>>
  %s8_s8 = xe.dpas s8 x s8 repeat 2 %a, %b, %c_i32 : vector<2xi16>, vector<8xi32>, vector<2xi32>
  simt.block_write %s8_s8, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  %s8_u8 = xe.dpas s8 x u8 repeat 2 %a, %b, %c_i32 : vector<2xi16>, vector<8xi32>, vector<2xi32>
  simt.block_write %s8_u8, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  %u8_s8 = xe.dpas u8 x s8 repeat 2 %a, %b, %c_i32 : vector<2xi16>, vector<8xi32>, vector<2xi32>
  simt.block_write %u8_s8, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  %u8_u8 = xe.dpas u8 x u8 repeat 2 %a, %b, %c_i32 : vector<2xi16>, vector<8xi32>, vector<2xi32>
  simt.block_write %u8_u8, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  %s4_s4 = xe.dpas s4 x s4 repeat 2 %a, %b, %c_i32 : vector<2xi16>, vector<8xi32>, vector<2xi32>
  simt.block_write %s4_s4, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  %s4_u4 = xe.dpas s4 x u4 repeat 2 %a, %b, %c_i32 : vector<2xi16>, vector<8xi32>, vector<2xi32>
  simt.block_write %s4_u4, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  %u4_s4 = xe.dpas u4 x s4 repeat 2 %a, %b, %c_i32 : vector<2xi16>, vector<8xi32>, vector<2xi32>
  simt.block_write %u4_s4, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  %u4_u4 = xe.dpas u4 x u4 repeat 2 %a, %b, %c_i32 : vector<2xi16>, vector<8xi32>, vector<2xi32>
  simt.block_write %u4_u4, %i32[%at] : vector<2xi32>, memref<?xi32, strided<[1]>>
  func.return
}

func.func @m1(%f32: memref<?xf32, strided<[1]>>, %f16: memref<?xf16, strided<[1]>>,
               %i32: memref<?xi32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %a = arith.constant dense<1> : vector<1xi16>
  %tf32_a = arith.constant dense<1> : vector<1xi32>
  %b = arith.constant dense<2> : vector<8xi32>
  %c_f32 = arith.constant dense<0.0> : vector<1xf32>
  %c_f16 = arith.constant dense<0.0> : vector<1xf16>
  %c_bf16 = arith.constant dense<0.0> : vector<1xbf16>
  %c_i32 = arith.constant dense<0> : vector<1xi32>
  %f16_f16 = xe.dpas f16 x f16 repeat 1 %a, %b, %c_f32 : vector<1xi16>, vector<8xi32>, vector<1xf32>
  %f16_f16_one = vector.extract %f16_f16[0] : f32 from vector<1xf32>
  simt.block_write %f16_f16_one, %f32[%at] : f32, memref<?xf32, strided<[1]>>
  %bf16_bf16 = xe.dpas bf16 x bf16 repeat 1 %a, %b, %c_f32 : vector<1xi16>, vector<8xi32>, vector<1xf32>
  %bf16_bf16_one = vector.extract %bf16_bf16[0] : f32 from vector<1xf32>
  simt.block_write %bf16_bf16_one, %f32[%at] : f32, memref<?xf32, strided<[1]>>
  %f16_f16_f16 = xe.dpas f16 x f16 repeat 1 %a, %b, %c_f16 : vector<1xi16>, vector<8xi32>, vector<1xf16>
  %f16_f16_f16_one = vector.extract %f16_f16_f16[0] : f16 from vector<1xf16>
  simt.block_write %f16_f16_f16_one, %f16[%at] : f16, memref<?xf16, strided<[1]>>
  %bf16_bf16_bf16 = xe.dpas bf16 x bf16 repeat 1 %a, %b, %c_bf16 : vector<1xi16>, vector<8xi32>, vector<1xbf16>
  %bf16_bf16_bf16_bits = vector.bitcast %bf16_bf16_bf16 : vector<1xbf16> to vector<1xf16>
  %bf16_bf16_bf16_bits_one = vector.extract %bf16_bf16_bf16_bits[0] : f16 from vector<1xf16>
  simt.block_write %bf16_bf16_bf16_bits_one, %f16[%at] : f16, memref<?xf16, strided<[1]>>
  %tf32_tf32 = xe.dpas tf32 x tf32 repeat 1 %tf32_a, %b, %c_f32 : vector<1xi32>, vector<8xi32>, vector<1xf32>
  %tf32_tf32_one = vector.extract %tf32_tf32[0] : f32 from vector<1xf32>
  simt.block_write %tf32_tf32_one, %f32[%at] : f32, memref<?xf32, strided<[1]>>
  %s8_s8 = xe.dpas s8 x s8 repeat 1 %a, %b, %c_i32 : vector<1xi16>, vector<8xi32>, vector<1xi32>
  %s8_s8_one = vector.extract %s8_s8[0] : i32 from vector<1xi32>
  simt.block_write %s8_s8_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  %s8_u8 = xe.dpas s8 x u8 repeat 1 %a, %b, %c_i32 : vector<1xi16>, vector<8xi32>, vector<1xi32>
  %s8_u8_one = vector.extract %s8_u8[0] : i32 from vector<1xi32>
  simt.block_write %s8_u8_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  %u8_s8 = xe.dpas u8 x s8 repeat 1 %a, %b, %c_i32 : vector<1xi16>, vector<8xi32>, vector<1xi32>
  %u8_s8_one = vector.extract %u8_s8[0] : i32 from vector<1xi32>
  simt.block_write %u8_s8_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  %u8_u8 = xe.dpas u8 x u8 repeat 1 %a, %b, %c_i32 : vector<1xi16>, vector<8xi32>, vector<1xi32>
  %u8_u8_one = vector.extract %u8_u8[0] : i32 from vector<1xi32>
  simt.block_write %u8_u8_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  %s4_s4 = xe.dpas s4 x s4 repeat 1 %a, %b, %c_i32 : vector<1xi16>, vector<8xi32>, vector<1xi32>
  %s4_s4_one = vector.extract %s4_s4[0] : i32 from vector<1xi32>
  simt.block_write %s4_s4_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  %s4_u4 = xe.dpas s4 x u4 repeat 1 %a, %b, %c_i32 : vector<1xi16>, vector<8xi32>, vector<1xi32>
  %s4_u4_one = vector.extract %s4_u4[0] : i32 from vector<1xi32>
  simt.block_write %s4_u4_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  %u4_s4 = xe.dpas u4 x s4 repeat 1 %a, %b, %c_i32 : vector<1xi16>, vector<8xi32>, vector<1xi32>
  %u4_s4_one = vector.extract %u4_s4[0] : i32 from vector<1xi32>
  simt.block_write %u4_s4_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  %u4_u4 = xe.dpas u4 x u4 repeat 1 %a, %b, %c_i32 : vector<1xi16>, vector<8xi32>, vector<1xi32>
  %u4_u4_one = vector.extract %u4_u4[0] : i32 from vector<1xi32>
  simt.block_write %u4_u4_one, %i32[%at] : i32, memref<?xi32, strided<[1]>>
  func.return
}
