// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Elements that are picked and counted, assembly, and regions of scalars.
tt.func @f() {
  tt.return
}
// CHECK: tt.func @f

// -----

%x, %i = "test.op"() : () -> (tensor<64xf32>, tensor<16xf32>)
%y = tt.gather %x[%i] {axis = 0 : i32} : (tensor<64xf32>, tensor<16xf32>) -> tensor<16xf32>
// CHECK: tt.gather: expected integers for indices, got f32

// -----

%x, %i = "test.op"() : () -> (tensor<64x8xf32>, tensor<16x16xi32>)
%y = tt.gather %x[%i] {axis = 0 : i32} : (tensor<64x8xf32>, tensor<16x16xi32>) -> tensor<16x16xf32>
// CHECK: tt.gather: expected indices of at most 8 along dimension 1, as src has, got 16

// -----

%x, %i = "test.op"() : () -> (tensor<64xf32>, tensor<16xi32>)
%y = tt.gather %x[%i] {axis = 1 : i32} : (tensor<64xf32>, tensor<16xi32>) -> tensor<16xf32>
// CHECK: tt.gather: expected axis 0 to 0, a dimension of 64, got 1

// -----

%x = "test.op"() : () -> tensor<64xi32>
%y = tt.histogram %x : tensor<64xi32> -> tensor<8x8xi32>
// CHECK: tt.histogram: expected the result to be of rank 1, got 8x8

// -----

%x = "test.op"() : () -> tensor<16xi32>
%y = tt.cat %x, %x : tensor<16xi32> -> tensor<16xi32>
// CHECK: tt.cat: expected the result of shape 32, lhs and rhs, got 16

// -----

%x = "test.op"() : () -> tensor<2xi32>
%y = tt.unsplat %x : tensor<2xi32>
// CHECK: tt.unsplat: expected src of shape 1, one element, got 2

// -----

%x = "test.op"() : () -> tensor<16xi32>
"tt.elementwise_inline_asm"(%x) <{asm_string = "", constraints = "", packed_element = 1 : i32, pure = true}> : (tensor<16xi32>) -> ()
// CHECK: tt.elementwise_inline_asm: expected a result or more, got none

// -----

"tt.map_elementwise"() <{pack = 1 : i32}> ({
  tt.map_elementwise.return
}) : () -> ()
// CHECK: tt.map_elementwise: expected a tensor to map, got none

// -----

%x = "test.op"() : () -> tensor<16xi32>
%y = "tt.scan"(%x) <{axis = 0 : i32, reverse = false}> ({
^bb0(%a: i32, %b: i32):
  tt.scan.return %a : i32
}) : (tensor<16xi32>) -> tensor<8xi32>
// CHECK: tt.scan: expected the result of shape 16, as the source, got 8

// -----

%x = "test.op"() : () -> tensor<16xi32>
%y = "tt.scan"(%x) <{axis = 0 : i32, reverse = false}> ({
^bb0(%a: i32):
  tt.scan.return %a : i32
}) : (tensor<16xi32>) -> tensor<16xi32>
// CHECK: tt.scan: expected a region with arguments (i32, i32), two elements of each source, got (i32)

// -----

%a, %b, %c = "test.op"() : () -> (tensor<64x32xi8>, tensor<32x64xi8>, tensor<32x64xf32>)
%d = tt.dot_scaled %a, %b, %c lhs = e4m3 rhs = e4m3 {fastMath = false} : tensor<64x32xi8> * tensor<32x64xi8> -> tensor<32x64xf32>
// CHECK: tt.dot_scaled: expected c of shape 64x64, M of a and N of b, got 32x64
