// RUN: coopc-opt %s --split-input-file -p split-coopmatrix --verify-diagnostics | filecheck %s
// RUN: not coopc-opt %s -p 'split-coopmatrix{device=lavapip}' -o %t.mlir 2>&1 | filecheck %s --check-prefix DEVICE
// RUN: not coopc-opt %root/examples/gemm.mlir -p split-coopmatrix 2>&1 | filecheck %s --check-prefix NONE

// What is refused, where, and in which words.

// DEVICE: error: split-coopmatrix: unknown device 'lavapip', did you mean 'lavapipe'? (have lavapipe, nvidia, ampere, ada, blackwell, rdna3, rdna4, arc, xe2, dg2, pvc, bmg, lnl, ptl, intel-cpu, amx, any, driver)
// NONE: error: split-coopmatrix: expected a device, split-coopmatrix{device=..}, or simt.target on the module, got neither

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @does_not_divide(%a: !coopmatrix.matrix<20x16xf16, a>, %b: !coopmatrix.matrix<16x16xf16, b>, %c: !coopmatrix.matrix<20x16xf32, acc>) {
  // CHECK: :13:3: error: coopmatrix.mul_add: lavapipe multiplies 8x8x8 (M x N x K) for f16 * f16 + f32 -> f32; 20 x 16 by 16 x 16 does not divide into one of them
  %r = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<20x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<20x16xf32, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, nvidia>} {
func.func @smaller_than_the_device(%a: !coopmatrix.matrix<8x16xf16, a>, %b: !coopmatrix.matrix<16x16xf16, b>, %c: !coopmatrix.matrix<8x16xf16, acc>) {
  // CHECK: error: coopmatrix.mul_add: nvidia multiplies 16x16x16, 16x8x16, 16x8x8 (M x N x K) for f16 * f16 + f16 -> f16; 8 x 16 by 16 x 16 does not divide into one of them
  %r = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<8x16xf16, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @types(%a: !coopmatrix.matrix<8x8xf32, a>, %b: !coopmatrix.matrix<8x8xf32, b>, %c: !coopmatrix.matrix<8x8xf32, acc>) {
  // CHECK: error: coopmatrix.mul_add: lavapipe does not multiply f32 * f32 + f32 -> f32; it multiplies f16 * f16 + f16 -> f16; f16 * f16 + f32 -> f32; u8 * u8 + u32 -> u32; s8 * s8 + s32 -> s32
  %r = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x8xf32, a>, !coopmatrix.matrix<8x8xf32, b>, !coopmatrix.matrix<8x8xf32, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @signs(%a: !coopmatrix.matrix<8x8xi8, a>, %b: !coopmatrix.matrix<8x8xi8, b>, %c: !coopmatrix.matrix<8x8xi32, acc>) {
  // CHECK: error: coopmatrix.mul_add: lavapipe does not multiply s8 * u8 + u32 -> u32;
  %r = coopmatrix.mul_add %a, %b, %c signed(a) : !coopmatrix.matrix<8x8xi8, a>, !coopmatrix.matrix<8x8xi8, b>, !coopmatrix.matrix<8x8xi32, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @saturating(%a: !coopmatrix.matrix<8x8xi8, a>, %b: !coopmatrix.matrix<8x8xi8, b>, %c: !coopmatrix.matrix<8x8xi32, acc>) {
  // CHECK: error: coopmatrix.mul_add: lavapipe does not multiply u8 * u8 + u32 -> u32, saturating;
  %r = coopmatrix.mul_add %a, %b, %c saturating : !coopmatrix.matrix<8x8xi8, a>, !coopmatrix.matrix<8x8xi8, b>, !coopmatrix.matrix<8x8xi32, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @scope(%a: !coopmatrix.matrix<8x8xf16, a, scope = workgroup>, %b: !coopmatrix.matrix<8x8xf16, b, scope = workgroup>, %c: !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>) {
  // CHECK: error: coopmatrix.mul_add: lavapipe multiplies matrices of a subgroup, got !coopmatrix.matrix<8x8xf16, a, scope = workgroup>
  %r = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x8xf16, a, scope = workgroup>, !coopmatrix.matrix<8x8xf16, b, scope = workgroup>, !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
  func.return
}
}

// -----

// The 32 columns of the first result are 16 or 8 at a time, and K of the second, where
// only 32 will do.
module attributes {simt.target = #simt.target<vulkan, nvidia>} {
func.func @no_common_tiles(%a: !coopmatrix.matrix<16x32xi8, a>, %b: !coopmatrix.matrix<32x32xi8, b>, %c: !coopmatrix.matrix<16x32xi32, acc>) {
  %r = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<16x32xi8, a>, !coopmatrix.matrix<32x32xi8, b>, !coopmatrix.matrix<16x32xi32, acc>
  %p = coopmatrix.convert %r : !coopmatrix.matrix<16x32xi32, acc> -> !coopmatrix.matrix<16x32xi8, a>
  // CHECK: :74:3: error: coopmatrix.mul_add: nvidia multiplies 16x16x32, 16x8x32 (M x N x K) for u8 * u8 + u32 -> u32; none of them suits 16 x 32 by 32 x 32 together with the operations that it shares matrices with
  %s = coopmatrix.mul_add %p, %b, %c : !coopmatrix.matrix<16x32xi8, a>, !coopmatrix.matrix<32x32xi8, b>, !coopmatrix.matrix<16x32xi32, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, nvidia>} {
func.func @held(%x: !coopmatrix.matrix<32x16xf16, acc>) {
  // CHECK: error: coopmatrix.convert: nvidia has i8 matrices of use b of 32 x 16, 32 x 8; none of them suits 32 x 16 together with the operations that share it
  %y = coopmatrix.convert %x : !coopmatrix.matrix<32x16xf16, acc> -> !coopmatrix.matrix<32x16xi8, b>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @row_slice(%x: !coopmatrix.matrix<16x8xf16, acc>, %i: index) {
  // CHECK: error: coopmatrix.extract_row_slice: cannot split 16 x 8 for lavapipe: a row slice goes through several tiles
  %e = coopmatrix.extract_row_slice %x[%i] : !coopmatrix.matrix<16x8xf16, acc> -> vector<8xf16>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @no_rule() {
  // CHECK: error: test.op: cannot split 16 x 8 for lavapipe: there is no rule for it
  %x = "test.op"() : () -> !coopmatrix.matrix<16x8xf16, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func private @extern(!coopmatrix.matrix<16x8xf16, acc>)
func.func @no_body(%x: !coopmatrix.matrix<16x8xf16, acc>) {
  // CHECK: error: func.call: cannot split 16 x 8 for lavapipe: there is no rule for it
  func.call @extern(%x) : (!coopmatrix.matrix<16x8xf16, acc>) -> ()
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @inside_apply(%x: !coopmatrix.matrix<16x8xf16, acc>, %t: i1) {
  %y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<16x8xf16, acc> {
    // CHECK: error: arith.select: cannot split 16 x 8 for lavapipe: there is no rule for it
    %z = arith.select %t, %x, %x : !coopmatrix.matrix<16x8xf16, acc>
    coopmatrix.yield %v : f16
  }
  func.return
}
}

// -----

// The 16 rows of a are also @M rows of another product, and @M is not known.
module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
coopmatrix.spec_constant @M = 16 : i32
func.func @rows_of_unknown_number(%a: !coopmatrix.matrix<16x8xf16, a>, %b: !coopmatrix.matrix<8x8xf16, b>, %c: !coopmatrix.matrix<@M x 8 x f32, acc>, %d: !coopmatrix.matrix<16x8xf32, acc>) {
  %r = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<16x8xf16, a>, !coopmatrix.matrix<8x8xf16, b>, !coopmatrix.matrix<@M x 8 x f32, acc>
  // CHECK: error: coopmatrix.mul_add: lavapipe multiplies 8x8x8 (M x N x K) for f16 * f16 + f32 -> f32; none of them suits 16 x 8 by 8 x 8 together with the operations that it shares matrices with
  %s = coopmatrix.mul_add %a, %b, %d : !coopmatrix.matrix<16x8xf16, a>, !coopmatrix.matrix<8x8xf16, b>, !coopmatrix.matrix<16x8xf32, acc>
  func.return
}
}

// -----

// Tiles of 8 x 8 would be no blocks that follow each other.
module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @interleaved_blocks(%m: memref<4x64xf16>, %p: index) {
  // CHECK: error: coopmatrix.load: cannot split 16 x 16 for lavapipe: its blocks are interleaved in memory
  %x = coopmatrix.load %m[%p, %p] row_blocked : memref<4x64xf16> -> !coopmatrix.matrix<16x16xf16, a>
  func.return
}
}

// -----

// The second tile would begin at half a vector.
module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @half_a_vector(%m: memref<8x1xvector<8xf32>>, %p: index) {
  // CHECK: error: coopmatrix.load: expected tiles whose rows in memory are whole 256-bit pieces, which memref<8x1xvector<8xf32>> holds, got 8 elements of 16 bits
  %x = coopmatrix.load %m[%p, %p] row_major : memref<8x1xvector<8xf32>> -> !coopmatrix.matrix<8x16xf16, a>
  func.return
}
}
