// RUN: coopc-opt %s -p 'convert-coopmatrix-to-xe{device=bmg}' --split-input-file --verify-diagnostics 2>&1 | filecheck %s
// RUN: not coopc-opt %root/examples/gemm.mlir -p 'convert-coopmatrix-to-xe{device=lavapipe}' 2>&1 | filecheck %s --check-prefix DEVICE
// RUN: not coopc-opt %root/examples/gemm.mlir -p 'convert-coopmatrix-to-xe{device=bmg2}' 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: not coopc-opt %root/examples/gemm.mlir -p 'convert-coopmatrix-to-xe' 2>&1 | filecheck %s --check-prefix NONE

// What cannot be converted is named, with the reason and the numbers.

// DEVICE: error: convert-coopmatrix-to-xe: expected a device with DPAS, got lavapipe
// UNKNOWN: error: convert-coopmatrix-to-xe: unknown device 'bmg2', did you mean 'bmg'?
// NONE: error: convert-coopmatrix-to-xe: expected a device, convert-coopmatrix-to-xe{device=..}, or simt.target on the module, got neither

func.func @columns(%a: memref<64x64xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  // CHECK: coopmatrix.load: expected N to be a multiple of 16 (DPAS operand c on bmg), got 24 in !coopmatrix.matrix<8x24xf32, acc>
  %x = coopmatrix.load %a[%c0, %c0] row_major : memref<64x64xf32> -> !coopmatrix.matrix<8x24xf32, acc>
  func.return
}

// -----

func.func @rows_of_b(%a: memref<64x64xi8>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  // CHECK: coopmatrix.load: expected K to be a multiple of 32 (DPAS operand b on bmg), got 16 in !coopmatrix.matrix<16x16xi8, b>
  %x = coopmatrix.load %a[%c0, %c0] row_major : memref<64x64xi8> -> !coopmatrix.matrix<16x16xi8, b>
  func.return
}

// -----

func.func @element(%x: f64) attributes {simt.kernel} {
  // CHECK: coopmatrix.fill: expected elements of 8, 16 or 32 bits, got f64
  %0 = coopmatrix.fill %x : f64 -> !coopmatrix.matrix<8x16xf64, acc>
  func.return
}

// -----

func.func @scope(%x: f32) attributes {simt.kernel} {
  // CHECK: coopmatrix.fill: expected a matrix that a subgroup holds, got scope workgroup
  %0 = coopmatrix.fill %x : f32 -> !coopmatrix.matrix<8x16xf32, acc, scope = workgroup>
  func.return
}

// -----

func.func @single_precision(%a: !coopmatrix.matrix<8x8xf32, a>, %b: !coopmatrix.matrix<8x16xf32, b>, %c: !coopmatrix.matrix<8x16xf32, acc>) {
  // CHECK: coopmatrix.mul_add: expected elements of f16, bf16 or i8, which DPAS multiplies exactly, got !coopmatrix.matrix<8x8xf32, a>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x8xf32, a>, !coopmatrix.matrix<8x16xf32, b>, !coopmatrix.matrix<8x16xf32, acc>
  func.return
}

// -----

func.func @mixed(%a: !coopmatrix.matrix<8x16xf16, a>, %b: !coopmatrix.matrix<16x16xbf16, b>, %c: !coopmatrix.matrix<8x16xf32, acc>) {
  // CHECK: coopmatrix.mul_add: expected a and b of one type, got !coopmatrix.matrix<8x16xf16, a> and !coopmatrix.matrix<16x16xbf16, b>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x16xbf16, b>, !coopmatrix.matrix<8x16xf32, acc>
  func.return
}

// -----

func.func @saturating(%a: !coopmatrix.matrix<8x32xi8, a>, %b: !coopmatrix.matrix<32x16xi8, b>, %c: !coopmatrix.matrix<8x16xi32, acc>) {
  // CHECK: coopmatrix.mul_add: expected an accumulator that wraps around, as DPAS has, got saturating
  %d = coopmatrix.mul_add %a, %b, %c saturating : !coopmatrix.matrix<8x32xi8, a>, !coopmatrix.matrix<32x16xi8, b>, !coopmatrix.matrix<8x16xi32, acc>
  func.return
}

// -----

func.func @sum(%a: !coopmatrix.matrix<8x16xbf16, a>, %b: !coopmatrix.matrix<16x16xbf16, b>, %c: !coopmatrix.matrix<8x16xf16, acc>) {
  // CHECK: coopmatrix.mul_add: expected a c of f32 or bf16, which DPAS adds to, got !coopmatrix.matrix<8x16xf16, acc>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xbf16, a>, !coopmatrix.matrix<16x16xbf16, b>, !coopmatrix.matrix<8x16xf16, acc>
  func.return
}

// -----

func.func @result(%a: !coopmatrix.matrix<8x16xf16, a>, %b: !coopmatrix.matrix<16x16xf16, b>, %c: !coopmatrix.matrix<8x16xf16, acc>) {
  // CHECK: coopmatrix.mul_add: expected c and a result of one type, got !coopmatrix.matrix<8x16xf16, acc> and !coopmatrix.matrix<8x16xf32, acc>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<8x16xf16, acc> -> !coopmatrix.matrix<8x16xf32, acc>
  func.return
}

// -----

func.func @lanes_of_bytes(%x: !coopmatrix.matrix<8x32xi8, acc>) {
  // CHECK: coopmatrix.convert: expected elements to stay in their lanes, which those of !coopmatrix.matrix<8x32xi8, acc> do not in !coopmatrix.matrix<8x32xi8, a>
  %y = coopmatrix.convert %x : !coopmatrix.matrix<8x32xi8, acc> -> !coopmatrix.matrix<8x32xi8, a>
  func.return
}

// -----

func.func @elements(%x: !coopmatrix.matrix<8x16xf32, acc>, %i: index) {
  // CHECK: coopmatrix.extract: coopmatrix.extract is not converted to xe: coopc-lanes and coopc-khr compile kernels that reach single elements
  %y = coopmatrix.extract %x[%i] : !coopmatrix.matrix<8x16xf32, acc>
  func.return
}

// -----

func.func @volatile(%a: memref<64x64xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  // CHECK: coopmatrix.load: volatile accesses are not converted to xe
  %x = coopmatrix.load %a[%c0, %c0] row_major volatile : memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  func.return
}

// -----

// CHECK: func.func: expected a work-group size that is a multiple of 16, so that all subgroups are full, got 24 work-items
func.func @part_of_a_subgroup(%x: f32) attributes {simt.kernel, simt.work_group_size = array<i32: 24>} {
  %0 = coopmatrix.fill %x : f32 -> !coopmatrix.matrix<8x16xf32, acc>
  func.return
}

// -----

// CHECK: func.func: expected a kernel of 16 lanes, got 32
func.func @narrow(%x: f32) attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %0 = coopmatrix.fill %x : f32 -> !coopmatrix.matrix<8x16xf32, acc>
  func.return
}
func.func @wide(%x: f32) attributes {simt.kernel, simt.subgroup_size = 32 : i32} {
  func.return
}

// -----

// CHECK: coopmatrix.fill: expected a repeatCount of at least 2, the rows of C that 32 lanes hold at a time, got 1, in !coopmatrix.matrix<1x16xf32, acc>
func.func @one_row(%x: f32) attributes {simt.kernel, simt.subgroup_size = 32 : i32} {
  %0 = coopmatrix.fill %x : f32 -> !coopmatrix.matrix<1x16xf32, acc>
  func.return
}

// -----

coopmatrix.spec_constant @M = 8 : i32
// CHECK: coopmatrix.spec_constant: expected coopc-khr: only modules of SPIR-V are specialized
