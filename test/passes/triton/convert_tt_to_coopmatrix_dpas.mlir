// RUN: coopc-opt %s -p 'convert-tt-to-coopmatrix{dpas=true rounds=true}' --split-input-file 2> %t | filecheck %s
// RUN: filecheck %s --check-prefix REMARK --input-file %t

// Lanes multiply what DPAS does not: f32 exactly, and bytes of half its K.

// REMARK: remark: coopmatrix.mul_add: the kernel's products are computed by lanes: DPAS does not multiply !coopmatrix.matrix<16x16xf32, a> and !coopmatrix.matrix<16x16xf32, b> exactly
// CHECK: func.func @exact
// CHECK-SAME: coopmatrix.distribution = #layout.coopmatrix
module attributes {simt.target = #simt.target<opencl, bmg>} {
  tt.func public @exact(%p: !tt.ptr<f32>, %c: !tt.ptr<f32>) {
    %zero = arith.constant dense<0.0> : tensor<16x16xf32>
    %a_all = tt.splat %p : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
    %a = tt.load %a_all : tensor<16x16x!tt.ptr<f32>>
    %s = tt.dot %a, %a, %zero, inputPrecision = ieee : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    %c_all = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
    tt.store %c_all, %s : tensor<16x16x!tt.ptr<f32>>
    tt.return
  }
}

// -----

// REMARK: computed by lanes: expected K to be a multiple of 32 (DPAS operand a on bmg), got 16 in
// CHECK: func.func @shallow
// CHECK-SAME: coopmatrix.distribution = #layout.coopmatrix
module attributes {simt.target = #simt.target<opencl, bmg>} {
  tt.func public @shallow(%p: !tt.ptr<i8>, %c: !tt.ptr<i32>) {
    %zero = arith.constant dense<0> : tensor<16x16xi32>
    %a_all = tt.splat %p : !tt.ptr<i8> -> tensor<16x16x!tt.ptr<i8>>
    %a = tt.load %a_all : tensor<16x16x!tt.ptr<i8>>
    %s = tt.dot %a, %a, %zero, inputPrecision = tf32 : tensor<16x16xi8> * tensor<16x16xi8> -> tensor<16x16xi32>
    %c_all = tt.splat %c : !tt.ptr<i32> -> tensor<16x16x!tt.ptr<i32>>
    tt.store %c_all, %s : tensor<16x16x!tt.ptr<i32>>
    tt.return
  }
}

// -----

// REMARK-NOT: computed by lanes
// CHECK: func.func @narrow
// CHECK-NOT: coopmatrix.distribution
module attributes {simt.target = #simt.target<opencl, bmg>} {
  tt.func public @narrow(%p: !tt.ptr<f16>, %c: !tt.ptr<f32>) {
    %zero = arith.constant dense<0.0> : tensor<4x16xf32>
    %a_all = tt.splat %p : !tt.ptr<f16> -> tensor<4x16x!tt.ptr<f16>>
    %b_all = tt.splat %p : !tt.ptr<f16> -> tensor<16x16x!tt.ptr<f16>>
    %a = tt.load %a_all : tensor<4x16x!tt.ptr<f16>>
    %b = tt.load %b_all : tensor<16x16x!tt.ptr<f16>>
    %s = tt.dot %a, %b, %zero, inputPrecision = tf32 : tensor<4x16xf16> * tensor<16x16xf16> -> tensor<4x16xf32>
    %c_all = tt.splat %c : !tt.ptr<f32> -> tensor<4x16x!tt.ptr<f32>>
    tt.store %c_all, %s : tensor<4x16x!tt.ptr<f32>>
    tt.return
  }
}
