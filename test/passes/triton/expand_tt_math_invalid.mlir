// RUN: coopc-opt %s -p expand-tt-math --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// A function of a library that is none of `math`; what takes f64 where there is none.

tt.func @unknown(%x: f32) {
  // CHECK: tt.extern_elementwise: expected a function of mathematics, got '__imf_lgammaf'
  %y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__imf_lgammaf"} : (f32) -> f32
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

module attributes {simt.target = #simt.target<opencl, dg2>} {
  tt.func @no_f64(%x: f32) {
    // CHECK: tt.precise_divf: expected a device with f64, in which it is rounded correctly, got one without
    %y = tt.precise_divf %x, %x : f32
    tt.return
  }
}
