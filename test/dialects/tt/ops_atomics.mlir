// RUN: %roundtrip

// Atomic updates, and functions of a library.

// CHECK-LABEL: tt.func @updates(%p: tensor<16x!tt.ptr<f32>>, %x: tensor<16xf32>, %m: tensor<16xi1>, %q: !tt.ptr<i32>, %i: i32, %c: i1)
tt.func @updates(%p: tensor<16x!tt.ptr<f32>>, %x: tensor<16xf32>, %m: tensor<16xi1>, %q: !tt.ptr<i32>, %i: i32, %c: i1) {
  // CHECK-NEXT: %a = tt.atomic_rmw fadd, acq_rel, gpu, %p, %x, %m : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xi1>) -> tensor<16xf32>
  %a = tt.atomic_rmw fadd, acq_rel, gpu, %p, %x, %m : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xi1>) -> tensor<16xf32>
  // CHECK-NEXT: %b = tt.atomic_rmw fadd, relaxed, cta, %p, %x : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> tensor<16xf32>
  %b = tt.atomic_rmw fadd, relaxed, cta, %p, %x : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> tensor<16xf32>
  // CHECK-NEXT: %d = tt.atomic_rmw exch, acquire, sys, %q, %i, %c {note} : (!tt.ptr<i32>, i32, i1) -> i32
  %d = tt.atomic_rmw exch, acquire, sys, %q, %i, %c {note} : (!tt.ptr<i32>, i32, i1) -> i32
  // CHECK-NEXT: %e = tt.atomic_rmw umax, release, gpu, %q, %i : (!tt.ptr<i32>, i32) -> i32
  %e = tt.atomic_rmw umax, release, gpu, %q, %i : (!tt.ptr<i32>, i32) -> i32
  // CHECK-NEXT: tt.return
  tt.return
}

// CHECK-LABEL: tt.func @functions(%x: tensor<16xf32>, %s: f32)
tt.func @functions(%x: tensor<16xf32>, %s: f32) {
  // CHECK-NEXT: %a = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__imf_tanhf"} : (tensor<16xf32>) -> tensor<16xf32>
  %a = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__imf_tanhf"} : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK-NEXT: %b = tt.extern_elementwise %s, %s {note, libname = "m", libpath = "/m.bc", pure = false, symbol = "f"} : (f32, f32) -> i32
  %b = tt.extern_elementwise %s, %s {note, libname = "m", libpath = "/m.bc", pure = false, symbol = "f"} : (f32, f32) -> i32
  // CHECK-NEXT: tt.return
  tt.return
}

// CHECK-LABEL: tt.func @swaps(%p: tensor<16x!tt.ptr<f32>>, %x: tensor<16xf32>, %q: !tt.ptr<i32>, %i: i32, %d: !tt.tensordesc<16xf32>)
tt.func @swaps(%p: tensor<16x!tt.ptr<f32>>, %x: tensor<16xf32>, %q: !tt.ptr<i32>, %i: i32, %d: !tt.tensordesc<16xf32>) {
  // CHECK-NEXT: %a = tt.atomic_cas acq_rel, gpu, %q, %i, %i : (!tt.ptr<i32>, i32, i32) -> i32
  %a = tt.atomic_cas acq_rel, gpu, %q, %i, %i : (!tt.ptr<i32>, i32, i32) -> i32
  // CHECK-NEXT: %b = tt.atomic_cas relaxed, cta, %p, %x, %x {note} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %b = tt.atomic_cas relaxed, cta, %p, %x, %x {note} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  // CHECK-NEXT: tt.descriptor_reduce add, %d[%i], %x : !tt.tensordesc<16xf32>, tensor<16xf32>
  tt.descriptor_reduce add, %d[%i], %x : !tt.tensordesc<16xf32>, tensor<16xf32>
  // CHECK-NEXT: tt.return
  tt.return
}

// CHECK-LABEL: tt.func @waits(%q: !tt.ptr<i32>, %i: i32, %p: tensor<16x!tt.ptr<i32>>, %x: tensor<16xi32>, %t: i64)
tt.func @waits(%q: !tt.ptr<i32>, %i: i32, %p: tensor<16x!tt.ptr<i32>>, %x: tensor<16xi32>, %t: i64) {
  // CHECK-NEXT: %a = tt.atomic_poll acquire, gpu, %q, %i : !tt.ptr<i32>, i32 -> i1
  %a = tt.atomic_poll acquire, gpu, %q, %i : !tt.ptr<i32>, i32 -> i1
  // CHECK-NEXT: %b = tt.atomic_poll relaxed, sys, %p, %x timeout %t {note} : tensor<16x!tt.ptr<i32>>, tensor<16xi32> -> tensor<16xi1>
  %b = tt.atomic_poll relaxed, sys, %p, %x timeout %t {note} : tensor<16x!tt.ptr<i32>>, tensor<16xi32> -> tensor<16xi1>
  // CHECK-NEXT: tt.return
  tt.return
}
