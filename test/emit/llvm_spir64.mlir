// RUN: coopc-opt %s -t 'llvm-ir{device=bmg}' | filecheck %s

// Builtins by the names that Intel's compiler and LLVM's SPIR-V back end match, which
// depend on every argument; what becomes of them is tested in test_llvm_spir64.py.

// CHECK:      target datalayout = "e-i64:64-v16:16
// CHECK-NEXT: target triple = "spir64-unknown-unknown"

// CHECK:      @k.tile = internal addrspace(3) global [64 x half] poison, align 2

// CHECK:      define spir_kernel void @k(ptr addrspace(1) %a, i64 %a_n0, i8 %flag, i32 %x)
// CHECK-SAME:   convergent nounwind !reqd_work_group_size !0 !intel_reqd_sub_group_size !1 {
func.func @k(%a: memref<?xf16>, %flag: i1, %x: i32)
    attributes {simt.kernel, simt.work_group_size = array<i32: 32>,
                simt.subgroup_size = 16 : i32} {
  %tile = memref.alloca() : memref<64xf16, #simt.memory<workgroup>>
  // CHECK: icmp ne i8 %flag, 0
  // CHECK-NEXT: %id = call spir_func i64 @_Z12get_group_idj(i32 0)
  %id = simt.workgroup_id x : index
  // CHECK-NEXT: call spir_func i32 @_Z22get_sub_group_local_id()
  %lane = simt.lane_id : index
  // CHECK: call spir_func i32 @_Z17sub_group_shuffleij(i32 %x, i32 3)
  %c3 = arith.constant 3 : index
  %s = simt.shuffle idx %x, %c3 : i32
  // CHECK: call spir_func i32 @_Z27__spirv_GroupNonUniformIAddiii(i32 3, i32 0, i32 %s)
  %r = simt.reduce add %s : i32
  // CHECK-NEXT: call spir_func void @_Z22__spirv_ControlBarrieriii(i32 2, i32 2, i32 776)
  simt.barrier workgroup
  // CHECK-NEXT: call spir_func void @_Z33__spirv_ControlBarrierArriveINTELiii(i32 2, i32 2, i32 772)
  simt.barrier_arrive workgroup
  // CHECK-NEXT: call spir_func void @_Z31__spirv_ControlBarrierWaitINTELiii(i32 2, i32 2, i32 770)
  simt.barrier_wait workgroup
  // CHECK-NEXT: insertelement <2 x i32> poison, i32 %x, i64 0
  // CHECK-NEXT: %[[AT:.*]] = insertelement <2 x i32> {{.*}}, i32 %r, i64 1
  // CHECK-NEXT: call spir_func void @_Z32__spirv_Subgroup2DBlockLoadINTELiiiiPU3AS1viiiDv2_iPv(i32 2, i32 16, i32 8, i32 1, ptr addrspace(1) nonnull readonly %a, i32 %x, i32 %x, i32 %x, <2 x i32> %[[AT]], ptr nonnull writeonly %[[V:.*]]), !spirv.DecorationCacheControlINTEL !4
  // CHECK-NEXT: %p = load <8 x i16>, ptr %[[V]], align 16
  %p = xe.block_load_2d %a[%x, %r] surface(%x, %x, %x) block <16, 8x16x1> cache <l1 = streaming, l3 = uncached>
    : memref<?xf16> -> vector<8xi16>
  %b = arith.constant dense<1> : vector<8xi32>
  %c = arith.constant dense<0.0> : vector<8xf32>
  // CHECK-NEXT: call spir_func <8 x float> @_Z45__spirv_SubgroupMatrixMultiplyAccumulateINTELiDv8_sDv8_iDv8_fi(i32 16, <8 x i16> %p, <8 x i32>
  // CHECK-SAME: i32 3072)
  %d = xe.dpas f16 x f16 repeat 8 %p, %b, %c : vector<8xi16>, vector<8xi32>, vector<8xf32>
  // CHECK: ret void
  func.return
}

// A kernel is not called: a function of the same body is.
// CHECK-LABEL: define spir_kernel void @one(ptr addrspace(1) %a)
func.func @one(%a: memref<4xf16>)
    attributes {simt.kernel, simt.work_group_size = array<i32: 32>,
                simt.subgroup_size = 16 : i32} {
  func.return
}

// CHECK-LABEL: define spir_kernel void @calling(ptr addrspace(1) %a)
// CHECK:         call spir_func void @one.called(ptr addrspace(1) %a)
// CHECK-LABEL: define internal spir_func void @one.called(ptr addrspace(1) %a)
func.func @calling(%a: memref<4xf16>)
    attributes {simt.kernel, simt.work_group_size = array<i32: 32>,
                simt.subgroup_size = 16 : i32} {
  func.call @one(%a) : (memref<4xf16>) -> ()
  func.return
}

// CHECK: !0 = !{i32 32, i32 1, i32 1}
// CHECK-NEXT: !1 = !{i32 16}
// CHECK-NEXT: !2 = !{i32 6442, i32 0, i32 2, i32 4}
// CHECK-NEXT: !3 = !{i32 6442, i32 1, i32 0, i32 4}
// CHECK-NEXT: !4 = !{!2, !3}
