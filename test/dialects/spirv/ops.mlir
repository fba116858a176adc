// REQUIRES: mlir-opt
// RUN: mlir-opt %s -o %t.upstream.mlir
// RUN: coopc-opt %t.upstream.mlir -o %t.mlir
// RUN: mlir-opt %t.mlir -o %t.again.mlir
// RUN: diff %t.upstream.mlir %t.again.mlir
// RUN: mlir-opt --mlir-print-op-generic %s -o %t.generic.mlir
// RUN: coopc-opt %t.generic.mlir -o %t.mlir
// RUN: mlir-opt %t.mlir -o %t.again.mlir
// RUN: diff %t.upstream.mlir %t.again.mlir

// What upstream prints is read and printed alike, from its own form and the generic one.

spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader, Kernel, Addresses, Int64, Float64, Int8, Int16, GroupNonUniform, GroupNonUniformArithmetic, GroupNonUniformClustered, GroupNonUniformBallot, GroupNonUniformShuffle, CooperativeMatrixKHR, AtomicFloat32AddEXT, Groups, Matrix, SubgroupBufferBlockIOINTEL, Bfloat16ConversionINTEL, SplitBarrierINTEL], [SPV_KHR_cooperative_matrix, SPV_EXT_shader_atomic_float_add, SPV_INTEL_subgroups, SPV_INTEL_bfloat16_conversion, SPV_INTEL_split_barrier]> {
  spirv.SpecConstant @n spec_id(0) = 4 : i32
  spirv.SpecConstant @n2 = 4 : i32
  spirv.SpecConstantComposite @sc (@n, @n2) : vector<2xi32>
  spirv.GlobalVariable @g : !spirv.ptr<i32, Private>
  spirv.GlobalVariable @gi initializer(@n) : !spirv.ptr<i32, Private>
  spirv.GlobalVariable @v built_in("SubgroupId") : !spirv.ptr<i32, Input>
  spirv.func @callee(%arg0: f32, %arg1: f32) -> f32 "Inline" {
    spirv.ReturnValue %arg0 : f32
  }
  spirv.func @k(%arg0: !spirv.ptr<i32, StorageBuffer>, %arg1: i32, %arg2: f32, %arg3: vector<4xf32>, %arg4: i1, %arg5: !spirv.ptr<f32, StorageBuffer>, %arg6: vector<4xi32>, %arg7: !spirv.ptr<i32, Workgroup>, %arg8: !spirv.ptr<f32, CrossWorkgroup>, %arg9: bf16, %arg10: i64, %arg11: !spirv.ptr<!spirv.array<4 x f32>, StorageBuffer>) "None" {
    %0 = spirv.AtomicIAdd <Device> <AcquireRelease> %arg0, %arg1 : !spirv.ptr<i32, StorageBuffer>
    %1 = spirv.AtomicIIncrement <Device> <AcquireRelease> %arg0 : !spirv.ptr<i32, StorageBuffer>
    %2 = spirv.AtomicCompareExchange <Device> <AcquireRelease> <Acquire> %arg0, %arg1, %arg1 : !spirv.ptr<i32, StorageBuffer>
    %3 = spirv.AtomicExchange <Device> <AcquireRelease> %arg0, %arg1 : !spirv.ptr<i32, StorageBuffer>
    %4 = spirv.EXT.AtomicFAdd <Device> <None> %arg5, %arg2 : !spirv.ptr<f32, StorageBuffer>
    %5 = spirv.GroupNonUniformFAdd <Subgroup> <Reduce> %arg2 : f32 -> f32
    %cst4_i32 = spirv.Constant 4 : i32
    %6 = spirv.GroupNonUniformIAdd <Subgroup> <ClusteredReduce> %arg1 cluster_size(%cst4_i32) : i32, i32 -> i32
    %7 = spirv.GroupNonUniformBroadcast <Subgroup> %arg2, %cst4_i32 : f32, i32
    %8 = spirv.GroupNonUniformShuffle <Subgroup> %arg2, %arg1 : f32, i32
    %9 = spirv.GroupNonUniformBallot <Subgroup> %arg4 : vector<4xi32>
    %10 = spirv.GroupNonUniformElect <Subgroup> : i1
    %11 = spirv.GroupNonUniformBallotBitCount <Subgroup> <Reduce> %arg6 : vector<4xi32> -> i32
    %12 = spirv.GroupNonUniformBallotFindLSB <Subgroup> %arg6 : vector<4xi32>, i32
    %13 = spirv.GroupBroadcast <Subgroup> %arg2, %arg1 : f32, i32
    %14 = spirv.GroupFAdd <Subgroup> <Reduce> %arg2 : f32
    %15 = spirv.GroupNonUniformLogicalAnd <Subgroup> <Reduce> %arg4 : i1 -> i1
    %cst_vec_4xf32 = spirv.Constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : vector<4xf32>
    %cst = spirv.Constant [1.000000e+00 : f32, 2.000000e+00 : f32] : !spirv.array<2 x f32>
    %true = spirv.Constant true
    %cst_f32 = spirv.Constant 1.500000e+00 : f32
    %cst_vec_2xi8 = spirv.Constant dense<[1, 2]> : vector<2xi8>
    %cst3_si32 = spirv.Constant 3 : si32
    %cst_0 = spirv.Constant [dense<2.000000e+00> : vector<2xf32>, dense<[1.000000e+00, 2.000000e+00]> : vector<2xf32>] : !spirv.array<2 x vector<2xf32>>
    %16 = spirv.VectorShuffle [1 : i32, 3 : i32] %arg3, %arg3 : vector<4xf32>, vector<4xf32> -> vector<2xf32>
    %17 = spirv.VectorExtractDynamic %arg3[%arg1] : vector<4xf32>, i32
    %18 = spirv.VectorInsertDynamic %arg2, %arg3[%arg1] : vector<4xf32>, i32
    %19 = spirv.CompositeExtract %arg3[1 : i32] : vector<4xf32>
    %20 = spirv.CompositeInsert %arg2, %arg3[1 : i32] : f32 into vector<4xf32>
    %21 = spirv.CompositeConstruct %arg2, %arg2 : (f32, f32) -> vector<2xf32>
    %22 = spirv.VectorTimesScalar %arg3, %arg2 : (vector<4xf32>, f32) -> vector<4xf32>
    %23 = spirv.Dot %arg3, %arg3 : vector<4xf32> -> f32
    %24 = spirv.Undef : f32
    %25 = spirv.Undef : vector<4xf32>
    %26 = spirv.FunctionCall @callee(%arg2, %arg2) : (f32, f32) -> f32
    %27 = spirv.IAddCarry %arg1, %arg1 : !spirv.struct<(i32, i32)>
    %28 = spirv.UMulExtended %arg1, %arg1 : !spirv.struct<(i32, i32)>
    %29 = spirv.BitFieldInsert %arg1, %arg1, %arg1, %arg1 : i32, i32, i32
    %30 = spirv.BitFieldSExtract %arg1, %arg1, %arg1 : i32, i32, i32
    %31 = spirv.BitCount %arg1 : i32
    %32 = spirv.BitReverse %arg1 : i32
    %33 = spirv.Not %arg1 : i32
    %34 = spirv.LogicalNot %arg4 : i1
    %35 = spirv.LogicalEqual %arg4, %arg4 : i1
    %36 = spirv.Ordered %arg2, %arg2 : f32
    %37 = spirv.Unordered %arg3, %arg3 : vector<4xf32>
    %38 = spirv.IsInf %arg3 : vector<4xf32>
    %39 = spirv.ShiftRightArithmetic %arg10, %arg1 : i64, i32
    %40 = spirv.ConvertFToS %arg2 : f32 to i32
    %41 = spirv.INTEL.ConvertFToBF16 %arg2 : f32 to i16
    %42 = spirv.INTEL.ConvertBF16ToF %41 : i16 to f32
    spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory>
    spirv.INTEL.ControlBarrierArrive <Workgroup> <Workgroup> <AcquireRelease|WorkgroupMemory>
    spirv.MemoryBarrier <Workgroup>, <AcquireRelease|WorkgroupMemory>
    %43 = spirv.Load "StorageBuffer" %arg0 ["Volatile"] : i32
    %44 = spirv.Load "StorageBuffer" %arg0 ["Aligned", 4] : i32
    %45 = spirv.Load "StorageBuffer" %arg0 ["Volatile|Aligned|Nontemporal", 4] : i32
    spirv.Store "StorageBuffer" %arg0, %arg1 ["Aligned", 4] : i32
    %46 = spirv.AccessChain %arg11[%arg1] : !spirv.ptr<!spirv.array<4 x f32>, StorageBuffer>, i32 -> !spirv.ptr<f32, StorageBuffer>
    %47 = spirv.PtrAccessChain %arg8[%arg1] : !spirv.ptr<f32, CrossWorkgroup>, i32 -> !spirv.ptr<f32, CrossWorkgroup>
    %48 = spirv.InBoundsPtrAccessChain %arg8[%arg1] : !spirv.ptr<f32, CrossWorkgroup>, i32 -> !spirv.ptr<f32, CrossWorkgroup>
    %49 = spirv.Bitcast %arg8 : !spirv.ptr<f32, CrossWorkgroup> to !spirv.ptr<i32, CrossWorkgroup>
    %50 = spirv.PtrCastToGeneric %arg8 : !spirv.ptr<f32, CrossWorkgroup> to !spirv.ptr<f32, Generic>
    %51 = spirv.GenericCastToPtr %50 : !spirv.ptr<f32, Generic> to !spirv.ptr<f32, CrossWorkgroup>
    %52 = spirv.GenericCastToPtrExplicit %50 : !spirv.ptr<f32, Generic> to !spirv.ptr<f32, CrossWorkgroup>
    %53 = spirv.INTEL.SubgroupBlockRead %arg0 : !spirv.ptr<i32, StorageBuffer> -> i32
    %54 = spirv.mlir.referenceof @n : i32
    %55 = spirv.SpecConstantOperation wraps "spirv.IMul"(%54, %54) : (i32, i32) -> i32
    %56 = spirv.GL.Ldexp %arg2 : f32, %arg1 : i32 -> f32
    %57 = spirv.GL.FMix %arg2 : f32, %arg2 : f32, %arg2 : f32 -> f32
    %58 = spirv.GL.FrexpStruct %arg2 : f32 -> !spirv.struct<(f32, i32)>
    %59 = spirv.GL.Distance %arg3, %arg3 : vector<4xf32>, vector<4xf32> -> f32
    %60 = spirv.GL.Length %arg3 : vector<4xf32> -> f32
    %61 = spirv.GL.UnpackHalf2x16 %arg1 : i32 -> vector<2xf32>
    %62 = spirv.GL.Fma %arg2, %arg2, %arg2 : f32
    %63 = spirv.CL.fma %arg2, %arg2, %arg2 : f32
    %64 = spirv.Select %arg4, %arg3, %arg3 : i1, vector<4xf32>
    %65 = spirv.KHR.CooperativeMatrixLoad %arg5, %arg1, <RowMajor>, <Aligned|NonPrivatePointer>, 4 : !spirv.ptr<f32, StorageBuffer>, i32 -> !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>
    %66 = spirv.KHR.CooperativeMatrixLoad %arg5, %arg1, <RowMajor>, <Volatile> : !spirv.ptr<f32, StorageBuffer>, i32 -> !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>
    spirv.KHR.CooperativeMatrixStore %arg5, %65, %arg1, <RowMajor>, <Volatile> : !spirv.ptr<f32, StorageBuffer>, !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>, i32
    %67 = spirv.MatrixTimesScalar %65, %arg2 : !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>, f32
    %68 = spirv.mlir.selection control(Flatten) -> f32 {
      spirv.Switch %arg1 : i32, [
        default: ^bb2(%arg2 : f32),
        1: ^bb2(%arg2 : f32),
        2: ^bb1(%arg2 : f32)
      ]
    ^bb1(%71: f32):
      spirv.Branch ^bb2(%71 : f32)
    ^bb2(%72: f32):
      spirv.mlir.merge %72 : f32
    }
    %69:2 = spirv.mlir.loop control(Unroll) -> i32, f32 {
      spirv.Branch ^bb1(%arg1 : i32)
    ^bb1(%71: i32):
      spirv.BranchConditional %arg4 [3, 4], ^bb2, ^bb4
    ^bb2:
      spirv.Branch ^bb3
    ^bb3:
      spirv.Branch ^bb1(%71 : i32)
    ^bb4:
      spirv.mlir.merge %71, %arg2 : i32, f32
    }
    spirv.mlir.selection {
      spirv.BranchConditional %arg4, ^bb1, ^bb2
    ^bb1:
      spirv.Branch ^bb2
    ^bb2:
      spirv.mlir.merge
    }
    %70 = spirv.FAdd %arg2, %arg2 {fp_fast_math_mode = #spirv.fastmath_mode<NotNaN|NotInf>, no_contraction} : f32
    spirv.Return
  }
  spirv.EntryPoint "GLCompute" @k
  spirv.ExecutionMode @k "ContractionOff"
}
