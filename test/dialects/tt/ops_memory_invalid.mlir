// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Pointers, masks and blocks that do not fit.
%x, %i = "test.op"() : () -> (f32, i32)
%y = tt.addptr %x, %i : f32, i32
// CHECK: tt.addptr: expected ptr to be a pointer or a tensor of pointers, got f32

// -----

%x, %i = "test.op"() : () -> (!tt.ptr<f32>, f32)
%y = tt.addptr %x, %i : !tt.ptr<f32>, f32
// CHECK: tt.addptr: expected offset to be of integers, got f32

// -----

%x, %i = "test.op"() : () -> (tensor<4x!tt.ptr<f32>>, tensor<8xi32>)
%y = tt.addptr %x, %i : tensor<4x!tt.ptr<f32>>, tensor<8xi32>
// CHECK: tt.addptr: expected offset of shape 4, as ptr, got 8

// -----

%x, %i = "test.op"() : () -> (tensor<4x!tt.ptr<f32>>, i32)
%y = tt.addptr %x, %i : tensor<4x!tt.ptr<f32>>, i32
// CHECK: tt.addptr: expected offset to be a tensor, as ptr, got i32

// -----

%x = "test.op"() : () -> f32
%y = tt.load %x : f32
// CHECK: expected a pointer or a tensor of pointers, got f32

// -----

%x = "test.op"() : () -> !tt.ptr<f32>
%y = tt.load %x : !tt.ptr<f32> -> f16
// CHECK: expected f32, which !tt.ptr<f32> points to, got f16

// -----

%x = "test.op"() : () -> !tt.ptr<f32>
%y = tt.load %x, %x, %x, %x : !tt.ptr<f32>
// CHECK: expected 1 to 3 operands, ptr, mask, other, got 4

// -----

%x = "test.op"() : () -> !tt.ptr<f32>
%y = tt.load %x cacheModifier = xx : !tt.ptr<f32>
// CHECK: expected one of none, ca, cg, wb, cs, wt, cv, got xx

// -----

%x = "test.op"() : () -> !tt.ptr<f32>
%y = tt.load %x cacheModifier = ca cacheModifier = cg : !tt.ptr<f32>
// CHECK: expected cacheModifier once, got it again

// -----

%x = "test.op"() : () -> !tt.ptr<f32>
%y = tt.load %x {cache = 9 : i32} : !tt.ptr<f32>
// CHECK: tt.load: expected an i32 of 1 (none), 2 (ca), 3 (cg), 4 (wb), 5 (cs), 6 (wt), 7 (cv), got 9 : i32

// -----

%x = "test.op"() : () -> !tt.ptr<f32>
%y = tt.load %x {ttig.block_io = "diagonal"} : !tt.ptr<f32>
// CHECK: tt.load: expected ttig.block_io to be "row_major" or "column_major", got "diagonal"

// -----

%x, %m = "test.op"() : () -> (tensor<4x!tt.ptr<f32>>, tensor<8xi1>)
%y = "tt.load"(%x, %m) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<4x!tt.ptr<f32>>, tensor<8xi1>) -> tensor<4xf32>
// CHECK: tt.load: expected mask of shape 4, as ptr, got 8

// -----

%x, %m = "test.op"() : () -> (tensor<4x!tt.ptr<f32>>, tensor<4xi8>)
%y = "tt.load"(%x, %m) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<4x!tt.ptr<f32>>, tensor<4xi8>) -> tensor<4xf32>
// CHECK: tt.load: expected a mask of i1, got tensor<4xi8>

// -----

%x, %o = "test.op"() : () -> (tensor<4x!tt.ptr<f32>>, tensor<4xf32>)
%y = "tt.load"(%x, %o) <{operandSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<4x!tt.ptr<f32>>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: tt.load: expected a mask, as there is an other, got none

// -----

%x, %m, %o = "test.op"() : () -> (tensor<4x!tt.ptr<f32>>, tensor<4xi1>, tensor<4xf16>)
%y = "tt.load"(%x, %m, %o) <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<4x!tt.ptr<f32>>, tensor<4xi1>, tensor<4xf16>) -> tensor<4xf32>
// CHECK: tt.load: expected other to be tensor<4xf32>, as ptr points to, got tensor<4xf16>

// -----

%x = "test.op"() : () -> !tt.ptr<f32>
%y = "tt.load"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!tt.ptr<f32>) -> f16
// CHECK: tt.load: expected the result to be f32, as ptr points to, got f16

// -----

%x = "test.op"() : () -> f32
%y = "tt.load"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (f32) -> f32
// CHECK: tt.load: expected ptr to be a pointer or a tensor of pointers, got f32

// -----

%x = "test.op"() : () -> !tt.ptr<f32>
%y = tt.load %x {boundaryCheck = array<i32: 0>} : !tt.ptr<f32>
// CHECK: tt.load: boundaryCheck requires a block pointer, got [0] for an ordinary pointer

// -----

%x = "test.op"() : () -> !tt.ptr<tensor<8x16xf32>>
%y = tt.load %x {boundaryCheck = array<i32: 0, 2>} : !tt.ptr<tensor<8x16xf32>>
// CHECK: tt.load: expected boundaryCheck of dimensions 0 to 1, got [0, 2]

// -----

%x, %m = "test.op"() : () -> (!tt.ptr<tensor<8x16xf32>>, tensor<8x16xi1>)
%y = tt.load %x, %m : !tt.ptr<tensor<8x16xf32>>
// CHECK: tt.load: expected boundaryCheck, as ptr is a block pointer, got a mask

// -----

%x, %v = "test.op"() : () -> (!tt.ptr<f32>, f16)
"tt.store"(%x, %v) : (!tt.ptr<f32>, f16) -> ()
// CHECK: tt.store: expected value to be f32, as ptr points to, got f16

// -----

%x = "test.op"() : () -> !tt.ptr<f32>
tt.store %x : !tt.ptr<f32>
// CHECK: expected 2 to 3 operands, ptr, value, mask, got 1

// -----

%p, %n, %s, %i = "test.op"() : () -> (!tt.ptr<f16>, i32, i64, i64)
%b = tt.make_tensor_ptr %p, [%s, %s], [%s, %s], [%n, %n] {order = array<i32: 1, 0>} : <f16>
// CHECK: expected a pointer to a tensor, got !tt.ptr<f16>

// -----

%p, %n, %s, %i = "test.op"() : () -> (!tt.ptr<f16>, i32, i64, i64)
%b = tt.make_tensor_ptr %p, [%s], [%s], [%n] {order = array<i32: 1, 0>} : <tensor<8x16xf16>>
// CHECK: tt.make_tensor_ptr: expected 2 sizes, strides and offsets, the rank of 8x16, got 1

// -----

%p, %n, %s, %i = "test.op"() : () -> (!tt.ptr<f16>, i32, i64, i64)
%b = tt.make_tensor_ptr %p, [%s, %s], [%s, %s], [%n, %n] {order = array<i32: 1, 1>} : <tensor<8x16xf16>>
// CHECK: tt.make_tensor_ptr: expected order to permute 2 dimensions, got [1, 1]

// -----

%p, %n, %s, %i = "test.op"() : () -> (!tt.ptr<f16>, i32, i64, i64)
%b = "tt.make_tensor_ptr"(%p, %s, %s, %n) <{order = array<i32: 0>}> : (!tt.ptr<f16>, i64, i64, i32) -> !tt.ptr<tensor<8xf32>>
// CHECK: tt.make_tensor_ptr: expected base to point to f32, as the block has, got f16

// -----

%p, %n, %s, %i = "test.op"() : () -> (!tt.ptr<f16>, i32, i64, i64)
%b = "tt.make_tensor_ptr"(%p, %s, %s, %n) <{order = array<i32: 0>}> : (!tt.ptr<f16>, i64, i64, i32) -> !tt.ptr<f16>
// CHECK: tt.make_tensor_ptr: expected a pointer to a tensor, got f16

// -----

%p, %n, %s, %i = "test.op"() : () -> (!tt.ptr<f16>, i32, i64, i64)
%b = tt.advance %p, [%n] : <f16>
// CHECK: tt.advance: expected ptr to be a block pointer, got !tt.ptr<f16>

// -----

%b, %n = "test.op"() : () -> (!tt.ptr<tensor<8x16xf16>>, i32)
%c = tt.advance %b, [%n] : <tensor<8x16xf16>>
// CHECK: tt.advance: expected 2 offsets, the rank of 8x16, got 1

// -----

%p, %n, %s, %i = "test.op"() : () -> (!tt.ptr<f16>, i32, i64, i64)
%d = tt.make_tensor_descriptor %p, [%n], [%s] : <f16>, <8x16xf16>
// CHECK: tt.make_tensor_descriptor: expected 2 sizes and strides, the rank of 8x16, got 1

// -----

%p, %n, %s, %i = "test.op"() : () -> (!tt.ptr<f16>, i32, i64, i64)
%d = tt.make_tensor_descriptor %p, [%n, %n], [%s, %s] : <f16>, <8x16xf32>
// CHECK: tt.make_tensor_descriptor: expected base to point to f32, as the block has, got f16

// -----

%p, %n, %s, %i = "test.op"() : () -> (!tt.ptr<f16>, i32, i64, i64)
%d = tt.make_tensor_descriptor %p, [%n, %n], [%s, %s] {padding = 0 : i32} : <f16>, <8x16xf16>
// CHECK: expected an i32 of 1 (zero), 2 (nan), got 0 : i32

// -----

%p, %n, %s, %i = "test.op"() : () -> (!tt.ptr<f16>, i32, i64, i64)
%x = tt.descriptor_load %p[%n, %n] : !tt.ptr<f16> -> tensor<8x16xf16>
// CHECK: tt.descriptor_load: expected desc to be a !tt.tensordesc, got !tt.ptr<f16>

// -----

%d, %n = "test.op"() : () -> (!tt.tensordesc<8x16xf16>, i32)
%x = tt.descriptor_load %d[%n] : !tt.tensordesc<8x16xf16> -> tensor<8x16xf16>
// CHECK: tt.descriptor_load: expected 2 indices, the rank of 8x16, got 1

// -----

%d, %n = "test.op"() : () -> (!tt.tensordesc<8x16xf16>, i32)
%x = tt.descriptor_load %d[%n, %n] : !tt.tensordesc<8x16xf16> -> tensor<16x8xf16>
// CHECK: tt.descriptor_load: expected the result of shape 8x16, a block of desc, got 16x8

// -----

%d, %n = "test.op"() : () -> (!tt.tensordesc<8x16xf16>, i32)
%x = tt.descriptor_load %d[%n, %n] {ttig.block_io = "column_major"} : !tt.tensordesc<8x16xf16> -> tensor<8x16xf16>
// CHECK: tt.descriptor_load: expected the result of shape 16x8, a block of desc, got 8x16

// -----

%d, %n = "test.op"() : () -> (!tt.tensordesc<8x16xf16>, i32)
%x = tt.descriptor_load %d[%n, %n] : !tt.tensordesc<8x16xf16> -> tensor<8x16xf32>
// CHECK: tt.descriptor_load: expected the result to be of f16, as desc has, got f32

// -----

%d, %n = "test.op"() : () -> (!tt.tensordesc<8x16xf16>, i32)
%x = tt.descriptor_load %d[%n, %n] : !tt.tensordesc<8x16xf16> -> tensor<16xf16>
// CHECK: tt.descriptor_load: expected the result of shape 8x16, a block of desc, got 16

// -----

%d, %n, %x = "test.op"() : () -> (!tt.tensordesc<8x16xf16>, i32, tensor<8x8xf16>)
tt.descriptor_store %d[%n, %n], %x : !tt.tensordesc<8x16xf16>, tensor<8x8xf16>
// CHECK: tt.descriptor_store: expected src of shape 8x16, a block of desc, got 8x8

// -----

%d, %n, %r = "test.op"() : () -> (!tt.tensordesc<8x16xf16>, i32, tensor<4xi32>)
%x = tt.descriptor_gather %d[%r, %n] : (!tt.tensordesc<8x16xf16>, tensor<4xi32>, i32) -> tensor<4x16xf16>
// CHECK: tt.descriptor_gather: expected desc with blocks of one row, got 8x16

// -----

%d, %n, %r = "test.op"() : () -> (!tt.tensordesc<1x16xf16>, i32, tensor<4xi64>)
%x = tt.descriptor_gather %d[%r, %n] : (!tt.tensordesc<1x16xf16>, tensor<4xi64>, i32) -> tensor<4x16xf16>
// CHECK: tt.descriptor_gather: expected x_offsets of i32, got tensor<4xi64>

// -----

%d, %n, %r = "test.op"() : () -> (!tt.tensordesc<1x16xf16>, i32, tensor<4xi32>)
%x = tt.descriptor_gather %d[%r, %n] : (!tt.tensordesc<1x16xf16>, tensor<4xi32>, i32) -> tensor<8x16xf16>
// CHECK: tt.descriptor_gather: expected the result of shape 4x16, a row for each of x_offsets, columns as desc has, got 8x16

// -----

%x = "test.op"() : () -> !tt.ptr<f16, -1>
// CHECK: expected an address space of at least 0, got -1

// -----

%p, %n, %s = "test.op"() : () -> (f32, i32, i64)
%d = tt.make_tensor_descriptor %p, [%n, %n], [%s, %s] : f32, <8x16xf16>
// CHECK: expected a type !tt.ptr, got f32

// -----

%x = "test.op"() : () -> !tt.tensordesc<8x?xf16>
// CHECK: expected a block of rank 1 or more with known sizes, got 8x?

// -----

%x = "test.op"() : () -> !tt.tensordesc<f16>
// CHECK: expected a block of rank 1 or more with known sizes, got a scalar

// -----

%x = "test.op"() : () -> !tt.tensordesc<*xf16>
// CHECK: expected a block with known sizes

// -----

%x = "test.op"() : () -> !tt.tensordesc<8x!tt.ptr<f16>>
// CHECK: expected elements that are integers or floats, got !tt.ptr<f16>
