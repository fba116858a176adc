// RUN: %roundtrip

// Functions, programs, ranges, messages, casts and what `arith` lacks.

// CHECK-LABEL: tt.func private @external(f32) -> f32
tt.func private @external(f32) -> f32

// CHECK-LABEL: tt.func private @twice(%x: f32) -> f32
tt.func private @twice(%x: f32) -> f32 {
  // CHECK-NEXT: %y = arith.addf %x, %x : f32
  %y = arith.addf %x, %x : f32
  // CHECK-NEXT: tt.return %y : f32
  tt.return %y : f32
}

// CHECK-LABEL: tt.func public @kernel(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32) attributes {noinline = false}
tt.func public @kernel(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32) attributes {noinline = false} {
  // CHECK-NEXT: %x = tt.get_program_id x : i32
  %x = tt.get_program_id x : i32
  // CHECK-NEXT: %y = tt.get_program_id y {note} : i32
  %y = tt.get_program_id y {note} : i32
  // CHECK-NEXT: %z = tt.get_num_programs z : i32
  %z = tt.get_num_programs z : i32
  // CHECK-NEXT: %f = arith.sitofp %n : i32 to f32
  %f = arith.sitofp %n : i32 to f32
  // CHECK-NEXT: %g = tt.call @twice(%f) : (f32) -> f32
  %g = tt.call @twice(%f) : (f32) -> f32
  // CHECK-NEXT: %h = tt.call @twice(%f) {note} : (f32) -> f32
  %h = tt.call @twice(%f) {note} : (f32) -> f32
  // CHECK-NEXT: %r = tt.make_range {end = 64 : i32, start = 32 : i32} : tensor<32xi32>
  %r = tt.make_range {end = 64 : i32, start = 32 : i32} : tensor<32xi32>
  // CHECK-NEXT: tt.print " x: " {hex = true, isSigned = array<i32: 1, 0>} : %x, %r : i32, tensor<32xi32>
  tt.print " x: " {hex = true, isSigned = array<i32: 1, 0>} : %x, %r : i32, tensor<32xi32>
  // CHECK-NEXT: tt.print "here" {hex = false}
  tt.print "here" {hex = false}
  // CHECK-NEXT: %c = arith.cmpi slt, %x, %n : i32
  %c = arith.cmpi slt, %x, %n : i32
  // CHECK-NEXT: tt.assert %c, "inside" : i1
  tt.assert %c, "inside" : i1
  // CHECK-NEXT: %d = arith.cmpi slt, %r, %r : tensor<32xi32>
  %d = arith.cmpi slt, %r, %r : tensor<32xi32>
  // CHECK-NEXT: tt.assert %d, "all of them" {note} : tensor<32xi1>
  tt.assert %d, "all of them" {note} : tensor<32xi1>
  // CHECK-NEXT: tt.return
  tt.return
}

// CHECK-LABEL: tt.func @casts(%i: i64, %f: tensor<16xf32>, %p: tensor<16x!tt.ptr<i1>>)
tt.func @casts(%i: i64, %f: tensor<16xf32>, %p: tensor<16x!tt.ptr<i1>>) {
  // CHECK-NEXT: %a = tt.int_to_ptr %i : i64 -> !tt.ptr<f32>
  %a = tt.int_to_ptr %i : i64 -> !tt.ptr<f32>
  // CHECK-NEXT: %b = tt.ptr_to_int %a : !tt.ptr<f32> -> i64
  %b = tt.ptr_to_int %a : !tt.ptr<f32> -> i64
  // CHECK-NEXT: %c = tt.bitcast %p : tensor<16x!tt.ptr<i1>> -> tensor<16x!tt.ptr<i8>>
  %c = tt.bitcast %p : tensor<16x!tt.ptr<i1>> -> tensor<16x!tt.ptr<i8>>
  // CHECK-NEXT: %d = tt.bitcast %f : tensor<16xf32> -> tensor<16xi32>
  %d = tt.bitcast %f : tensor<16xf32> -> tensor<16xi32>
  // CHECK-NEXT: %e = tt.fp_to_fp %f, rounding = rtne : tensor<16xf32> -> tensor<16xf8E5M2>
  %e = tt.fp_to_fp %f, rounding = rtne : tensor<16xf32> -> tensor<16xf8E5M2>
  // CHECK-NEXT: %g = tt.fp_to_fp %f {note}, rounding = rtz : tensor<16xf32> -> tensor<16xbf16>
  %g = tt.fp_to_fp %f {note}, rounding = rtz : tensor<16xf32> -> tensor<16xbf16>
  // CHECK-NEXT: %h = tt.fp_to_fp %e : tensor<16xf8E5M2> -> tensor<16xf16>
  %h = tt.fp_to_fp %e : tensor<16xf8E5M2> -> tensor<16xf16>
  // CHECK-NEXT: tt.return
  tt.return
}

// CHECK-LABEL: tt.func @math(%f: tensor<16xf32>, %s: f32, %i: tensor<16xi32>)
tt.func @math(%f: tensor<16xf32>, %s: f32, %i: tensor<16xi32>) {
  // CHECK-NEXT: %a = tt.clampf %f, %f, %f, propagateNan = none : tensor<16xf32>
  %a = tt.clampf %f, %f, %f, propagateNan = none : tensor<16xf32>
  // CHECK-NEXT: %b = tt.clampf %s, %s, %s, propagateNan = all {note} : f32
  %b = tt.clampf %s, %s, %s, propagateNan = all {note} : f32
  // CHECK-NEXT: %c = tt.precise_sqrt %f : tensor<16xf32>
  %c = tt.precise_sqrt %f : tensor<16xf32>
  // CHECK-NEXT: %d = tt.precise_divf %s, %s : f32
  %d = tt.precise_divf %s, %s : f32
  // CHECK-NEXT: %e = tt.mulhiui %i, %i : tensor<16xi32>
  %e = tt.mulhiui %i, %i : tensor<16xi32>
  // CHECK-NEXT: tt.return
  tt.return
}
