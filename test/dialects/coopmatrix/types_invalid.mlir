// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Types that no work-items can share out, and text that is no type.

"test.op"() {t = !coopmatrix.matrix<?x16xf16, a>} : () -> ()
// CHECK: :18: error: expected a static number of rows, 1 or more: who holds what is decided when a kernel is compiled, got ?

// -----

"test.op"() {t = !coopmatrix.matrix<8x0xf16, a>} : () -> ()
// CHECK: :18: error: expected a static number of columns, 1 or more: who holds what is decided when a kernel is compiled, got 0

// -----

// 0x is no hexadecimal number here.
"test.op"() {t = !coopmatrix.matrix<0x16xf16, a>} : () -> ()
// CHECK: :18: error: expected a static number of rows, 1 or more: who holds what is decided when a kernel is compiled, got 0

// -----

"test.op"() {t = !coopmatrix.matrix<8xf16, a>} : () -> ()
// CHECK: :37: error: expected a matrix of rank 2, got 1

// -----

"test.op"() {t = !coopmatrix.matrix<8x16x2xf16, a>} : () -> ()
// CHECK: :37: error: expected a matrix of rank 2, got 3

// -----

"test.op"() {t = !coopmatrix.matrix<8x16xindex, a>} : () -> ()
// CHECK: :18: error: expected elements of f4E2M1FN, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, f32, f64 or an integer, got index

// -----

"test.op"() {t = !coopmatrix.matrix<8x16xtf32, a>} : () -> ()
// CHECK: :18: error: expected elements of f4E2M1FN, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, f32, f64 or an integer, got tf32

// -----

// The sign belongs to the operation.
"test.op"() {t = !coopmatrix.matrix<8x16xui8, a>} : () -> ()
// CHECK: :18: error: expected signless integers: operations have the sign, got ui8

// -----

"test.op"() {t = !coopmatrix.matrix<8x16xi1, a>} : () -> ()
// CHECK: :18: error: expected integers of 4, 8, 16, 32 or 64 bits, got i1

// -----

"test.op"() {t = !coopmatrix.matrix<8x16xf16>} : () -> ()
// CHECK: :45: error: Expected ','

// -----

"test.op"() {t = !coopmatrix.matrix<8x16xf16, c>} : () -> ()
// CHECK: :47: error: expected one of a, b, acc, none

// -----

"test.op"() {t = !coopmatrix.matrix<8x16xf16, a, workgroup>} : () -> ()
// CHECK: :50: error: Expected 'scope'

// -----

"test.op"() {t = !coopmatrix.matrix<8x16xf16, a, scope = warp>} : () -> ()
// CHECK: :58: error: expected one of cross_device, device, queue_family, workgroup, subgroup, invocation

// -----

"test.op"() {t = !coopmatrix.matrix<8 16 f16, a>} : () -> ()
// CHECK: :39: error: Expected 'x' in shape delimiter

// -----

"test.op"() {checked = #coopmatrix.checked()} : () -> ()
// CHECK: :24: error: expected rows, cols or both to be checked, got none

// -----

"test.op"() {signed = #coopmatrix.signed()} : () -> ()
// CHECK: :23: error: expected a, b, c or result to be signed, got none

// -----

"test.op"() {t = !coopmatrix.matrix<4x15xf16>} : () -> ()
// CHECK: :45: error: Expected ',': the use of the matrix, one of a, b, acc, none
