// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Loads by 2D blocks, fields of descriptors and prefetches that do not fit.
%p, %i = "test.op"() : () -> (!tt.ptr<f16>, i32)
%x = ttig.2d_block_load %p, %i, %i[%i, %i] {row_major} : !tt.ptr<f16> -> tensor<8x16xf16>
// CHECK: :25: error: expected 4 operands, base, width, height, pitch, got 3

// -----

%p, %i = "test.op"() : () -> (!tt.ptr<f16>, i32)
%x = ttig.2d_block_load %p, %i, %i, %i[%i, %i] {diagonal} : !tt.ptr<f16> -> tensor<8x16xf16>
// CHECK: Expected one of 'column_major', 'row_major'

// -----

%p, %i = "test.op"() : () -> (!tt.ptr<f16>, i32)
%x = ttig.2d_block_load %p, %i, %i, %i[%i, %i] {row_major} : !tt.ptr<f16> -> tensor<16xf16>
// CHECK: ttig.2d_block_load: expected a result of rank 2 or more, got 16

// -----

%p, %i = "test.op"() : () -> (!tt.ptr<f16>, i32)
%x = ttig.2d_block_load %p, %i, %i, %i[%i, %i] {row_major} : !tt.ptr<f16> -> tensor<8x16xf32>
// CHECK: ttig.2d_block_load: expected the result to be of f16, as base points to, got f32

// -----

%p, %i = "test.op"() : () -> (tensor<8x16xf16>, i32)
%x = ttig.2d_block_load_from_ptr %p, %i {row_major} {base_height = 8 : i32, base_width = 64 : i32} : (tensor<8x16xf16>, i32) -> tensor<8x16xf16>
// CHECK: ttig.2d_block_load_from_ptr: expected a tensor of pointers, got tensor<8x16xf16>

// -----

%p, %i, %m = "test.op"() : () -> (tensor<8x16x!tt.ptr<f16>>, i32, tensor<8x16xi1>)
%x = ttig.2d_block_load_from_ptr %p, %i, %m {row_major} {base_height = 8 : i32, base_width = 64 : i32} : (tensor<8x16x!tt.ptr<f16>>, i32, tensor<8x16xi1>) -> tensor<8x16xf16>
// CHECK: ttig.2d_block_load_from_ptr: expected other, as there is mask, got none

// -----

%p, %i = "test.op"() : () -> (tensor<8x16x!tt.ptr<f16>>, i32)
%x = ttig.2d_block_load_from_ptr %p, %i {row_major} {base_height = 8 : i32, base_width = 64 : i32} : (tensor<8x16x!tt.ptr<f16>>, i32) -> tensor<8x16xf32>
// CHECK: ttig.2d_block_load_from_ptr: expected the result to be tensor<8x16xf16>, as ptr points to, got tensor<8x16xf32>

// -----

%p, %i = "test.op"() : () -> (tensor<8x16x!tt.ptr<f16>>, i32)
%x = ttig.2d_block_load_from_ptr %p, %i {row_major} {base_height = 8 : i32} : (tensor<8x16x!tt.ptr<f16>>, i32) -> tensor<8x16xf16>
// CHECK: ttig.2d_block_load_from_ptr: property 'base_width' expected in operation 'ttig.2d_block_load_from_ptr'

// -----

%d = "test.op"() : () -> !tt.tensordesc<8x16xf16>
%x = ttig.extract_desc %d[5] : <8x16xf16> -> i64
// CHECK: ttig.extract_desc: expected field 0 to 4 of a descriptor of rank 2, got 5

// -----

%d = "test.op"() : () -> !tt.tensordesc<8x16xf16>
%x = ttig.extract_desc %d[4] : <8x16xf16> -> i64
// CHECK: ttig.extract_desc: expected field 4 to be !tt.ptr<f16>, got i64

// -----

%d = "test.op"() : () -> f32
%x = ttig.extract_desc %d[4] : f32 -> i64
// CHECK: expected a type !tt.tensordesc, got f32

// -----

%p = "test.op"() : () -> f32
ttig.prefetch %p {cache = 1 : i32, evict = 1 : i32, isVolatile = false} : f32
// CHECK: expected a pointer or a tensor of pointers, got f32

// -----

%p = "test.op"() : () -> f32
"ttig.prefetch"(%p) <{cache = 1 : i32, evict = 1 : i32, isVolatile = false}> : (f32) -> ()
// CHECK: ttig.prefetch: expected ptr to be a pointer or a tensor of pointers, got f32

// -----

%p = "test.op"() : () -> !tt.ptr<f32>
ttig.prefetch %p : !tt.ptr<f32>
// CHECK: ttig.prefetch: property 'cache' expected in operation 'ttig.prefetch'

// -----

%p, %m = "test.op"() : () -> (tensor<8x!tt.ptr<f32>>, tensor<8xi8>)
"ttig.prefetch"(%p, %m) <{cache = 1 : i32, evict = 1 : i32, isVolatile = false}> : (tensor<8x!tt.ptr<f32>>, tensor<8xi8>) -> ()
// CHECK: ttig.prefetch: expected a mask of i1, got tensor<8xi8>

// -----

%p, %m = "test.op"() : () -> (tensor<8x!tt.ptr<f32>>, tensor<4xi1>)
"ttig.prefetch"(%p, %m) <{cache = 1 : i32, evict = 1 : i32, isVolatile = false}> : (tensor<8x!tt.ptr<f32>>, tensor<4xi1>) -> ()
// CHECK: ttig.prefetch: expected mask of shape 8, as ptr, got 4

// -----

%d, %i = "test.op"() : () -> (!tt.tensordesc<8x16xf16>, i32)
ttig.descriptor_prefetch %d[%i] : !tt.tensordesc<8x16xf16>
// CHECK: ttig.descriptor_prefetch: expected 2 indices, the rank of 8x16, got 1

// -----

%p, %x = "test.op"() : () -> (!tt.ptr<f16, 3>, tensor<8x16xf16>)
%y = ttig.sub_group_transpose %p, %x : tensor<8x16xf16>
// CHECK: ttig.sub_group_transpose: expected src of as many rows as columns, got tensor<8x16xf16>

// -----

%p, %x = "test.op"() : () -> (!tt.ptr<f16>, tensor<16x16xf16>)
%y = "ttig.sub_group_transpose"(%p, %x) : (!tt.ptr<f16>, tensor<16x16xf16>) -> tensor<16x16xf16>
// CHECK: ttig.sub_group_transpose: expected local_buffer to be !tt.ptr<f16, 3>, for 16x16 elements, got !tt.ptr<f16>
