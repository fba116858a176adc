// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Functions, programs, casts.
tt.func @f(%x: i32) -> i32 {
  tt.return
}
// CHECK: tt.return: expected (i32), the results of @f, got ()

// -----

"tt.func"() <{sym_name = "f", function_type = (i32) -> ()}> ({
^bb0(%x: f32):
  tt.return
}) : () -> ()
// CHECK: tt.func: expected a body with arguments (i32), as the function type says, got (f32)

// -----

tt.func @f(%x: i32) {
  tt.call @g(%x) : (i32) -> ()
  tt.return
}
// CHECK: tt.call: expected a tt.func @g to call, got nothing

// -----

module {
  tt.func private @g(%x: f32)
  tt.func @f(%x: i32) {
    tt.call @g(%x) : (i32) -> ()
    tt.return
  }
}
// CHECK: tt.call: expected arguments (f32), as @g has, got (i32)

// -----

module {
  tt.func private @g() -> f32
  tt.func @f() {
    tt.call @g() : () -> ()
    tt.return
  }
}
// CHECK: tt.call: expected results (f32), as @g has, got ()

// -----

func.func @g() {
  func.return
}
tt.func @f() {
  tt.call @g() : () -> ()
  tt.return
}
// CHECK: tt.call: expected a tt.func @g to call, got func.func

// -----

%x = tt.get_program_id w : i32
// CHECK: expected one of x, y, z, got w

// -----

%x = "tt.get_program_id"() <{axis = 3 : i32}> : () -> i32
// CHECK: tt.get_program_id: expected an i32 of 0 (x), 1 (y), 2 (z), got 3 : i32

// -----

%x = "tt.get_program_id"() <{axis = 0 : i64}> : () -> i32
// CHECK: tt.get_program_id: expected an i32 of 0 (x), 1 (y), 2 (z), got 0 : i64

// -----

%r = tt.make_range {end = 32 : i32, start = 32 : i32} : tensor<32xi32>
// CHECK: tt.make_range: expected end to be above start = 32, got 32

// -----

%r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<16xi32>
// CHECK: tt.make_range: expected the result of shape 32, as from 0 to 32, got 16

// -----

%r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi64>
// CHECK: tt.make_range: expected the result to be of i32, as a range is, got i64

// -----

%r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<4x8xi32>
// CHECK: tt.make_range: expected the result to be of rank 1, got 4x8

// -----

%x = "test.op"() : () -> i32
tt.print "x" {hex = false, isSigned = array<i32: 1, 0>} : %x : i32
// CHECK: tt.print: expected isSigned for 1 arguments, got 2

// -----

%x = "test.op"() : () -> tensor<4xi32>
tt.assert %x, "x" : tensor<4xi32>
// CHECK: tt.assert: expected a condition of i1, got tensor<4xi32>

// -----

%x = "test.op"() : () -> f32
%y = tt.bitcast %x : f32 -> f16
// CHECK: tt.bitcast: expected as many bits as f32 has, got f16: 32 and 16

// -----

%x = "test.op"() : () -> i64
%y = tt.bitcast %x : i64 -> !tt.ptr<f16>
// CHECK: tt.bitcast: expected as many bits as i64 has, got !tt.ptr<f16>: 64 and a pointer

// -----

%x = "test.op"() : () -> !tt.ptr<f16>
%y = tt.bitcast %x : !tt.ptr<f16> -> !tt.ptr<f16, 3>
// CHECK: tt.bitcast: expected a pointer to address space 1, as src, got 3

// -----

%x = "test.op"() : () -> tensor<4xf32>
%y = tt.bitcast %x : tensor<4xf32> -> tensor<8xi32>
// CHECK: tt.bitcast: expected the result of shape 4, as src, got 8

// -----

%x = "test.op"() : () -> tensor<4xf32>
%y = tt.bitcast %x : tensor<4xf32> -> i32
// CHECK: tt.bitcast: expected the result to be a tensor, as src, got i32

// -----

%x = "test.op"() : () -> i32
%y = tt.int_to_ptr %x : i32 -> !tt.ptr<f16>
// CHECK: tt.int_to_ptr: expected i64 to become a pointer, got i32 to !tt.ptr<f16>

// -----

%x = "test.op"() : () -> !tt.ptr<f16>
%y = tt.ptr_to_int %x : !tt.ptr<f16> -> i32
// CHECK: tt.ptr_to_int: expected a pointer to become i64, got !tt.ptr<f16> to i32

// -----

%x = "test.op"() : () -> f32
%y = tt.fp_to_fp %x : f32 -> f16
// CHECK: tt.fp_to_fp: expected a rounding, as f16 is narrower than f32, got none

// -----

%x = "test.op"() : () -> f32
%y = tt.fp_to_fp %x, rounding = rtp : f32 -> f16
// CHECK: expected one of rtz, rtne, got rtp

// -----

%x = "test.op"() : () -> f32
%y = tt.fp_to_fp %x : f32 -> i32
// CHECK: tt.fp_to_fp: expected a float to become a float, got f32 to i32

// -----

%x = "test.op"() : () -> i32
%y = tt.precise_sqrt %x : i32
// CHECK: tt.precise_sqrt: expected floats, got i32

// -----

%x = "test.op"() : () -> f32
%y = tt.mulhiui %x, %x : f32
// CHECK: tt.mulhiui: expected integers, got f32

// -----

%x = "test.op"() : () -> f32
%y = tt.clampf %x, %x, %x, propagateNan = some : f32
// CHECK: expected one of none, all, got some

// -----

%x = "test.op"() : () -> f32
tt.foo %x : f32
// CHECK: unknown operation 'tt.foo', did you mean 'tt.dot'?
