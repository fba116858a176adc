// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Atomic updates, functions of a library, pairs.
tt.func @f() {
  tt.return
}
// CHECK: tt.func @f

// -----

%p, %x = "test.op"() : () -> (!tt.ptr<f32>, f32)
%y = tt.atomic_rmw fmul, relaxed, gpu, %p, %x : (!tt.ptr<f32>, f32) -> f32
// CHECK: expected one of and, or, xor, add, fadd, max, min, umax, umin, exch, got fmul

// -----

%p, %x = "test.op"() : () -> (!tt.ptr<f32>, f32)
%y = tt.atomic_rmw fadd, weak, gpu, %p, %x : (!tt.ptr<f32>, f32) -> f32
// CHECK: expected one of relaxed, acquire, release, acq_rel, got weak

// -----

%p, %x = "test.op"() : () -> (!tt.ptr<f32>, f32)
%y = tt.atomic_rmw fadd, relaxed, warp, %p, %x : (!tt.ptr<f32>, f32) -> f32
// CHECK: expected one of gpu, cta, sys, got warp

// -----

%x = "test.op"() : () -> f32
%y = tt.atomic_rmw fadd, relaxed, gpu, %x, %x : (f32, f32) -> f32
// CHECK: tt.atomic_rmw: expected pointers to elements to be updated, got f32

// -----

%p, %x = "test.op"() : () -> (!tt.ptr<f32>, f16)
%y = tt.atomic_rmw fadd, relaxed, gpu, %p, %x : (!tt.ptr<f32>, f16) -> f32
// CHECK: tt.atomic_rmw: expected val to be f32, as ptr points to, got f16

// -----

%p, %x = "test.op"() : () -> (!tt.ptr<f32>, f32)
%y = tt.atomic_rmw fadd, relaxed, gpu, %p, %x : (!tt.ptr<f32>, f32) -> i32
// CHECK: tt.atomic_rmw: expected the result to be f32, as ptr points to, got i32

// -----

%p, %x = "test.op"() : () -> (!tt.ptr<f32>, f32)
%y = tt.atomic_rmw add, relaxed, gpu, %p, %x : (!tt.ptr<f32>, f32) -> f32
// CHECK: tt.atomic_rmw: expected integers for add, got f32

// -----

%p, %x = "test.op"() : () -> (!tt.ptr<i32>, i32)
%y = tt.atomic_rmw fadd, relaxed, gpu, %p, %x : (!tt.ptr<i32>, i32) -> i32
// CHECK: tt.atomic_rmw: expected floats for fadd, got i32

// -----

%p, %x = "test.op"() : () -> (!tt.ptr<f32>, f32)
%y = tt.atomic_rmw fadd, relaxed, gpu, %p, %x, %x : (!tt.ptr<f32>, f32, f32) -> f32
// CHECK: tt.atomic_rmw: expected a mask of i1, got f32

// -----

%p, %x, %m = "test.op"() : () -> (tensor<4x!tt.ptr<f32>>, tensor<4xf32>, tensor<8xi1>)
%y = tt.atomic_rmw fadd, relaxed, gpu, %p, %x, %m : (tensor<4x!tt.ptr<f32>>, tensor<4xf32>, tensor<8xi1>) -> tensor<4xf32>
// CHECK: tt.atomic_rmw: expected mask of shape 4, as ptr, got 8

// -----

%y = tt.extern_elementwise {libname = "", libpath = "", pure = true, symbol = "f"} : () -> f32
// CHECK: tt.extern_elementwise: expected one operand or more, got none

// -----

%x = "test.op"() : () -> tensor<4xf32>
%y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "f"} : (tensor<4xf32>) -> tensor<8xf32>
// CHECK: tt.extern_elementwise: expected operand 0 of shape 8, as the result, got 4

// -----

%x = "test.op"() : () -> tensor<4xf32>
%y = tt.join %x, %x : tensor<4xf32> -> tensor<2x4xf32>
// CHECK: tt.join: expected the result of shape 4x2, two for each element of lhs, got 2x4

// -----

%x = "test.op"() : () -> tensor<4xf32>
%y = tt.join %x, %x : tensor<4xf32> -> tensor<4x2xf16>
// CHECK: tt.join: expected the result to be of f32, as lhs, got f16

// -----

%x = "test.op"() : () -> f32
%y = tt.join %x, %x : f32 -> tensor<2xf32>
// CHECK: tt.join: expected tensors, got f32 and tensor<2xf32>

// -----

%x = "test.op"() : () -> tensor<4x4xf32>
%y, %z = tt.split %x : tensor<4x4xf32> -> tensor<4xf32>
// CHECK: tt.split: expected src of shape 4x2, two for each element of low, got 4x4

// -----

%p, %x = "test.op"() : () -> (!tt.ptr<i32>, f32)
%y = tt.atomic_cas acq_rel, gpu, %p, %x, %x : (!tt.ptr<i32>, f32, f32) -> f32
// CHECK: tt.atomic_cas: expected cmp to be i32, as ptr points to, got f32

// -----

%d, %i, %x = "test.op"() : () -> (!tt.tensordesc<16xf32>, i32, tensor<8xf32>)
tt.descriptor_reduce add, %d[%i], %x : !tt.tensordesc<16xf32>, tensor<8xf32>
// CHECK: tt.descriptor_reduce: expected src of shape 16

// -----

%p, %x = "test.op"() : () -> (!tt.ptr<i32>, i64)
%y = tt.atomic_poll acquire, gpu, %p, %x : !tt.ptr<i32>, i64 -> i1
// CHECK: tt.atomic_poll: expected expected to be i32, as ptr points to, got i64

// -----

%p, %x = "test.op"() : () -> (tensor<16x!tt.ptr<i32>>, tensor<16xi32>)
%y = tt.atomic_poll acquire, gpu, %p, %x : tensor<16x!tt.ptr<i32>>, tensor<16xi32> -> i1
// CHECK: tt.atomic_poll: expected the result to be a tensor, as ptr, got i1

// -----

%p, %x = "test.op"() : () -> (!tt.ptr<i32>, i32)
%y = tt.atomic_poll acquire, gpu, %p, %x : !tt.ptr<i32>, i32 -> i32
// CHECK: tt.atomic_poll: expected a result of i1, got i32

// -----

%p, %x, %t = "test.op"() : () -> (!tt.ptr<i32>, i32, i32)
%y = tt.atomic_poll acquire, gpu, %p, %x timeout %t : !tt.ptr<i32>, i32 -> i1
// CHECK: operand is used with type i64, but has been previously used or defined with type i32
