// RUN: coopc-opt %s --split-input-file --verify-diagnostics -p convert-spirv-calls-to-coopmatrix | filecheck %s

!a = !llvm.target<"spirv.CooperativeMatrixKHR", f16, 3, 8, 16, 0>
llvm.func @__spirv_CooperativeMatrixLoadKHR_a(!llvm.ptr<1>, i32, i64, i32) -> !a
// CHECK: error: llvm.call: expected a layout that is constant, got one of run time
llvm.func @layout(%p: !llvm.ptr<1>, %layout: i32, %n: i64) {
  %none = llvm.mlir.constant(0 : i32) : i32
  %x = llvm.call @__spirv_CooperativeMatrixLoadKHR_a(%p, %layout, %n, %none) : (!llvm.ptr<1>, i32, i64, i32) -> !a
  llvm.return
}

// -----

!a = !llvm.target<"spirv.CooperativeMatrixKHR", f16, 3, 8, 16, 0>
llvm.func @__spirv_CooperativeMatrixLoadKHR_a(!llvm.ptr<1>, i32, i64, i32) -> !a
// CHECK: error: llvm.call: expected a layout of SPIR-V, 0 to 2, got 3
llvm.func @number(%p: !llvm.ptr<1>, %n: i64) {
  %layout = llvm.mlir.constant(3 : i32) : i32
  %x = llvm.call @__spirv_CooperativeMatrixLoadKHR_a(%p, %layout, %n, %layout) : (!llvm.ptr<1>, i32, i64, i32) -> !a
  llvm.return
}

// -----

!a = !llvm.target<"spirv.CooperativeMatrixKHR", f16, 3, 8, 16, 0>
llvm.func @__spirv_CooperativeMatrixLoadKHR_a(!llvm.ptr<1>, i32, i64, i32) -> !a
// CHECK: error: llvm.call: expected a constant memory operand, of volatile, aligned and nontemporal, got 8
llvm.func @memory(%p: !llvm.ptr<1>, %n: i64) {
  %layout = llvm.mlir.constant(0 : i32) : i32
  %memory = llvm.mlir.constant(8 : i32) : i32
  %x = llvm.call @__spirv_CooperativeMatrixLoadKHR_a(%p, %layout, %n, %memory) : (!llvm.ptr<1>, i32, i64, i32) -> !a
  llvm.return
}

// -----

!a = !llvm.target<"spirv.CooperativeMatrixKHR", i16, 3, 8, 16, 0>
!b = !llvm.target<"spirv.CooperativeMatrixKHR", i16, 3, 16, 16, 1>
!c = !llvm.target<"spirv.CooperativeMatrixKHR", f32, 3, 8, 16, 2>
llvm.func @__spirv_CooperativeMatrixMulAddKHR(!a, !b, !c, i32) -> !c
// Intel's bf16 in i16: those of KHR have a type.
// CHECK: error: llvm.call: expected the bits of SPV_KHR_cooperative_matrix, signs and saturation, below 32, got 64
llvm.func @bf16(%a: !a, %b: !b, %c: !c) -> !c {
  %bits = llvm.mlir.constant(64 : i32) : i32
  %x = llvm.call @__spirv_CooperativeMatrixMulAddKHR(%a, %b, %c, %bits) : (!a, !b, !c, i32) -> !c
  llvm.return %x : !c
}

// -----

!a = !llvm.target<"spirv.CooperativeMatrixKHR", f16, 3, 8, 16, 0>
!b = !llvm.target<"spirv.CooperativeMatrixKHR", f16, 3, 16, 16, 1>
!c = !llvm.target<"spirv.CooperativeMatrixKHR", f32, 3, 8, 16, 2>
llvm.func @__spirv_CooperativeMatrixMulAddKHR(!a, !b, !c, i32) -> !c
// CHECK: error: llvm.call: expected a to hold integers, since it is signed, got f16
llvm.func @signs(%a: !a, %b: !b, %c: !c) -> !c {
  %bits = llvm.mlir.constant(1 : i32) : i32
  %x = llvm.call @__spirv_CooperativeMatrixMulAddKHR(%a, %b, %c, %bits) : (!a, !b, !c, i32) -> !c
  llvm.return %x : !c
}

// -----

// CHECK: error: llvm.func: expected a use of SPIR-V, 0 to 2, got 7
llvm.func @use(%a: !llvm.target<"spirv.CooperativeMatrixKHR", f16, 3, 8, 16, 7>) {
  llvm.return
}

// -----

// CHECK: error: llvm.func: expected "spirv.CooperativeMatrixKHR" with a type, scope, rows, columns and use, got !llvm.target<"spirv.Image", f16>
llvm.func @image(%a: !llvm.target<"spirv.Image", f16>) {
  llvm.return
}

// -----

llvm.func @__spirv_FNegate(f32) -> f32
// CHECK: error: llvm.call: expected a builtin of SPIR-V that is read, BuiltInLocalInvocationId, {{.*}}, got @__spirv_FNegate
llvm.func @other(%a: f32) {
  %x = llvm.call @__spirv_FNegate(%a) : (f32) -> f32
  llvm.return
}

// -----

// CHECK: error: llvm.func: expected a pointer argument to be read or written, so that the type of its elements is known
llvm.func @unused(%p: !llvm.ptr<1>) {
  llvm.return
}

// -----

!a = !llvm.target<"spirv.CooperativeMatrixKHR", f16, 3, 8, 16, 0>
!b = !llvm.target<"spirv.CooperativeMatrixKHR", f32, 3, 16, 16, 1>
llvm.func @__spirv_CooperativeMatrixLoadKHR_a(!llvm.ptr<1>, i32, i64, i32) -> !a
llvm.func @__spirv_CooperativeMatrixLoadKHR_b(!llvm.ptr<1>, i32, i64, i32) -> !b
// CHECK: error: llvm.func: expected one type of elements behind an argument, got f16 and f32
llvm.func @both(%p: !llvm.ptr<1>, %n: i64) {
  %none = llvm.mlir.constant(0 : i32) : i32
  %x = llvm.call @__spirv_CooperativeMatrixLoadKHR_a(%p, %none, %n, %none) : (!llvm.ptr<1>, i32, i64, i32) -> !a
  %y = llvm.call @__spirv_CooperativeMatrixLoadKHR_b(%p, %none, %n, %none) : (!llvm.ptr<1>, i32, i64, i32) -> !b
  llvm.return
}

// -----

!a = !llvm.target<"spirv.CooperativeMatrixKHR", f16, 3, 8, 16, 0>
llvm.func @__spirv_CooperativeMatrixLoadKHR_a(!llvm.ptr<2>, i32, i64, i32) -> !a
// CHECK: error: llvm.func: expected pointers to global or work-group memory, address spaces 0, 1, 3 and 4, got 2
llvm.func @space(%p: !llvm.ptr<2>, %n: i64) {
  %none = llvm.mlir.constant(0 : i32) : i32
  %x = llvm.call @__spirv_CooperativeMatrixLoadKHR_a(%p, %none, %n, %none) : (!llvm.ptr<2>, i32, i64, i32) -> !a
  llvm.return
}

// -----

// CHECK: error: llvm.call: expected a dimension, 0, 1 or 2, got 3
llvm.func @__spirv_BuiltInWorkgroupId(i32) -> i64
llvm.func @dimension() {
  %three = llvm.mlir.constant(3 : i32) : i32
  %x = llvm.call @__spirv_BuiltInWorkgroupId(%three) : (i32) -> i64
  llvm.return
}

// -----

// CHECK: error: llvm.intr.sqrt: expected an operation that is read, got llvm.intr.sqrt
llvm.func @unread(%x: f32) {
  %y = llvm.intr.sqrt(%x) : (f32) -> f32
  llvm.return
}
