// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// A read releases nothing, and a write acquires nothing.

%m, %i = "test.op"() : () -> (memref<64x64xf32>, index)
%a = coopmatrix.atomic_load %m[%i, %i] row_major release : memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
// CHECK: coopmatrix.atomic_load: expected relaxed, acquire or sequentially_consistent, the orderings that coopmatrix.atomic_load can have, got release

// -----

%m, %i, %c = "test.op"() : () -> (memref<64x64xf32>, index, !coopmatrix.matrix<8x16xf32, acc>)
coopmatrix.atomic_store %c, %m[%i, %i] row_major acquire_release : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
// CHECK: coopmatrix.atomic_store: expected relaxed, release or sequentially_consistent, the orderings that coopmatrix.atomic_store can have, got acquire_release

// -----

%m, %i, %c = "test.op"() : () -> (memref<64x64xi4>, index, !coopmatrix.matrix<8x16xi4, acc>)
%o = coopmatrix.atomic_add %c, %m[%i, %i] row_major relaxed : !coopmatrix.matrix<8x16xi4, acc>, memref<64x64xi4> -> !coopmatrix.matrix<8x16xi4, acc>
// CHECK: coopmatrix.atomic_add: expected elements of 8 bits or more, which atomics need, got i4

// -----

%m, %i, %c = "test.op"() : () -> (memref<64x64xf32>, index, !coopmatrix.matrix<8x16xf32, acc>)
%o = coopmatrix.atomic_add %c, %m[%i, %i] row_major relaxed : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, a>
// CHECK: coopmatrix.atomic_add: expected a result of !coopmatrix.matrix<8x16xf32, acc>, the type of the value, got !coopmatrix.matrix<8x16xf32, a>

// -----

// Only integers have a sign.

%m, %i, %c = "test.op"() : () -> (memref<64x64xf32>, index, !coopmatrix.matrix<8x16xf32, acc>)
%o = coopmatrix.atomic_max signed %c, %m[%i, %i] row_major relaxed : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
// CHECK: coopmatrix.atomic_max: expected integers, which can be signed, got f32

// -----

%m, %i, %c = "test.op"() : () -> (memref<64x64xf16>, index, !coopmatrix.matrix<8x16xf16, acc>)
%o = coopmatrix.atomic_min signed %c, %m[%i, %i] row_major relaxed : !coopmatrix.matrix<8x16xf16, acc>, memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, acc>
// CHECK: coopmatrix.atomic_min: expected integers, which can be signed, got f16

// -----

%m, %i, %c = "test.op"() : () -> (memref<64x64xf32, strided<[0, 1]>>, index, !coopmatrix.matrix<8x16xf32, acc>)
coopmatrix.atomic_store %c, %m[%i, %i] row_major relaxed : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32, strided<[0, 1]>>
// CHECK: coopmatrix.atomic_store: expected strides greater than 0: a store would write elements over each other, got memref<64x64xf32, strided<[0, 1]>>

// -----

%m, %i, %c = "test.op"() : () -> (memref<64x64xf32>, index, !coopmatrix.matrix<8x16xf32, acc>)
%o = coopmatrix.atomic_add %c, %m[%i] row_major relaxed : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
// CHECK: coopmatrix.atomic_add: expected 2 positions, one for each dimension of the memref, got 1

// -----

%m, %i = "test.op"() : () -> (memref<64x64xf32>, index)
%a = coopmatrix.atomic_load %m[%i, %i] row_major : memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
// CHECK: :50: error: expected one of relaxed, acquire, release, acquire_release, sequentially_consistent
