// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// A matrix needs two dimensions of memory.

%m, %i = "test.op"() : () -> (memref<64xf16>, index)
%a = coopmatrix.load %m[%i] row_major : memref<64xf16> -> !coopmatrix.matrix<8x16xf16, a>
// CHECK: coopmatrix.load: expected a memref of rank 2 or more, got memref<64xf16>: its last two dimensions hold the matrix

// -----

%m, %i = "test.op"() : () -> (memref<2x64x64xf16>, index)
%a = coopmatrix.load %m[%i, %i] row_major : memref<2x64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
// CHECK: coopmatrix.load: expected 3 positions, one for each dimension of the memref, got 2

// -----

%m, %i = "test.op"() : () -> (memref<64x64xf16>, index)
%a = coopmatrix.load %m[%i, %i] row_major checked(rows) : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf32, a>
// CHECK: coopmatrix.load: expected a memref of f32, the element type of the matrix, got f16

// -----

%m, %i = "test.op"() : () -> (memref<64x64xvector<4xindex>>, index)
%a = coopmatrix.load %m[%i, %i] row_major : memref<64x64xvector<4xindex>> -> !coopmatrix.matrix<8x16xf32, a>
// CHECK: coopmatrix.load: expected a memref of numbers or of vectors of numbers, expected elements of f4E2M1FN, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, f32, f64 or an integer, got index

// -----

// A layout that is no strides says nothing of where a row is.

%m, %i = "test.op"() : () -> (memref<64x64xf16, affine_map<(d0, d1) -> (d0 floordiv 8, d1)>>, index)
%a = coopmatrix.load %m[%i, %i] row_major : memref<64x64xf16, affine_map<(d0, d1) -> (d0 floordiv 8, d1)>> -> !coopmatrix.matrix<8x16xf16, a>
// CHECK: coopmatrix.load: expected a memref with strides, got layout affine_map<(d0, d1) -> ((d0 floordiv 8), d1)>

// -----

%m, %i = "test.op"() : () -> (memref<64x64xf16>, index)
%a = coopmatrix.load %m[%i, %i] row_major alignment = 24 : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
// CHECK: coopmatrix.load: expected an alignment that is a power of two, got 24

// -----

%m, %i = "test.op"() : () -> (memref<64x64xf16>, index)
%a = "coopmatrix.load"(%m, %i, %i) <{layout = #coopmatrix<layout row_major>, alignment = 0 : i64}> : (memref<64x64xf16>, index, index) -> !coopmatrix.matrix<8x16xf16, a>
// CHECK: coopmatrix.load: expected an alignment that is a power of two, got 0

// -----

%m, %i = "test.op"() : () -> (memref<64x64xf16>, index)
%a = coopmatrix.load %m[%i, %i] packed : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
// CHECK: coopmatrix.load: expected use b, the one with a packed layout, got a

// -----

%m, %i = "test.op"() : () -> (memref<64x64xf64>, index)
%a = coopmatrix.load %m[%i, %i] packed : memref<64x64xf64> -> !coopmatrix.matrix<8x16xf64, b>
// CHECK: coopmatrix.load: expected elements of at most 32 bits, the width of a packed channel, got f64

// -----

%m, %i = "test.op"() : () -> (memref<64x64xi8>, index)
%a = coopmatrix.load %m[%i, %i] packed : memref<64x64xi8> -> !coopmatrix.matrix<6x16xi8, b>
// CHECK: coopmatrix.load: expected rows in groups of 4, as many as a channel of 32 bits packs, got 6

// -----

%m, %i = "test.op"() : () -> (memref<64x64xf16>, index)
%a = coopmatrix.load %m[%i, %i] diagonal : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
// CHECK: :33: error: expected one of row_major, col_major, packed, row_blocked, col_blocked

// -----

%m, %i = "test.op"() : () -> (memref<64x64xf16>, index)
%a = coopmatrix.load %m[%i, %i] row_major checked(diagonal) : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
// CHECK: :51: error: expected one of rows, cols

// -----

%m, %i = "test.op"() : () -> (memref<64x64xf16>, index)
%a = coopmatrix.load %m[%i, %i] row_major : memref<64x64xf16> -> vector<8xf16>
// CHECK: vector<8xf16> should be of base attribute coopmatrix.matrix

// -----

%m, %i, %c = "test.op"() : () -> (memref<64xf32>, index, !coopmatrix.matrix<8x16xf32, acc>)
coopmatrix.store %c, %m[%i] row_major : !coopmatrix.matrix<8x16xf32, acc>, memref<64xf32>
// CHECK: coopmatrix.store: expected a memref of rank 2 or more, got memref<64xf32>: its last two dimensions hold the matrix

// -----

%m, %i, %c = "test.op"() : () -> (memref<64x64xf32, strided<[0, 1]>>, index, !coopmatrix.matrix<8x16xf32, acc>)
coopmatrix.store %c, %m[%i, %i] row_major : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32, strided<[0, 1]>>
// CHECK: coopmatrix.store: expected strides greater than 0: a store would write elements over each other, got memref<64x64xf32, strided<[0, 1]>>

// -----

%m, %i = "test.op"() : () -> (memref<64x64xf16>, index)
coopmatrix.prefetch %m[%i, %i] row_major : memref<64x64xf16>, !coopmatrix.matrix<8x16xf32, a>
// CHECK: coopmatrix.prefetch: expected a memref of f32, the element type of the matrix, got f16

// -----

%m, %i = "test.op"() : () -> (memref<64x64xf16>, index)
coopmatrix.prefetch %m[%i, %i] row_major level = 0 : memref<64x64xf16>, !coopmatrix.matrix<8x16xf16, a>
// CHECK: coopmatrix.prefetch: expected a level of 1, the nearest cache, or more, got 0

// -----

%m, %i = "test.op"() : () -> (memref<8x8xf32>, index)
%a = coopmatrix.load %m[%i, %i] row_major available = device : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
// CHECK: coopmatrix.load: expected available on a store only, as SPIR-V has MakePointerAvailable, got it on coopmatrix.load

// -----

%m, %i, %a = "test.op"() : () -> (memref<8x8xf32>, index, !coopmatrix.matrix<8x8xf32, acc>)
coopmatrix.store %a, %m[%i, %i] row_major visible = device : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
// CHECK: coopmatrix.store: expected visible on a load only, as SPIR-V has MakePointerVisible, got it on coopmatrix.store

// -----

%m, %i = "test.op"() : () -> (memref<8x8xi32>, index)
%a = coopmatrix.load %m[%i, %i] row_major : memref<8x8xi32> -> !coopmatrix.matrix<8x8xi4, acc>
// CHECK: coopmatrix.load: expected a memref of i4, the element type of the matrix, got i32

// -----

// Blocks of 4 rows and 16 bytes.
%m, %i = "test.op"() : () -> (memref<2x64xf16>, index)
%a = coopmatrix.load %m[%i, %i] row_blocked : memref<2x64xf16> -> !coopmatrix.matrix<8x12xf16, a>
// CHECK: coopmatrix.load: expected multiples of 4 rows and 8 columns, a block of f16, got 8 x 12

// -----

%m, %i = "test.op"() : () -> (memref<2x96xf16>, index)
%a = coopmatrix.load %m[%i, %i] row_blocked interleave = 2 : memref<2x96xf16> -> !coopmatrix.matrix<8x24xf16, a>
// CHECK: coopmatrix.load: expected interleave to divide 3, the blocks of a row, got 2

// -----

%m, %i = "test.op"() : () -> (memref<2x64xf16>, index)
%a = coopmatrix.load %m[%i, %i] col_blocked interleave = 4 : memref<2x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
// CHECK: coopmatrix.load: expected interleave to divide 2, the blocks of a column, got 4

// -----

// SPIR-V has no place for a pitch: rows of blocks follow each other.
%m, %i = "test.op"() : () -> (memref<2x128xf16>, index)
%a = coopmatrix.load %m[%i, %i] row_blocked : memref<2x128xf16> -> !coopmatrix.matrix<8x16xf16, a>
// CHECK: coopmatrix.load: expected a memref with rows of 64 elements, 2 blocks, got memref<2x128xf16>

// -----

%m, %i = "test.op"() : () -> (memref<2x64xf16>, index)
%a = coopmatrix.load %m[%i, %i] row_blocked checked(rows) : memref<2x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
// CHECK: coopmatrix.load: expected no checks of an access to blocks

// -----

%m, %i = "test.op"() : () -> (memref<2x64xf16>, index)
%a = coopmatrix.load %m[%i, %i] row_major interleave = 2 : memref<2x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
// CHECK: coopmatrix.load: expected interleave of blocks only, got row_major

// -----

%m, %i = "test.op"() : () -> (memref<2x64xf64>, index)
%a = coopmatrix.load %m[%i, %i] row_blocked : memref<2x64xf64> -> !coopmatrix.matrix<8x16xf64, a>
// CHECK: coopmatrix.load: expected a matrix of known sizes and of elements of 8, 16 or 32 bits in blocks, got !coopmatrix.matrix<8x16xf64, a>

// -----

%m, %i = "test.op"() : () -> (memref<2x64xf16>, index)
coopmatrix.prefetch %m[%i, %i] row_blocked : memref<2x64xf16>, !coopmatrix.matrix<8x16xf16, a>
// CHECK: coopmatrix.prefetch: expected a load or a store, as no other access is row_blocked
