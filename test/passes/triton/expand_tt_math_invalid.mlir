// RUN: coopc-opt %s -p expand-tt-math --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// A function of a library that is none of `math`; what takes f64 where there is none.

tt.func @unknown(%x: f32) {
  // CHECK: tt.extern_elementwise: expected a function of mathematics, got '__imf_j0f'
  %y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__imf_j0f"} : (f32) -> f32
  tt.return
}

// -----

tt.func @misspelled(%x: f32) {
  // CHECK: tt.extern_elementwise: expected a function of mathematics, got '__imf_tanf2', did you mean 'atan2'?
  %y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__imf_tanf2"} : (f32) -> f32
  tt.return
}

// -----

tt.func @operands(%x: f32) {
  // CHECK: tt.extern_elementwise: expected 2 operands of '__imf_powf', got 1
  %y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__imf_powf"} : (f32) -> f32
  tt.return
}

// -----

tt.func @types(%x: f32) {
  // CHECK: tt.extern_elementwise: expected floats of one type for '__imf_tanhf', got f32 to i32
  %y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__imf_tanhf"} : (f32) -> i32
  tt.return
}

// -----

tt.func @kinds(%x: f32) {
  // CHECK: tt.extern_elementwise: expected floats, integers for '__nv_ldexpf', got f32, f32 to f32
  %y = tt.extern_elementwise %x, %x {libname = "", libpath = "", pure = true, symbol = "__nv_ldexpf"} : (f32, f32) -> f32
  tt.return
}

// -----

module attributes {simt.target = #simt.target<opencl, dg2>} {
  tt.func @no_f64(%x: f32) {
    // CHECK: tt.precise_divf: expected a device with f64, in which it is rounded correctly, got one without
    %y = tt.precise_divf %x, %x : f32
    tt.return
  }
}

// -----

tt.func @six_bits(%a: tensor<16x32xi8>, %b: tensor<32x16xi8>, %c: tensor<16x16xf32>) {
  // CHECK: tt.dot_scaled: expected e2m1, e4m3, e5m2, bf16 or fp16, got e3m2
  %d = tt.dot_scaled %a, %b, %c lhs = e3m2 rhs = e4m3 {fastMath = false} : tensor<16x32xi8> * tensor<32x16xi8> -> tensor<16x16xf32>
  tt.return
}
