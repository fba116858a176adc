// REQUIRES: mlir-opt
// RUN: mlir-opt %s -o %t.upstream.mlir
// RUN: coopc-opt %t.upstream.mlir -o %t.mlir
// RUN: mlir-opt %t.mlir -o %t.again.mlir
// RUN: diff %t.upstream.mlir %t.again.mlir
// RUN: mlir-opt --mlir-print-op-generic %s -o %t.generic.mlir
// RUN: coopc-opt %t.generic.mlir -o %t.mlir
// RUN: mlir-opt %t.mlir -o %t.again.mlir
// RUN: diff %t.upstream.mlir %t.again.mlir

// Operations whose form `ops.mlir` shows by another one, and what ends a block.

spirv.module PhysicalStorageBuffer64 Vulkan requires #spirv.vce<v1.6, [Shader, Kernel, Addresses, PhysicalStorageBufferAddresses, Groups, GroupNonUniformArithmetic, GroupNonUniformBallot, GroupNonUniformShuffle, GroupNonUniformShuffleRelative, AtomicFloat32AddEXT, SplitBarrierINTEL, Bfloat16ConversionINTEL, SubgroupBufferBlockIOINTEL, CooperativeMatrixKHR], [SPV_KHR_cooperative_matrix, SPV_KHR_physical_storage_buffer]> {
  spirv.GlobalVariable @m bind(0, 1) {aliased} : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0]), Block>, StorageBuffer>
  spirv.func @all(%f: f32, %i: i32, %b: i1, %h: f16, %v: vector<3xf32>, %l: i64, %w: vector<4xi32>, %s: i16, %p: !spirv.ptr<i32, StorageBuffer>, %q: !spirv.ptr<f32, StorageBuffer>, %g: !spirv.ptr<f32, CrossWorkgroup>, %n: !spirv.ptr<f32, Generic>, %v2: vector<2xf32>, %v4: vector<4xf32>) "None" {
    %0 = spirv.FSub %f, %f : f32
    %1 = spirv.FMul %f, %f : f32
    %2 = spirv.FDiv %f, %f : f32
    %3 = spirv.FMod %f, %f : f32
    %4 = spirv.FRem %f, %f : f32
    %5 = spirv.FNegate %f : f32
    %6 = spirv.IAdd %i, %i : i32
    %7 = spirv.ISub %i, %i : i32
    %8 = spirv.SDiv %i, %i : i32
    %9 = spirv.UDiv %i, %i : i32
    %10 = spirv.SMod %i, %i : i32
    %11 = spirv.SRem %i, %i : i32
    %12 = spirv.UMod %i, %i : i32
    %13 = spirv.SNegate %i : i32
    %14 = spirv.BitwiseAnd %i, %i : i32
    %15 = spirv.BitwiseOr %i, %i : i32
    %16 = spirv.BitwiseXor %i, %i : i32
    %17 = spirv.LogicalAnd %b, %b : i1
    %18 = spirv.LogicalOr %b, %b : i1
    %19 = spirv.LogicalNotEqual %b, %b : i1
    %20 = spirv.GL.Acos %f : f32
    %21 = spirv.GL.Acosh %f : f32
    %22 = spirv.GL.Asin %f : f32
    %23 = spirv.GL.Asinh %f : f32
    %24 = spirv.GL.Atan %f : f32
    %25 = spirv.GL.Atanh %f : f32
    %26 = spirv.GL.Ceil %f : f32
    %27 = spirv.GL.Cos %f : f32
    %28 = spirv.GL.Cosh %f : f32
    %29 = spirv.GL.Exp %f : f32
    %30 = spirv.GL.Exp2 %f : f32
    %31 = spirv.GL.FAbs %f : f32
    %32 = spirv.GL.FSign %f : f32
    %33 = spirv.GL.Floor %f : f32
    %34 = spirv.GL.Fract %f : f32
    %35 = spirv.GL.InverseSqrt %f : f32
    %36 = spirv.GL.Log %f : f32
    %37 = spirv.GL.Log2 %f : f32
    %38 = spirv.GL.Normalize %f : f32
    %39 = spirv.GL.Round %f : f32
    %40 = spirv.GL.RoundEven %f : f32
    %41 = spirv.GL.Sin %f : f32
    %42 = spirv.GL.Sinh %f : f32
    %43 = spirv.GL.Sqrt %f : f32
    %44 = spirv.GL.Tan %f : f32
    %45 = spirv.GL.Tanh %f : f32
    %46 = spirv.GL.Cross %f, %f : f32
    %47 = spirv.GL.FMax %f, %f : f32
    %48 = spirv.GL.FMin %f, %f : f32
    %49 = spirv.GL.Pow %f, %f : f32
    %50 = spirv.GL.Reflect %f, %f : f32
    %51 = spirv.GL.FClamp %f, %f, %f : f32
    %52 = spirv.GL.FindILsb %i : i32
    %53 = spirv.GL.FindSMsb %i : i32
    %54 = spirv.GL.FindUMsb %i : i32
    %55 = spirv.GL.SAbs %i : i32
    %56 = spirv.GL.SSign %i : i32
    %57 = spirv.GL.SClamp %i, %i, %i : i32
    %58 = spirv.GL.UClamp %i, %i, %i : i32
    %59 = spirv.GL.SMax %i, %i : i32
    %60 = spirv.GL.SMin %i, %i : i32
    %61 = spirv.GL.UMax %i, %i : i32
    %62 = spirv.GL.UMin %i, %i : i32
    %63 = spirv.CL.acos %f : f32
    %64 = spirv.CL.acosh %f : f32
    %65 = spirv.CL.asin %f : f32
    %66 = spirv.CL.asinh %f : f32
    %67 = spirv.CL.atan %f : f32
    %68 = spirv.CL.atanh %f : f32
    %69 = spirv.CL.ceil %f : f32
    %70 = spirv.CL.cos %f : f32
    %71 = spirv.CL.cosh %f : f32
    %72 = spirv.CL.erf %f : f32
    %73 = spirv.CL.exp %f : f32
    %74 = spirv.CL.fabs %f : f32
    %75 = spirv.CL.floor %f : f32
    %76 = spirv.CL.log %f : f32
    %77 = spirv.CL.rint %f : f32
    %78 = spirv.CL.round %f : f32
    %79 = spirv.CL.rsqrt %f : f32
    %80 = spirv.CL.sin %f : f32
    %81 = spirv.CL.sinh %f : f32
    %82 = spirv.CL.sqrt %f : f32
    %83 = spirv.CL.tan %f : f32
    %84 = spirv.CL.tanh %f : f32
    %85 = spirv.CL.atan2 %f, %f : f32
    %86 = spirv.CL.fmax %f, %f : f32
    %87 = spirv.CL.fmin %f, %f : f32
    %88 = spirv.CL.pow %f, %f : f32
    %89 = spirv.CL.mix %f, %f, %f : f32
    %90 = spirv.CL.s_abs %i : i32
    %91 = spirv.CL.s_max %i, %i : i32
    %92 = spirv.CL.s_min %i, %i : i32
    %93 = spirv.CL.u_max %i, %i : i32
    %94 = spirv.CL.u_min %i, %i : i32
    %95 = spirv.IEqual %i, %i : i32
    %96 = spirv.INotEqual %i, %i : i32
    %97 = spirv.SGreaterThan %i, %i : i32
    %98 = spirv.SGreaterThanEqual %i, %i : i32
    %99 = spirv.SLessThan %i, %i : i32
    %100 = spirv.SLessThanEqual %i, %i : i32
    %101 = spirv.UGreaterThan %i, %i : i32
    %102 = spirv.UGreaterThanEqual %i, %i : i32
    %103 = spirv.ULessThan %i, %i : i32
    %104 = spirv.ULessThanEqual %i, %i : i32
    %105 = spirv.FOrdEqual %f, %f : f32
    %106 = spirv.FOrdGreaterThan %f, %f : f32
    %107 = spirv.FOrdGreaterThanEqual %f, %f : f32
    %108 = spirv.FOrdLessThan %f, %f : f32
    %109 = spirv.FOrdLessThanEqual %f, %f : f32
    %110 = spirv.FOrdNotEqual %f, %f : f32
    %111 = spirv.FUnordEqual %f, %f : f32
    %112 = spirv.FUnordGreaterThan %f, %f : f32
    %113 = spirv.FUnordGreaterThanEqual %f, %f : f32
    %114 = spirv.FUnordLessThan %f, %f : f32
    %115 = spirv.FUnordLessThanEqual %f, %f : f32
    %116 = spirv.FUnordNotEqual %f, %f : f32
    %117 = spirv.IsFinite %f : f32
    %118 = spirv.IsNan %f : f32
    %119 = spirv.ConvertFToU %f : f32 to i32
    %120 = spirv.ConvertSToF %i : i32 to f32
    %121 = spirv.ConvertUToF %i : i32 to f32
    %122 = spirv.FConvert %f : f32 to f16
    %123 = spirv.SConvert %i : i32 to i16
    %124 = spirv.UConvert %i : i32 to i16
    %125 = spirv.GL.PackHalf2x16 %v2 : vector<2xf32> -> i32
    %126 = spirv.GL.PackSnorm4x8 %v4 : vector<4xf32> -> i32
    %127 = spirv.GL.UnpackSnorm4x8 %i : i32 -> vector<4xf32>
    %128 = spirv.ShiftLeftLogical %i, %i : i32, i32
    %129 = spirv.ShiftRightLogical %i, %i : i32, i32
    %130 = spirv.ISubBorrow %i, %i : !spirv.struct<(i32, i32)>
    %131 = spirv.SMulExtended %i, %i : !spirv.struct<(i32, i32)>
    %132 = spirv.BitFieldUExtract %i, %i, %i : i32, i32, i32
    %133 = spirv.AtomicAnd <Device> <None> %p, %i : !spirv.ptr<i32, StorageBuffer>
    %134 = spirv.AtomicIDecrement <Device> <None> %p : !spirv.ptr<i32, StorageBuffer>
    %135 = spirv.AtomicISub <Device> <None> %p, %i : !spirv.ptr<i32, StorageBuffer>
    %136 = spirv.AtomicOr <Device> <None> %p, %i : !spirv.ptr<i32, StorageBuffer>
    %137 = spirv.AtomicSMax <Device> <None> %p, %i : !spirv.ptr<i32, StorageBuffer>
    %138 = spirv.AtomicSMin <Device> <None> %p, %i : !spirv.ptr<i32, StorageBuffer>
    %139 = spirv.AtomicUMax <Device> <None> %p, %i : !spirv.ptr<i32, StorageBuffer>
    %140 = spirv.AtomicUMin <Device> <None> %p, %i : !spirv.ptr<i32, StorageBuffer>
    %141 = spirv.AtomicXor <Device> <None> %p, %i : !spirv.ptr<i32, StorageBuffer>
    %142 = spirv.AtomicCompareExchangeWeak <Device> <None> <None> %p, %i, %i : !spirv.ptr<i32, StorageBuffer>
    %143 = spirv.GroupFMax <Subgroup> <Reduce> %f : f32
    %144 = spirv.GroupFMin <Subgroup> <Reduce> %f : f32
    %145 = spirv.GroupIAdd <Subgroup> <Reduce> %i : i32
    %146 = spirv.GroupSMax <Subgroup> <Reduce> %i : i32
    %147 = spirv.GroupSMin <Subgroup> <Reduce> %i : i32
    %148 = spirv.GroupUMax <Subgroup> <Reduce> %i : i32
    %149 = spirv.GroupUMin <Subgroup> <Reduce> %i : i32
    %150 = spirv.GroupNonUniformBitwiseAnd <Subgroup> <Reduce> %i : i32 -> i32
    %151 = spirv.GroupNonUniformBitwiseOr <Subgroup> <Reduce> %i : i32 -> i32
    %152 = spirv.GroupNonUniformBitwiseXor <Subgroup> <Reduce> %i : i32 -> i32
    %153 = spirv.GroupNonUniformFMax <Subgroup> <Reduce> %f : f32 -> f32
    %154 = spirv.GroupNonUniformFMin <Subgroup> <Reduce> %f : f32 -> f32
    %155 = spirv.GroupNonUniformFMul <Subgroup> <Reduce> %f : f32 -> f32
    %156 = spirv.GroupNonUniformIMul <Subgroup> <Reduce> %i : i32 -> i32
    %157 = spirv.GroupNonUniformLogicalOr <Subgroup> <Reduce> %b : i1 -> i1
    %158 = spirv.GroupNonUniformLogicalXor <Subgroup> <Reduce> %b : i1 -> i1
    %159 = spirv.GroupNonUniformSMax <Subgroup> <Reduce> %i : i32 -> i32
    %160 = spirv.GroupNonUniformSMin <Subgroup> <Reduce> %i : i32 -> i32
    %161 = spirv.GroupNonUniformUMax <Subgroup> <Reduce> %i : i32 -> i32
    %162 = spirv.GroupNonUniformUMin <Subgroup> <Reduce> %i : i32 -> i32
    %163 = spirv.GroupNonUniformShuffleDown <Subgroup> %f, %i : f32, i32
    %164 = spirv.GroupNonUniformShuffleUp <Subgroup> %f, %i : f32, i32
    %165 = spirv.GroupNonUniformShuffleXor <Subgroup> %f, %i : f32, i32
    %166 = spirv.GroupNonUniformBallotFindMSB <Subgroup> %w : vector<4xi32>, i32
    spirv.INTEL.ControlBarrierWait <Workgroup> <Workgroup> <AcquireRelease|WorkgroupMemory>
    spirv.Return
  ^bb1:
    spirv.Unreachable
  }
  spirv.func @kill() "None" {
    spirv.Kill
  }
  spirv.func @matrices(%a: !spirv.coopmatrix<8x8xf32, Subgroup, MatrixA>, %b: !spirv.coopmatrix<8x8xf32, Subgroup, MatrixB>, %c: !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>) "None" {
    %0 = spirv.KHR.CooperativeMatrixLength : !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>
    %1 = spirv.KHR.CooperativeMatrixMulAdd %a, %b, %c : !spirv.coopmatrix<8x8xf32, Subgroup, MatrixA>, !spirv.coopmatrix<8x8xf32, Subgroup, MatrixB> -> !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>
    %3 = spirv.Variable : !spirv.ptr<!spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>, Function>
    %4 = spirv.Constant 0.0 : f32
    %5 = spirv.Variable init(%4) : !spirv.ptr<f32, Function>
    %6 = spirv.mlir.addressof @m : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0]), Block>, StorageBuffer>
    spirv.Return
  }
}
