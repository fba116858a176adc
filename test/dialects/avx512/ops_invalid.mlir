// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Types that no instruction multiplies, and vectors that do not match the sums.

func.func @words(%a: vector<16xi16>, %c: vector<8xi32>) {
  // CHECK: expected bf16 * bf16 + f32 or i8 * i8 + i32, got i16 * i16 + i32
  %x = avx512.dot %a, %a, %c : vector<16xi16>, vector<8xi32>
  func.return
}

// -----

func.func @float_sums(%a: vector<16xi8>, %c: vector<4xf32>) {
  // CHECK: expected bf16 * bf16 + f32 or i8 * i8 + i32, got i8 * i8 + f32
  %x = avx512.dot %a, %a, %c : vector<16xi8>, vector<4xf32>
  func.return
}

// -----

func.func @half(%a: vector<16xbf16>, %c: vector<16xf32>) {
  // CHECK: expected 2 N of bf16 for N accumulators, a multiple of 4, got vector<16xbf16> for vector<16xf32>
  %x = avx512.dot %a, %a, %c : vector<16xbf16>, vector<16xf32>
  func.return
}

// -----

func.func @two(%a: vector<8xi8>, %c: vector<2xi32>) {
  // CHECK: expected 4 N of i8 for N accumulators, a multiple of 4, got vector<8xi8> for vector<2xi32>
  %x = avx512.dot %a, %a, %c : vector<8xi8>, vector<2xi32>
  func.return
}

// -----

func.func @part(%a: vector<24xf32>) {
  // CHECK: expected vectors of the same size, a multiple of 16, got vector<24xf32> and vector<24xbf16>
  %x = avx512.truncf %a : vector<24xf32> -> vector<24xbf16>
  func.return
}
