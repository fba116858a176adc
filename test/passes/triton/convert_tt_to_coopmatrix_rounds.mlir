// RUN: coopc-opt %s -p "convert-tt-to-coopmatrix{subgroup-size=4 tile=8,8,8 rounds=true device=lavapipe}" --split-input-file | filecheck %s
// RUN: coopc-opt %s -p "convert-tt-to-coopmatrix{subgroup-size=4 tile=8,8,8 rounds=true device=nvidia}" --split-input-file | filecheck %s --check-prefix ALIGNED

// Sums of 32 x 32 in rounds of 16 x 16: the loop carries two strips of 8 rows, factors are
// loaded from where they are, with checks, and strips are stored one after the other.

// What is stored may not be what later rounds load.

// CHECK-LABEL: func.func @product
// CHECK-SAME: simt.conditions = [{what = "memory", argument = 2 : i64, apart_from_argument = 0 : i64, why = "something is stored before all is loaded"}, {what = "memory", argument = 2 : i64, apart_from_argument = 1 : i64,
tt.func @product(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %r: !tt.ptr<f32>, %n: i32, %pitch: i64) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %eight = arith.constant 8 : i32
  %unit = arith.constant 1 : i64
  %init = arith.constant dense<0.0> : tensor<32x32xf32>
  %a = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <f16>, <32x8xf16>
  %b = tt.make_tensor_descriptor %q, [%n, %n], [%pitch, %unit] : <f16>, <32x8xf16>
  %d = tt.make_tensor_descriptor %r, [%n, %n], [%pitch, %unit] : <f32>, <32x32xf32>
  // CHECK-NOT: scf.for %k
  // CHECK: scf.for %round = %c0 to %c4 step %c1 {
  // CHECK: coopmatrix.fill
  // CHECK: %{{.+}}, %{{.+}} = scf.for %k = {{.+}} -> (!coopmatrix.matrix<8x16xf32, acc>, !coopmatrix.matrix<8x16xf32, acc>)
  // CHECK: coopmatrix.load {{.+}} col_major checked(rows, cols) {{.+}} -> !coopmatrix.matrix<8x16xf16, b>
  // CHECK: coopmatrix.load {{.+}} row_major checked(rows, cols) {{.+}} -> !coopmatrix.matrix<8x8xf16, a>
  // CHECK: coopmatrix.mul_add
  // CHECK: coopmatrix.load
  // CHECK: coopmatrix.mul_add
  // CHECK: scf.yield
  // CHECK: coopmatrix.store %{{.+}}, %sums
  // CHECK: scf.for %row
  // CHECK: memref.store
  // CHECK: coopmatrix.store %{{.+}}, %sums
  // What is not aligned goes through work-group memory on a device that wants it.
  // ALIGNED: arith.andi
  // ALIGNED: scf.if
  // ALIGNED: coopmatrix.load {{.+}} checked(rows, cols)
  // ALIGNED: else
  // ALIGNED: coopmatrix.load %stage
  %sum = scf.for %k = %zero to %n step %eight iter_args(%acc = %init) -> (tensor<32x32xf32>) : i32 {
    %x = tt.descriptor_load %a[%zero, %k] : !tt.tensordesc<32x8xf16> -> tensor<32x8xf16>
    %y = tt.descriptor_load %b[%zero, %k] : !tt.tensordesc<32x8xf16> -> tensor<32x8xf16>
    %t = tt.trans %y {order = array<i32: 1, 0>} : tensor<32x8xf16> -> tensor<8x32xf16>
    %next = tt.dot %x, %t, %acc : tensor<32x8xf16> * tensor<8x32xf16> -> tensor<32x32xf32>
    scf.yield %next : tensor<32x32xf32>
  }
  %twice = arith.addf %sum, %sum : tensor<32x32xf32>
  tt.descriptor_store %d[%zero, %zero], %twice : !tt.tensordesc<32x32xf32>, tensor<32x32xf32>
  tt.return
}

// -----

// Sums of which rows are added up are no matter of rounds: they have a buffer, and what
// is scaled before a product is added is scaled in it.

// CHECK-LABEL: func.func @scaled
tt.func @scaled(%p: !tt.ptr<f16>, %r: !tt.ptr<f32>, %n: i32, %pitch: i64) {
  %zero = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  %unit = arith.constant 1 : i64
  %init = arith.constant dense<0.0> : tensor<8x8xf32>
  %half = arith.constant dense<0.5> : tensor<8x8xf32>
  %a = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <f16>, <8x8xf16>
  // CHECK: %acc = memref.alloca() : memref<8x8xf32, #simt.memory<workgroup>>
  // CHECK-NOT: memref.alloca() : memref<8x8xf32
  // CHECK: memref.load %acc
  // CHECK: arith.mulf
  // CHECK: memref.store %{{.+}}, %acc
  // CHECK: coopmatrix.store %{{.+}}, %acc
  %sum = scf.for %k = %zero to %n step %eight iter_args(%acc = %init) -> (tensor<8x8xf32>) : i32 {
    %x = tt.descriptor_load %a[%zero, %k] : !tt.tensordesc<8x8xf16> -> tensor<8x8xf16>
    %less = arith.mulf %acc, %half : tensor<8x8xf32>
    %next = tt.dot %x, %x, %less : tensor<8x8xf16> * tensor<8x8xf16> -> tensor<8x8xf32>
    scf.yield %next : tensor<8x8xf32>
  }
  %s = "tt.reduce"(%sum) <{axis = 1 : i32}> ({
  ^bb0(%c: f32, %d: f32):
    %e = arith.addf %c, %d : f32
    tt.reduce.return %e : f32
  }) : (tensor<8x8xf32>) -> tensor<8xf32>
  %at = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %ps = tt.splat %r : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %to = tt.addptr %ps, %at : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  tt.store %to, %s : tensor<8x!tt.ptr<f32>>
  tt.return
}
