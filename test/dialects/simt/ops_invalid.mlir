// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Lanes exchange numbers and vectors of them.

%v, %i = "test.op"() : () -> (memref<4xf32>, index)
%w = simt.broadcast %v, %i : memref<4xf32>
// CHECK: simt.broadcast: expected a number or a vector of numbers, got memref<4xf32>

// -----

%v, %i = "test.op"() : () -> (!coopmatrix.matrix<4x4xf32, acc>, index)
%w = simt.shuffle xor %v, %i : !coopmatrix.matrix<4x4xf32, acc>
// CHECK: simt.shuffle: expected a number or a vector of numbers, got !coopmatrix.matrix<4x4xf32, acc>

// -----

%v, %i = "test.op"() : () -> (i32, index)
%w = simt.shuffle left %v, %i : i32
// CHECK: :19: error: expected one of idx, xor, up, down

// -----

%v, %i = "test.op"() : () -> (i32, index)
%w = "simt.broadcast"(%v, %i) : (i32, index) -> i64
// CHECK: attribute i32 expected from variable 'T', but got i64

// -----

%v = "test.op"() : () -> f32
%w = simt.reduce xor %v : f32
// CHECK: simt.reduce: expected integers, as xor needs, got f32

// -----

// Only integers have a sign, and only max and min ask for it.

%v = "test.op"() : () -> vector<4xf32>
%w = simt.reduce max signed %v : vector<4xf32>
// CHECK: simt.reduce: expected max or min of integers, which can be signed, got max of f32

// -----

%v = "test.op"() : () -> i32
%w = simt.reduce add signed %v : i32
// CHECK: simt.reduce: expected max or min of integers, which can be signed, got add of i32

// -----

%x = simt.local_id w : index
// CHECK: :20: error: expected one of x, y, z

// -----

simt.barrier device
// CHECK: :14: error: expected one of workgroup, subgroup

// -----

// A block is contiguous: lane l reads element l.

%m, %i = "test.op"() : () -> (memref<64xf32, strided<[2]>>, index)
%v = simt.block_read %m[%i] : memref<64xf32, strided<[2]>> -> vector<4xf32>
// CHECK: simt.block_read: expected a memref whose last stride is 1: a block is contiguous, got memref<64xf32, strided<[2]>>

// -----

%m = "test.op"() : () -> memref<f32>
%v = simt.block_read %m[] : memref<f32> -> vector<4xf32>
// CHECK: simt.block_read: expected a memref whose last stride is 1: a block is contiguous, got memref<f32>

// -----

%m, %i = "test.op"() : () -> (memref<8x64xf32>, index)
%v = simt.block_read %m[%i] : memref<8x64xf32> -> vector<4xf32>
// CHECK: simt.block_read: expected 2 positions, one for each dimension of the memref, got 1

// -----

%m, %i = "test.op"() : () -> (memref<64xf32>, index)
%v = simt.block_read %m[%i] : memref<64xf32> -> vector<4xi32>
// CHECK: simt.block_read: expected a value of f32, the element type of the memref, got vector<4xi32>

// -----

%m, %i = "test.op"() : () -> (memref<64xf32>, index)
%v = simt.block_read %m[%i] : memref<64xf32> -> vector<3xf32>
// CHECK: simt.block_read: expected a vector of rank 1 with 1, 2, 4, 8 or 16 components, got vector<3xf32>

// -----

%m, %i, %v = "test.op"() : () -> (memref<64xf32>, index, vector<2x2xf32>)
simt.block_write %v, %m[%i] : vector<2x2xf32>, memref<64xf32>
// CHECK: simt.block_write: expected a vector of rank 1 with 1, 2, 4, 8 or 16 components, got vector<2x2xf32>

// -----

%m, %i, %v = "test.op"() : () -> (memref<64xi4>, index, vector<2xi4>)
simt.block_write %v, %m[%i] : vector<2xi4>, memref<64xi4>
// CHECK: simt.block_write: expected a memref of f16, bf16, f32, f64 or integers of 8, 16, 32 or 64 bits, which blocks have, got i4

// -----

simt.barrier workgroup memory = <private>
// CHECK: simt.barrier: expected memory that others see, global or workgroup, got private

// -----

%m, %i = "test.op"() : () -> (memref<8x8xf32>, index)
%v = simt.view_elements %m[%i] : memref<8x8xf32> -> memref<4x8xf16, strided<[16, 1], offset: ?>>
// CHECK: simt.view_elements: expected a memref of rank 1 or more, and a position for each dimension, got memref<8x8xf32> and 1

// -----

%m, %i = "test.op"() : () -> (memref<8x8xf32>, index)
%v = simt.view_elements %m[%i, %i] : memref<8x8xf32> -> memref<4x8xf64, strided<[4, 1], offset: ?>>
// CHECK: simt.view_elements: expected f32 to be a whole number of f64

// -----

%m, %i = "test.op"() : () -> (memref<8x8xf32>, index)
%v = simt.view_elements %m[%i, %i] : memref<8x8xf32> -> memref<4x8xf16, strided<[8, 1], offset: ?>>
// CHECK: simt.view_elements: expected a result of rank 2 with the layout strided<[16, 1], offset: ?>, got memref<4x8xf16, strided<[8, 1], offset: ?>>

// -----

%m, %i = "test.op"() : () -> (memref<8x8xf32>, index)
%v = simt.view_elements %m[%i, %i] : memref<8x8xf32> -> memref<4x8xf16, strided<[16, 1], offset: ?>, #simt.memory<private>>
// CHECK: simt.view_elements: expected a result in the memory space none, got #simt.memory<private>

// -----

%m, %i = "test.op"() : () -> (memref<8x8xf32, affine_map<(i, j) -> (j, i)>>, index)
%v = simt.view_elements %m[%i, %i] : memref<8x8xf32, affine_map<(i, j) -> (j, i)>> -> memref<4x8xf16, strided<[2, 1], offset: ?>>
// CHECK: simt.view_elements: expected a memref with strides, got memref<8x8xf32, affine_map<(d0, d1) -> (d1, d0)>>

// -----

%m = "test.op"() : () -> memref<f32, #simt.memory<workgroup>>
%a = simt.address_of %m : memref<f32, #simt.memory<workgroup>>
// CHECK: simt.address_of: expected a memref of rank 0 in the caller's memory, got memref<f32, #simt.memory<workgroup>>

// -----

%a = "test.op"() : () -> i64
%m = simt.memory_at %a : memref<4xf32>
// CHECK: simt.memory_at: expected a memref of rank 0 in the caller's memory, got memref<4xf32>

// -----

%v = "test.op"() : () -> vector<2xf16>
%w = simt.exchange %v from #layout.coopmatrix to #layout.row_slice<2x2, lanes = 2> : vector<2xf16> -> vector<2xf16>
// CHECK: simt.exchange: expected the layout of one matrix, as #layout.coopmatrix<8x16, lanes = 16> or #layout.linear<..>, got #layout.coopmatrix

// -----

%v = "test.op"() : () -> vector<2xf16>
%w = simt.exchange %v from #layout.coopmatrix<2x4, lanes = 2> to #layout.row_slice<2x4, lanes = 2> : vector<2xf16> -> vector<4xf16>
// CHECK: simt.exchange: expected values of 4 components, as the layout has for each lane, got 2

// -----

%v = "test.op"() : () -> vector<2xf16>
%w = simt.exchange %v from #layout.coopmatrix<2x2, lanes = 2> to #layout.row_slice<2x2, lanes = 2> : vector<2xf16> -> vector<2xbf16>
// CHECK: simt.exchange: expected elements of one type, got bf16 and f16

// -----

%v = "test.op"() : () -> vector<2xf16>
%w = simt.exchange %v from #layout.coopmatrix<2x2, lanes = 2> to #layout.row_slice<2x4, lanes = 2> : vector<2xf16> -> vector<4xf16>
// CHECK: simt.exchange: expected a target of 2 x 2 over 2 lanes, got 2 x 4 over 2

// -----

%v = "test.op"() : () -> vector<2xf16>
%w = simt.exchange %v from #layout.coopmatrix<2x2, lanes = 2> to #layout.row_slice<2x2, lanes = 4> : vector<2xf16> -> vector<2xf16>
// CHECK: simt.exchange: expected layouts of subgroups of one size, got 2 and 4 lanes

// -----

%v = "test.op"() : () -> vector<2xf16>
%w = simt.exchange %v from #layout.linear<(register = [[4]], lane = [[1]], warp = [[2]]) -> (x = 8)> to #layout.linear<(register = [[2]], lane = [[1]], warp = [[4]]) -> (x = 8)> : vector<2xf16> -> vector<2xf16>
// CHECK: simt.exchange: expected each subgroup to hold the elements that its lanes want, got one that another subgroup holds

// -----

%v = "test.op"() : () -> vector<2xf16>
%w = simt.exchange %v from #layout.linear<(register = [], lane = [[1]]) -> (x = 4)> to #layout.linear<(register = [[2]], lane = [[1]]) -> (x = 4)> : vector<2xf16> -> vector<2xf16>
// CHECK: simt.exchange: expected a source that holds all elements of the target, got none of the one in component 1 of lane 0

// -----

%m, %i, %x = "test.op"() : () -> (memref<?xi32>, index, i32)
%w = simt.compare_exchange %x, %x, %m[%i, %i] : i32, memref<?xi32>
// CHECK: simt.compare_exchange: expected 1 indices of memref<?xi32>, got 2

// -----

%m, %i, %x = "test.op"() : () -> (memref<?xi32>, index, f32)
%w = simt.compare_exchange %x, %x, %m[%i] : f32, memref<?xi32>
// CHECK: simt.compare_exchange: expected an element of memref<?xi32>, a number, got f32
