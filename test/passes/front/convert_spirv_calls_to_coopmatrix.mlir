// RUN: coopc-opt %s -p convert-spirv-calls-to-coopmatrix,check-dominance | filecheck %s
// RUN: coopc-opt %s | coopc-opt -p convert-spirv-calls-to-coopmatrix | filecheck %s
// RUN: coopc-opt %s -p convert-spirv-calls-to-coopmatrix,resolve-matrix-fill{device=amx},resolve-matrix-wi-slice,vectorize-subgroup,resolve-subgroup-wi-call -t 'llvm-ir{matrix=true}' | filecheck %s --check-prefix LLVM
// RUN: coopc-opt %s -p convert-spirv-calls-to-coopmatrix,coopc-khr{device=bmg} -t spirv | filecheck %s --check-prefix SPIRV

// SPIR-V-friendly LLVM, as SYCL's front end writes it, without SPIR-V between.

!a = !llvm.target<"spirv.CooperativeMatrixKHR", f16, 3, 8, 16, 0>
!b = !llvm.target<"spirv.CooperativeMatrixKHR", f16, 3, 16, 16, 1>
!c = !llvm.target<"spirv.CooperativeMatrixKHR", f32, 3, 8, 16, 2>

llvm.func spir_funccc @_Z32__spirv_CooperativeMatrixLoadKHR_a(!llvm.ptr<1>, i32, i64, i32) -> !a
llvm.func spir_funccc @_Z32__spirv_CooperativeMatrixLoadKHR_b(!llvm.ptr<1>, i32, i64) -> !b
llvm.func spir_funccc @_Z26__spirv_CompositeConstructf(f32) -> !c
llvm.func spir_funccc @_Z34__spirv_CooperativeMatrixMulAddKHR_x(!a, !b, !c, i32) -> !c
llvm.func spir_funccc @_Z34__spirv_CooperativeMatrixLengthKHR(!c) -> i32
llvm.func spir_funccc @_Z28__spirv_VectorExtractDynamic_x(!c, i64) -> f32
llvm.func spir_funccc @_Z27__spirv_VectorInsertDynamic_x(!c, f32, i64) -> !c
llvm.func spir_funccc @_Z33__spirv_CooperativeMatrixStoreKHR_x(!llvm.ptr<1>, !c, i32, i64, i32, i32)
llvm.func spir_funccc @_Z26__spirv_BuiltInWorkgroupIdi(i32) -> i64

// CHECK-NOT:   __spirv
// CHECK-LABEL: func.func @k(%a: memref<f16>, %b: memref<f16>, %c: memref<f32>, %n: i64) attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 16, 1, 1>} {
// CHECK:       %group = arith.index_cast %{{.*}} : index to i64
// CHECK:       %o = arith.muli %group, %{{.*}} : i64
// CHECK:       %[[O:.*]] = arith.index_cast %o : i64 to index
// CHECK:       %[[A:.*]] = memref.reinterpret_cast %a to offset: [%[[O]]], sizes: [8, 16], strides: [16, 1] : memref<f16> to memref<8x16xf16, strided<[16, 1], offset: ?>>
// CHECK:       %x = coopmatrix.load %[[A]][%{{.*}}, %{{.*}}] row_major volatile : memref<8x16xf16, strided<[16, 1], offset: ?>> -> !coopmatrix.matrix<8x16xf16, a>
// CHECK:       %[[S:.*]] = arith.index_cast %n : i64 to index
// CHECK:       %[[B:.*]] = memref.reinterpret_cast %b to offset: [0], sizes: [16, 16], strides: [%[[S]], 1] : memref<f16> to memref<16x16xf16, strided<[?, 1]>>
// CHECK:       %y = coopmatrix.load %[[B]][%{{.*}}, %{{.*}}] col_major : memref<16x16xf16, strided<[?, 1]>> -> !coopmatrix.matrix<16x16xf16, b>
// CHECK:       %z = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<8x16xf32, acc>
// CHECK:       %d = coopmatrix.mul_add %x, %y, %z : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<8x16xf32, acc>
// CHECK:       %[[LEN:.*]] = coopmatrix.length !coopmatrix.matrix<8x16xf32, acc> : index
// CHECK-NEXT:  %len = arith.index_cast %[[LEN]] : index to i32
// CHECK:       scf.for %i = %{{.*}} to %len step %{{.*}} iter_args(%it = %d) -> (!coopmatrix.matrix<8x16xf32, acc>) : i32 {
// CHECK-NEXT:    %ix = arith.extui %i : i32 to i64
// CHECK-NEXT:    %[[I:.*]] = arith.index_cast %ix : i64 to index
// CHECK-NEXT:    %e = coopmatrix.extract %it[%[[I]]] : !coopmatrix.matrix<8x16xf32, acc>
// CHECK-NEXT:    %neg = arith.negf %e : f32
// CHECK-NEXT:    %f = arith.mulf %neg, %two : f32
// CHECK:         %g = coopmatrix.insert %f, %it[%{{.*}}] : !coopmatrix.matrix<8x16xf32, acc>
// CHECK-NEXT:    scf.yield %g
// The byte that a pointer is moved by is a fourth of an element.
// CHECK:       %[[Q:.*]] = arith.divsi %{{.*}}, %{{.*}} : index
// CHECK-NEXT:  %[[C:.*]] = memref.reinterpret_cast %c to offset: [%[[Q]]], sizes: [8, 16], strides: [16, 1] : memref<f32>
// CHECK:       coopmatrix.store %s, %[[C]][%{{.*}}, %{{.*}}] row_major alignment = 64
// CHECK-NEXT:  func.return

// The same kernel in the calls of the SYCL matrix design, vectorised.
// LLVM-LABEL:  define void @k(ptr %a, ptr %b, ptr %c, i64 %n)
// LLVM:        @llvm.experimental.matrix.load.v128f16.p0(ptr %{{.*}}, i64 16, i1 true, i32 8, i32 16, metadata !"matrix.rowmajor", metadata !"matrix.rowmajor", metadata !"scope.subgroup", metadata !"matrix.use.a")
// LLVM:        @llvm.experimental.matrix.load.v256f16.p0(ptr %b, i64 %n, i1 false, i32 16, i32 16, metadata !"matrix.rowmajor", metadata !"matrix.columnmajor", metadata !"scope.subgroup", metadata !"matrix.use.b")
// LLVM:        @llvm.experimental.matrix.mad.v128f32.v128f16.v256f16(
// LLVM:        @llvm.experimental.matrix.extract.row.slice.v16f32.v128f32(
// LLVM:        @llvm.experimental.matrix.insert.row.slice.v128f32.v16f32(

// And as SPIR-V again.
// SPIRV:       OpCooperativeMatrixLoadKHR
// SPIRV:       OpCooperativeMatrixLoadKHR
// SPIRV:       OpCooperativeMatrixMulAddKHR
llvm.func spir_kernelcc @k(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %n: i64) attributes {intel_reqd_sub_group_size = 16 : i32, reqd_work_group_size = array<i32: 16, 1, 1>} {
  %row = llvm.mlir.constant(0 : i32) : i32
  %column = llvm.mlir.constant(1 : i32) : i32
  %none = llvm.mlir.constant(0 : i32) : i32
  %volatile = llvm.mlir.constant(1 : i32) : i32
  %aligned = llvm.mlir.constant(2 : i32) : i32
  %alignment = llvm.mlir.constant(64 : i32) : i32
  %stride = llvm.mlir.constant(16 : i64) : i64
  %tile = llvm.mlir.constant(128 : i64) : i64
  %group = llvm.call spir_funccc @_Z26__spirv_BuiltInWorkgroupIdi(%row) : (i32) -> i64
  %o = llvm.mul %group, %tile : i64
  %p = llvm.getelementptr inbounds %a[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
  %x = llvm.call spir_funccc @_Z32__spirv_CooperativeMatrixLoadKHR_a(%p, %row, %stride, %volatile) : (!llvm.ptr<1>, i32, i64, i32) -> !a
  %y = llvm.call spir_funccc @_Z32__spirv_CooperativeMatrixLoadKHR_b(%b, %column, %n) : (!llvm.ptr<1>, i32, i64) -> !b
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  %z = llvm.call spir_funccc @_Z26__spirv_CompositeConstructf(%zero) : (f32) -> !c
  %d = llvm.call spir_funccc @_Z34__spirv_CooperativeMatrixMulAddKHR_x(%x, %y, %z, %none) : (!a, !b, !c, i32) -> !c
  %len = llvm.call spir_funccc @_Z34__spirv_CooperativeMatrixLengthKHR(%d) : (!c) -> i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %two = llvm.mlir.constant(2.0 : f32) : f32
  %s = scf.for %i = %c0 to %len step %c1 iter_args(%it = %d) -> (!c) : i32 {
    %ix = llvm.zext %i : i32 to i64
    %e = llvm.call spir_funccc @_Z28__spirv_VectorExtractDynamic_x(%it, %ix) : (!c, i64) -> f32
    %neg = llvm.fneg %e : f32
    %f = llvm.fmul %neg, %two : f32
    %g = llvm.call spir_funccc @_Z27__spirv_VectorInsertDynamic_x(%it, %f, %ix) : (!c, f32, i64) -> !c
    scf.yield %g : !c
  }
  %bytes = llvm.mlir.constant(512 : i64) : i64
  %r = llvm.mul %group, %bytes : i64
  %q = llvm.getelementptr %c[%r] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
  llvm.call spir_funccc @_Z33__spirv_CooperativeMatrixStoreKHR_x(%q, %s, %row, %stride, %aligned, %alignment) : (!llvm.ptr<1>, !c, i32, i64, i32, i32) -> ()
  llvm.return
}
