// RUN: coopc-opt %s -t 'llvm-ir{matrix=true}' | filecheck %s

// A multiplication, by who holds signed integers; layouts, scopes and uses in metadata.

// CHECK-LABEL: define void @gemm(ptr %a, ptr %b, ptr %c, i64 %i)
// CHECK:       %[[AT:.*]] = mul i64 %i, 64
// CHECK-NEXT:  %[[A:.*]] = getelementptr inbounds i8, ptr %a, i64 %[[AT]]
// CHECK-NEXT:  %x = call <512 x i8> @llvm.experimental.matrix.load.v512i8.p0(ptr %[[A]], i64 64, i1 false, i32 8, i32 64, metadata !"matrix.rowmajor", metadata !"matrix.rowmajor", metadata !"scope.subgroup", metadata !"matrix.use.a")
// CHECK-NEXT:  %y = call <1024 x i8> @llvm.experimental.matrix.load.v1024i8.p0(ptr %b, i64 64, i1 false, i32 64, i32 16, metadata !"matrix.rowmajor", metadata !"matrix.packed", metadata !"scope.subgroup", metadata !"matrix.use.b")
// CHECK-NEXT:  %z = call <128 x i32> @llvm.experimental.matrix.load.v128i32.p0(ptr %c, i64 16, i1 true, i32 8, i32 16, metadata !"matrix.rowmajor", metadata !"matrix.rowmajor", metadata !"scope.subgroup", metadata !"matrix.use.accumulator")
// CHECK-NEXT:  %ss = call <128 x i32> @llvm.experimental.matrix.mad.v128i32.v512i8.v1024i8(<512 x i8> %x, <1024 x i8> %y, <128 x i32> %z, i32 8, i32 64, i32 16, metadata !"scope.subgroup", metadata !"matrix.reinterpret.type.none", metadata !"matrix.reinterpret.type.none", metadata !"matrix.reinterpret.type.none", metadata !"matrix.reinterpret.type.none")
// CHECK-NEXT:  %su = call <128 x i32> @llvm.experimental.matrix.sumad.
// CHECK-NEXT:  %us = call <128 x i32> @llvm.experimental.matrix.usmad.
// CHECK-NEXT:  %uu = call <128 x i32> @llvm.experimental.matrix.uumad.
// CHECK-NEXT:  call void @llvm.experimental.matrix.store.v128i32.p0(<128 x i32> %uu, ptr %c, i64 16, i1 false, i32 8, i32 16,
func.func @gemm(%a: memref<64x64xi8>, %b: memref<16x64xi8>, %c: memref<8x16xi32>, %i: index) {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%i, %0] row_major : memref<64x64xi8> -> !coopmatrix.matrix<8x64xi8, a>
  %y = coopmatrix.load %b[%0, %0] packed : memref<16x64xi8> -> !coopmatrix.matrix<64x16xi8, b>
  %z = coopmatrix.load %c[%0, %0] row_major volatile : memref<8x16xi32> -> !coopmatrix.matrix<8x16xi32, acc>
  %ss = coopmatrix.mul_add %x, %y, %z signed(a, b) : !coopmatrix.matrix<8x64xi8, a>, !coopmatrix.matrix<64x16xi8, b>, !coopmatrix.matrix<8x16xi32, acc>
  %su = coopmatrix.mul_add %x, %y, %ss signed(a) : !coopmatrix.matrix<8x64xi8, a>, !coopmatrix.matrix<64x16xi8, b>, !coopmatrix.matrix<8x16xi32, acc>
  %us = coopmatrix.mul_add %x, %y, %su signed(b) : !coopmatrix.matrix<8x64xi8, a>, !coopmatrix.matrix<64x16xi8, b>, !coopmatrix.matrix<8x16xi32, acc>
  %uu = coopmatrix.mul_add %x, %y, %us : !coopmatrix.matrix<8x64xi8, a>, !coopmatrix.matrix<64x16xi8, b>, !coopmatrix.matrix<8x16xi32, acc>
  coopmatrix.store %uu, %c[%0, %0] row_major : !coopmatrix.matrix<8x16xi32, acc>, memref<8x16xi32>
  func.return
}

// Columns in a memref of rows have a stride; in one of columns, the other stride.
// CHECK-LABEL: define void @columns(ptr %p, ptr %q, ptr %r, i64 %r_n0)
// CHECK:       (ptr %p, i64 24, i1 false, i32 8, i32 16, metadata !"matrix.rowmajor", metadata !"matrix.columnmajor", metadata !"scope.workgroup", metadata !"matrix.use.unnecessary")
// CHECK:       (ptr %q, i64 32, i1 false, i32 8, i32 16, metadata !"matrix.rowmajor", metadata !"matrix.rowmajor", metadata !"scope.workgroup",
// CHECK:       (ptr %r, i64 %r_n0, i1 false,
// CHECK:       fadd <128 x float>
// CHECK:       fmul <128 x float>
func.func @columns(%p: memref<16x24xf32>, %q: memref<24x16xf32, strided<[1, 32]>>, %r: memref<8x16xf32, strided<[?, 1]>>) {
  %0 = arith.constant 0 : index
  %two = arith.constant 2.0 : f32
  %x = coopmatrix.load %p[%0, %0] col_major : memref<16x24xf32> -> !coopmatrix.matrix<8x16xf32, none, scope = workgroup>
  %y = coopmatrix.load %q[%0, %0] col_major : memref<24x16xf32, strided<[1, 32]>> -> !coopmatrix.matrix<8x16xf32, none, scope = workgroup>
  %z = coopmatrix.load %r[%0, %0] row_major : memref<8x16xf32, strided<[?, 1]>> -> !coopmatrix.matrix<8x16xf32, none, scope = workgroup>
  %s = coopmatrix.add %x, %y : !coopmatrix.matrix<8x16xf32, none, scope = workgroup>
  %t = coopmatrix.scale %s, %two : !coopmatrix.matrix<8x16xf32, none, scope = workgroup>, f32
  %u = coopmatrix.sub %t, %z : !coopmatrix.matrix<8x16xf32, none, scope = workgroup>
  coopmatrix.store %u, %p[%0, %0] col_major : !coopmatrix.matrix<8x16xf32, none, scope = workgroup>, memref<16x24xf32>
  func.return
}
