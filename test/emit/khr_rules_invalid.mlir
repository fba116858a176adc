// RUN: coopc-opt %s --split-input-file --verify-diagnostics -t 'spirv{device=lavapipe}' | filecheck %s

// A case for each rule of SPV_KHR_cooperative_matrix that spirv-val does not check.

// Signs of float matrices.
%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x8xf16, a>, !coopmatrix.matrix<8x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>)
// CHECK: coopmatrix.mul_add: expected a to hold integers, since it is signed, got f16
%d = coopmatrix.mul_add %a, %b, %c signed(a) : !coopmatrix.matrix<8x8xf16, a>, !coopmatrix.matrix<8x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>

// -----

// Saturation of floats.
%a, %b, %c = "test.op"() : () -> (!coopmatrix.matrix<8x8xf16, a>, !coopmatrix.matrix<8x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>)
// CHECK: coopmatrix.mul_add: expected a result of integers, which can saturate, got f32
%d = coopmatrix.mul_add %a, %b, %c saturating : !coopmatrix.matrix<8x8xf16, a>, !coopmatrix.matrix<8x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>

// -----

// A stride of 0 on a store.
%m, %i, %c = "test.op"() : () -> (memref<8x8xf32, strided<[0, 1]>>, index, !coopmatrix.matrix<8x8xf32, acc>)
// CHECK: coopmatrix.store: expected strides greater than 0: a store would write elements over each other
coopmatrix.store %c, %m[%i, %i] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32, strided<[0, 1]>>

// -----

// Integers with and without sign cannot meet: a matrix has neither.
// CHECK: error: expected signless integers: operations have the sign, got ui32
%a, %b = "test.op"() : () -> (!coopmatrix.matrix<8x8xui32, acc>, !coopmatrix.matrix<8x8xi32, acc>)
%c = coopmatrix.add %a, %b : !coopmatrix.matrix<8x8xi32, acc>

// -----

// A layout in memory without a stride.
// CHECK: coopmatrix.load: expected a memref with strides, got layout affine_map<(d0, d1) -> ((d0 floordiv 2), d1)>
%m, %i = "test.op"() : () -> (memref<8x8xf32, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>>, index)
%a = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf32, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>> -> !coopmatrix.matrix<8x8xf32, acc>

// -----

// MakePointerAvailable on a load.
// CHECK: coopmatrix.load: expected available on a store only, as SPIR-V has MakePointerAvailable, got it on coopmatrix.load
%m, %i = "test.op"() : () -> (memref<8x8xf32>, index)
%a = coopmatrix.load %m[%i, %i] row_major available = device : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>

// -----

// MakePointerVisible on a store.
// CHECK: coopmatrix.store: expected visible on a load only, as SPIR-V has MakePointerVisible, got it on coopmatrix.store
%m, %i, %a = "test.op"() : () -> (memref<8x8xf32>, index, !coopmatrix.matrix<8x8xf32, acc>)
coopmatrix.store %a, %m[%i, %i] row_major visible = device : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>

// -----

// Matrices outside of Function and Private.
// CHECK: memref.alloca: a matrix cannot be stored in memory as a whole: SPV_KHR_cooperative_matrix allows matrices only in the storage classes Function and Private
func.func @k() attributes {simt.kernel} {
  %m = memref.alloca() : memref<2x!coopmatrix.matrix<8x8xf32, acc>, #simt.memory<workgroup>>
  func.return
}

// -----

// The same, in a buffer.
// CHECK: func.func: a matrix cannot be stored in memory as a whole
func.func @k(%m: memref<2x!coopmatrix.matrix<8x8xf32, acc>>) attributes {simt.kernel} {
  func.return
}

// -----

// More than one constituent.
// CHECK: coopmatrix.fill: Expected 1 operand, but got 2
%a, %b = "test.op"() : () -> (f32, f32)
%c = "coopmatrix.fill"(%a, %b) : (f32, f32) -> !coopmatrix.matrix<8x8xf32, acc>

// -----

// A length that is no index, which is a u32 there.
// CHECK: coopmatrix.length: result 'result' at position 0 does not verify
%n = "coopmatrix.length"() {matrix_type = !coopmatrix.matrix<8x8xf32, acc>} : () -> i64

// -----

// Components that are no scalar numbers.
// CHECK: expected elements of f4E2M1FN, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, f32, f64 or an integer, got vector<4xf32>
%a = "test.op"() : () -> !coopmatrix.matrix<8x8xvector<4xf32>, acc>

// -----

// A pointer that is not into an array.
// CHECK: coopmatrix.load: expected a memref of rank 2 or more, got memref<f32>
%m = "test.op"() : () -> memref<f32>
%a = coopmatrix.load %m[] row_major : memref<f32> -> !coopmatrix.matrix<8x8xf32, acc>
