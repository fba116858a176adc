// RUN: coopc-opt %s -t 'llvm-ir{matrix=true}' | filecheck %s --check-prefix FRONT
// RUN: coopc-opt %s -p resolve-matrix-fill{device=amx} -t 'llvm-ir{matrix=true}' | filecheck %s --check-prefix FILL
// RUN: coopc-opt %s -p resolve-matrix-fill{device=amx},resolve-matrix-wi-slice -t 'llvm-ir{matrix=true}' | filecheck %s --check-prefix SLICE
// RUN: coopc-opt %s -p resolve-matrix-fill{device=amx},resolve-matrix-wi-slice,vectorize-subgroup -t 'llvm-ir{matrix=true}' | filecheck %s --check-prefix WIDE
// RUN: coopc-opt %s -p resolve-matrix-fill{device=amx},resolve-matrix-wi-slice,vectorize-subgroup,resolve-subgroup-wi-call -t 'llvm-ir{matrix=true}' | filecheck %s --check-prefix ROWS

// The IR of the SYCL matrix design at each step of its chain, as LLVM text.

func.func private @foo(!coopmatrix.matrix<4x4xi32, none>)

// FRONT-LABEL: define void @value(i32 %Input)
// FRONT:       %mat = call <16 x i32> @llvm.experimental.matrix.fill.v16i32.i32(i32 %Input, i32 4, i32 4, metadata !"matrix.rowmajor", metadata !"scope.subgroup", metadata !"matrix.use.unnecessary")
// FRONT-NEXT:  call void @foo(<16 x i32> %mat)

// FILL-LABEL:  define void @value(i32 %Input)
// FILL-NEXT:   entry:
// FILL-NEXT:   %zero = call <16 x i32> @llvm.experimental.matrix.fill.v16i32.i32(i32 0, i32 4, i32 4, metadata !"matrix.rowmajor", metadata !"scope.subgroup", metadata !"matrix.use.unnecessary")
// FILL-NEXT:   %length = call i64 @llvm.experimental.matrix.wi.slice.length.v16i32(<16 x i32> poison, i32 4, i32 4, metadata !"matrix.rowmajor", metadata !"scope.subgroup", metadata !"matrix.use.unnecessary")
// FILL-NEXT:   br label %for
// FILL-NEXT:   for:
// FILL-NEXT:   %i = phi i64 [ 0, %entry ], [ %[[INC:.*]], %again ]
// FILL-NEXT:   %it = phi <16 x i32> [ %zero, %entry ], [ %[[UPDATE:.*]], %again ]
// FILL-NEXT:   %[[CMP:.*]] = icmp slt i64 %i, %length
// FILL-NEXT:   br i1 %[[CMP]], label %body, label %done
// FILL-NEXT:   body:
// FILL-NEXT:   %[[UPDATE]] = call <16 x i32> @llvm.experimental.matrix.wi.slice.insertelement.v16i32.i64(<16 x i32> %it, i32 4, i32 4, i32 %Input, i64 %i, metadata !"matrix.rowmajor", metadata !"scope.subgroup", metadata !"matrix.use.unnecessary")
// FILL-NEXT:   br label %again
// FILL-NEXT:   again:
// FILL-NEXT:   %[[INC]] = add i64 %i, 1
// FILL-NEXT:   br label %for
// FILL-NEXT:   done:
// FILL-NEXT:   call void @foo(<16 x i32> %it)
func.func @value(%Input: i32) {
  %mat = coopmatrix.fill %Input : i32 -> !coopmatrix.matrix<4x4xi32, none>
  func.call @foo(%mat) : (!coopmatrix.matrix<4x4xi32, none>) -> ()
  func.return
}

// A fill from a pointer, typed or opaque, loads first.
// FRONT-LABEL: define void @pointers(ptr %p, ptr %q)
// FRONT:       @llvm.experimental.matrix.fill.v16i32.p0(ptr %p, i32 4, i32 4,
// FRONT:       @llvm.experimental.matrix.fill.v16i32.p0(ptr %q, i32 4, i32 4,
// FILL-LABEL:  define void @pointers(ptr %p, ptr %q)
// FILL:        %value = load i32, ptr %p, align 4
// FILL:        insertelement.v16i32.i64(<16 x i32> %it, i32 4, i32 4, i32 %value, i64 %i,
// FILL:        %value.0 = load i32, ptr %q, align 4
// FILL:        insertelement.v16i32.i64(<16 x i32> %it.0, i32 4, i32 4, i32 %value.0, i64 %i.0,
func.func @pointers(%p: !llvm.ptr, %q: memref<i32>) {
  %m = coopmatrix.fill %p : !llvm.ptr -> !coopmatrix.matrix<4x4xi32, none>
  %n = coopmatrix.fill %q : memref<i32> -> !coopmatrix.matrix<4x4xi32, none>
  func.call @foo(%m) : (!coopmatrix.matrix<4x4xi32, none>) -> ()
  func.call @foo(%n) : (!coopmatrix.matrix<4x4xi32, none>) -> ()
  func.return
}

// FRONT-LABEL: define void @test(ptr %memory, i64 %element.index)
// FRONT:       %mat = call <144 x i32> @llvm.experimental.matrix.load.v144i32.p0(ptr %memory, i64 12, i1 false, i32 12, i32 12, metadata !"matrix.rowmajor", metadata !"matrix.rowmajor", metadata !"scope.subgroup", metadata !"matrix.use.unnecessary")
// FRONT-NEXT:  %elem = call i32 @llvm.experimental.matrix.wi.slice.extractelement.v144i32.i64(<144 x i32> %mat, i32 12, i32 12, i64 %element.index, metadata !"matrix.rowmajor", metadata !"scope.subgroup", metadata !"matrix.use.unnecessary")
// FRONT-NEXT:  %val = mul i32 %elem, 42
// FRONT-NEXT:  %mat.update = call <144 x i32> @llvm.experimental.matrix.wi.slice.insertelement.v144i32.i64(<144 x i32> %mat, i32 12, i32 12, i32 %val, i64 %element.index, metadata !"matrix.rowmajor", metadata !"scope.subgroup", metadata !"matrix.use.unnecessary")
// FRONT-NEXT:  call void @llvm.experimental.matrix.store.v144i32.p0(<144 x i32> %mat.update, ptr %memory, i64 12, i1 false, i32 12, i32 12, metadata !"matrix.rowmajor", metadata !"matrix.rowmajor", metadata !"scope.subgroup", metadata !"matrix.use.unnecessary")

// Which widened builtins there are is said on the calls, of the kernel's 16 lanes.
// SLICE-LABEL: define void @test(
// SLICE:       %id = call i64 @get_sub_group_rowslice_id.v144i32.i64(<144 x i32> %mat, i32 12, i32 12, i64 %element.index)
// SLICE-NEXT:  %elem = call i32 @sub_group_rowslice_extractelement.i32(i64 %id) "vector-function-abi-variant"="_ZGVbN16u_sub_group_rowslice_extractelement.i32,_ZGVbM16u_sub_group_rowslice_extractelement.i32"
// SLICE-NEXT:  %val = mul i32 %elem, 42
// SLICE-NEXT:  %id.0 = call i64 @get_sub_group_rowslice_id.v144i32.i64(<144 x i32> %mat, i32 12, i32 12, i64 %element.index)
// SLICE-NEXT:  call void @sub_group_rowslice_insertelement.i32(i64 %id.0, i32 %val) "vector-function-abi-variant"="_ZGVbN16uv_sub_group_rowslice_insertelement.i32,_ZGVbM16uv_sub_group_rowslice_insertelement.i32"
// SLICE-NEXT:  %mat.update = call <144 x i32> @sub_group_insert_rowslice_to_matrix.v144i32(i64 %id.0)

// WIDE-LABEL:  define void @test(
// WIDE:        %id = call i64 @get_sub_group_rowslice_id.v144i32.i64(<144 x i32> %mat, i32 12, i32 12, i64 %element.index)
// WIDE-NEXT:   %elem = call <16 x i32> @_ZGVbN16u_sub_group_rowslice_extractelement.i32(i64 %id)
// WIDE-NEXT:   %val = mul <16 x i32> %elem, <i32 42, i32 42, i32 42, i32 42, i32 42, i32 42, i32 42, i32 42, i32 42, i32 42, i32 42, i32 42, i32 42, i32 42, i32 42, i32 42>
// WIDE-NEXT:   %id.0 = call i64 @get_sub_group_rowslice_id.v144i32.i64(<144 x i32> %mat, i32 12, i32 12, i64 %element.index)
// WIDE-NEXT:   call void @_ZGVbN16uv_sub_group_rowslice_insertelement.i32(i64 %id.0, <16 x i32> %val)
// WIDE-NEXT:   %mat.update = call <144 x i32> @sub_group_insert_rowslice_to_matrix.v144i32(i64 %id.0)

// Element index * 16 is in row / 12 and column % 12.
// ROWS-LABEL:  define void @test(
// ROWS:        %offset = mul i64 %element.index, 16
// ROWS-NEXT:   %[[AT:.*]] = trunc i64 %offset to i32
// ROWS-NEXT:   %[[ROW:.*]] = udiv i32 %[[AT]], 12
// ROWS-NEXT:   %[[COL:.*]] = urem i32 %[[AT]], 12
// ROWS-NEXT:   %elem = call <16 x i32> @llvm.experimental.matrix.extract.row.slice.v16i32.v144i32(<144 x i32> %mat, i32 %[[ROW]], i32 %[[COL]], i32 16, i32 12, i32 12, metadata !"matrix.rowmajor")
// ROWS:        %mat.update = call <144 x i32> @llvm.experimental.matrix.insert.row.slice.v144i32.v16i32(<144 x i32> %mat, <16 x i32> %val, i32 %{{.*}}, i32 %{{.*}}, i32 16, i32 12, i32 12, metadata !"matrix.rowmajor")
func.func @test(%memory: memref<12x12xi32>, %element.index: index) attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %c0 = arith.constant 0 : index
  %mat = coopmatrix.load %memory[%c0, %c0] row_major : memref<12x12xi32> -> !coopmatrix.matrix<12x12xi32, none>
  %elem = coopmatrix.extract %mat[%element.index] : !coopmatrix.matrix<12x12xi32, none>
  %c42 = arith.constant 42 : i32
  %val = arith.muli %elem, %c42 : i32
  %mat.update = coopmatrix.insert %val, %mat[%element.index] : !coopmatrix.matrix<12x12xi32, none>
  coopmatrix.store %mat.update, %memory[%c0, %c0] row_major : !coopmatrix.matrix<12x12xi32, none>, memref<12x12xi32>
  func.return
}

// The number of row slices is a builtin of the number of elements, then ceil(144 / 16).
// FRONT-LABEL: define void @length(
// FRONT:       call i64 @llvm.experimental.matrix.wi.slice.length.v144i32(<144 x i32> poison, i32 12, i32 12,
// SLICE-LABEL: define void @length(
// SLICE:       call i64 @get_sub_group_slice_length.(i32 144)
// WIDE-LABEL:  define void @length(
// WIDE:        call i64 @get_sub_group_slice_length.(i32 144)
// ROWS-LABEL:  define void @length(
// ROWS:        store i64 9, ptr %p
func.func @length(%p: memref<index>) attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %n = coopmatrix.length !coopmatrix.matrix<12x12xi32, none> : index
  memref.store %n, %p[] : memref<index>
  func.return
}

// What some lanes insert has a mask; behind the chain, the others keep what they had.
// WIDE-LABEL:  define void @some(
// WIDE:        call void @_ZGVbM16uv_sub_group_rowslice_insertelement.i32(i64 %id.0, <16 x i32> %{{.*}}, <16 x i1> %c)
// ROWS-LABEL:  define void @some(
// ROWS:        %c = icmp sgt <16 x i32>
// ROWS:        %[[OLD:.*]] = call <16 x i32> @llvm.experimental.matrix.extract.row.slice
// ROWS-NEXT:   %[[NEW:.*]] = select <16 x i1> %c, <16 x i32> %{{.*}}, <16 x i32> %[[OLD]]
// ROWS-NEXT:   call <144 x i32> @llvm.experimental.matrix.insert.row.slice.v144i32.v16i32(<144 x i32> %mat, <16 x i32> %[[NEW]],
func.func @some(%memory: memref<12x12xi32>, %index: index, %v: i32) attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %c0 = arith.constant 0 : index
  %mat = coopmatrix.load %memory[%c0, %c0] row_major : memref<12x12xi32> -> !coopmatrix.matrix<12x12xi32, none>
  %pos = arith.constant 0 : i32
  %elem = coopmatrix.extract %mat[%index] : !coopmatrix.matrix<12x12xi32, none>
  %c = arith.cmpi sgt, %elem, %pos : i32
  %r = scf.if %c -> (!coopmatrix.matrix<12x12xi32, none>) {
    %update = coopmatrix.insert %v, %mat[%index] : !coopmatrix.matrix<12x12xi32, none>
    scf.yield %update : !coopmatrix.matrix<12x12xi32, none>
  } else {
    scf.yield %mat : !coopmatrix.matrix<12x12xi32, none>
  }
  coopmatrix.store %r, %memory[%c0, %c0] row_major : !coopmatrix.matrix<12x12xi32, none>, memref<12x12xi32>
  func.return
}
