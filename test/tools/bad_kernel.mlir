// RUN: not coopc-opt %s -p 'coopc-khr{device=lavapipe}' -t spirv -o %t.spvasm 2>&1 | filecheck %s --check-prefix ONE
// RUN: test ! -e %t.spvasm
// RUN: coopc-opt %s -p 'coopc-khr{device=lavapipe}' -t spirv --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// What a device or a flavour does not have is refused where it stands in the text.

// ONE: {{.*}}bad_kernel.mlir:19:3: error: coopmatrix.mul_add: expected b to have K = 8 rows, got 16
// ONE-NOT: error:

// CHECK: {{.*}}bad_kernel.mlir: error: builtin.module: expected a function with simt.kernel, an entry point
func.func @no_kernel() {
  func.return
}

// -----

func.func @wrong_shape(%a : !coopmatrix.matrix<8x8xf16, a>, %b : !coopmatrix.matrix<16x8xf16, b>, %c : !coopmatrix.matrix<8x8xf32, acc>) {
  // CHECK: {{.*}}:19:3: error: coopmatrix.mul_add: expected b to have K = 8 rows, got 16
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x8xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
  func.return
}

// -----

func.func @type_of_element(%m : memref<?x?xf16>, %p : memref<?x?xf32>, %x : i2) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = coopmatrix.load %m[%c0, %c0] row_major : memref<?x?xf16> -> !coopmatrix.matrix<8x8xf16, a>
  %b = coopmatrix.load %m[%c0, %c0] row_major : memref<?x?xf16> -> !coopmatrix.matrix<8x8xf16, b>
  %c = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<8x8xf32, acc>
  // CHECK: {{.*}}:25:1: error: func.func: expected index, or numbers or memrefs of i1, i8, {{.*}}, got i2
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x8xf16, a>, !coopmatrix.matrix<8x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %d, %p[%c0, %c0] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<?x?xf32>
  func.return
}

// -----

func.func @scope(%p : memref<?x?xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: {{.*}}:43:3: error: coopmatrix.fill: expected a matrix of scope subgroup, which lavapipe has under vulkan, got device
  %c = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<8x8xf32, acc, scope = device>
  coopmatrix.store %c, %p[%c0, %c0] row_major : !coopmatrix.matrix<8x8xf32, acc, scope = device>, memref<?x?xf32>
  func.return
}

// -----

// CHECK: {{.*}}:51:1: error: func.func: expected a work-group size that is a multiple of the subgroup size 8, so that all subgroups are full, got 12 work-items
func.func @work_group_size() attributes {simt.kernel, simt.work_group_size = array<i32: 12>, simt.subgroup_size = 8 : i32} {
  func.return
}

// -----

// CHECK: {{.*}}:58:1: error: func.func: expected a subgroup size of 8, which lavapipe has, got 32
func.func @subgroup_size() attributes {simt.kernel, simt.work_group_size = array<i32: 32>, simt.subgroup_size = 32 : i32} {
  func.return
}

// -----

// CHECK: {{.*}}:65:1: error: func.func: expected a work-group of at most 1024 work-items, (1024, 1024, 1024) along x, y, z, on lavapipe, got (1024, 2, 1)
func.func @large_work_group() attributes {simt.kernel, simt.work_group_size = array<i32: 1024, 2>} {
  func.return
}

// -----

// CHECK: {{.*}}:72:1: error: func.func: expected index, or numbers or memrefs of i1, i8, i16, i32, i64, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, f32, f64, got tensor<4xf32>
func.func @argument(%t : tensor<4xf32>) attributes {simt.kernel} {
  func.return
}

// -----

func.func @operation() attributes {simt.kernel} {
  // CHECK: {{.*}}:80:3: error: test.op: SPIR-V emission has no form of test.op
  "test.op"() : () -> ()
  func.return
}
