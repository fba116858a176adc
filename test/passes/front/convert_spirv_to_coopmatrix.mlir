// REQUIRES: mlir-opt
// RUN: mlir-opt --mlir-print-op-generic %s -o %t.mlir
// RUN: coopc-opt %t.mlir -p convert-spirv-to-coopmatrix,normalize,check-dominance | filecheck %s
// RUN: coopc-opt %t.mlir -p 'convert-spirv-to-coopmatrix{subgroup-size=8},coopc-khr{device=lavapipe}' -t spirv | filecheck %s --check-prefix SPIRV

// A module as upstream's users write it: buffers become arguments by their bindings.

// CHECK:      coopmatrix.spec_constant @steps = 4 : i32 id = 0
// CHECK-NEXT: func.func @mm(%a: memref<?xf16>, %b: memref<?xf16>, %c: memref<?xf32>)
// CHECK-SAME: simt.kernel
// CHECK-SAME: simt.work_group_size = array<i32: 8, 1, 1>
// CHECK:        %[[STEPS:.*]] = coopmatrix.spec_value @steps
// CHECK:        simt.workgroup_id x
// CHECK:        %[[INIT:.*]] = coopmatrix.fill %{{.*}} : f32 -> !coopmatrix.matrix<16x16xf32, acc>
// CHECK:        scf.while
// CHECK:          arith.cmpi ult
// CHECK:          memref.reinterpret_cast %a to offset: [%{{.*}}], sizes: [16, 16], strides: [%{{.*}}, 1]
// CHECK-NEXT:     coopmatrix.load %{{.*}} row_major : memref<16x16xf16, strided<[?, 1], offset: ?>> -> !coopmatrix.matrix<16x16xf16, a>
// CHECK:          memref.reinterpret_cast %b to offset: [%{{.*}}], sizes: [16, 16], strides: [16, 1]
// CHECK-NEXT:     coopmatrix.load %{{.*}} row_major : memref<16x16xf16, strided<[16, 1], offset: ?>> -> !coopmatrix.matrix<16x16xf16, b>
// CHECK-NEXT:     coopmatrix.mul_add
// CHECK:        coopmatrix.add %[[SUM:.*]], %[[SUM]] : !coopmatrix.matrix<16x16xf32, acc>
// CHECK:        coopmatrix.store
// SPIRV: OpEntryPoint GLCompute %mm "mm"
// SPIRV: OpCooperativeMatrixMulAddKHR
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader, CooperativeMatrixKHR, VulkanMemoryModel, StorageBuffer16BitAccess, Float16], [SPV_KHR_cooperative_matrix]> {
  spirv.SpecConstant @steps spec_id(0) = 4 : i32
  spirv.GlobalVariable @wg built_in("WorkgroupId") : !spirv.ptr<vector<3xi32>, Input>
  spirv.GlobalVariable @a bind(0, 0) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>
  spirv.GlobalVariable @b bind(0, 1) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>
  spirv.GlobalVariable @c bind(0, 2) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
  spirv.func @mm() "None" {
    %zero = spirv.Constant 0 : i32
    %one = spirv.Constant 1 : i32
    %s16 = spirv.Constant 16 : i32
    %f0 = spirv.Constant 0.0 : f32
    %steps = spirv.mlir.referenceof @steps : i32
    %wga = spirv.mlir.addressof @wg : !spirv.ptr<vector<3xi32>, Input>
    %wgv = spirv.Load "Input" %wga : vector<3xi32>
    %row = spirv.CompositeExtract %wgv[0 : i32] : vector<3xi32>
    %a = spirv.mlir.addressof @a : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>
    %b = spirv.mlir.addressof @b : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>
    %c = spirv.mlir.addressof @c : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
    %lead = spirv.IMul %steps, %s16 : i32
    %r16 = spirv.IMul %row, %s16 : i32
    %r = spirv.IMul %r16, %lead : i32
    %init = spirv.CompositeConstruct %f0 : (f32) -> !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
    %sum = spirv.mlir.loop -> !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc> {
      spirv.Branch ^header(%zero, %init : i32, !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>)
    ^header(%i : i32, %acc : !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>):
      %more = spirv.ULessThan %i, %steps : i32
      spirv.BranchConditional %more, ^body, ^merge
    ^body:
      %k = spirv.IMul %i, %s16 : i32
      %at = spirv.IAdd %r, %k : i32
      %pa = spirv.AccessChain %a[%zero, %at] : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>, i32, i32 -> !spirv.ptr<f16, StorageBuffer>
      %kb = spirv.IMul %k, %s16 : i32
      %pb = spirv.AccessChain %b[%zero, %kb] : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>, i32, i32 -> !spirv.ptr<f16, StorageBuffer>
      %x = spirv.KHR.CooperativeMatrixLoad %pa, %lead, <RowMajor> : !spirv.ptr<f16, StorageBuffer>, i32 -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixA>
      %y = spirv.KHR.CooperativeMatrixLoad %pb, %s16, <RowMajor>, <NonPrivatePointer> : !spirv.ptr<f16, StorageBuffer>, i32 -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixB>
      %n = spirv.KHR.CooperativeMatrixMulAdd %x, %y, %acc : !spirv.coopmatrix<16x16xf16, Subgroup, MatrixA>, !spirv.coopmatrix<16x16xf16, Subgroup, MatrixB> -> !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
      %next = spirv.IAdd %i, %one : i32
      spirv.Branch ^header(%next, %n : i32, !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>)
    ^merge:
      spirv.mlir.merge %acc : !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
    }
    %twice = spirv.FAdd %sum, %sum : !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
    %rc = spirv.IMul %r16, %s16 : i32
    %pc = spirv.AccessChain %c[%zero, %rc] : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, i32, i32 -> !spirv.ptr<f32, StorageBuffer>
    spirv.KHR.CooperativeMatrixStore %pc, %twice, %s16, <RowMajor> : !spirv.ptr<f32, StorageBuffer>, !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>, i32
    spirv.Return
  }
  spirv.EntryPoint "GLCompute" @mm, @wg
  spirv.ExecutionMode @mm "LocalSize", 8, 1, 1
}
