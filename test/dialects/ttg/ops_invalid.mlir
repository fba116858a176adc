// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Layouts and buffers that do not fit.
#a = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
%x = "test.op"() : () -> tensor<16x16xf32, #a>
%y = ttg.convert_layout %x : tensor<16x16xf32, #a> -> tensor<16x8xf32, #a>
// CHECK: ttg.convert_layout: expected the result of shape 16x16, as src, got 16x8

// -----

#a = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
%x = "test.op"() : () -> tensor<16x16xf32, #a>
%y = ttg.convert_layout %x : tensor<16x16xf32, #a> -> tensor<16x16xf16, #a>
// CHECK: ttg.convert_layout: expected the result to be of f32, as src, got f16

// -----

#a = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
%x = "test.op"() : () -> tensor<16x16xf32, #a>
%y = ttg.convert_layout %x : tensor<16x16xf32, #a> -> tensor<16x16xf32>
// CHECK: ttg.convert_layout: expected src and the result to have encodings, got tensor<16x16xf32, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>> and tensor<16x16xf32>

// -----

#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#m = #ttg.shared_memory
%a = ttg.local_alloc : () -> !ttg.memdesc<8x16xf16, #s, #m>
// CHECK: ttg.local_alloc: expected an initial value, as the buffer is not mutable, in !ttg.memdesc<8x16xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #ttg.shared_memory>

// -----

#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#m = #ttg.shared_memory
%x = "test.op"() : () -> tensor<8x8xf16>
%a = ttg.local_alloc %x : (tensor<8x8xf16>) -> !ttg.memdesc<8x16xf16, #s, #m>
// CHECK: ttg.local_alloc: expected init of shape 8x16, as the buffer, got 8x8

// -----

#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#m = #ttg.shared_memory
%a = "test.op"() : () -> !ttg.memdesc<8x16xf16, #s, #m>
%x = ttg.local_load %a : !ttg.memdesc<8x16xf16, #s, #m> -> tensor<8x16xf32>
// CHECK: ttg.local_load: expected the result to be of f16, as the buffer, got f32

// -----

#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#m = #ttg.shared_memory
%a, %x = "test.op"() : () -> (!ttg.memdesc<8x16xf16, #s, #m>, tensor<8x16xf16>)
ttg.local_store %x, %a : tensor<8x16xf16> -> !ttg.memdesc<8x16xf16, #s, #m>
// CHECK: ttg.local_store: expected dst to be mutable, got !ttg.memdesc<8x16xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #ttg.shared_memory>

// -----

#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#m = #ttg.shared_memory
%a = "test.op"() : () -> !ttg.memdesc<8x16xf16, #s, #m>
%b = ttg.memdesc_trans %a {order = array<i32: 1, 1>} : !ttg.memdesc<8x16xf16, #s, #m> -> !ttg.memdesc<16x8xf16, #s, #m>
// CHECK: ttg.memdesc_trans: expected order to permute 2 dimensions, got [1, 1]

// -----

#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#m = #ttg.shared_memory
%a = "test.op"() : () -> !ttg.memdesc<8x16xf16, #s, #m>
%b = ttg.memdesc_trans %a {order = array<i32: 1, 0>} : !ttg.memdesc<8x16xf16, #s, #m> -> !ttg.memdesc<8x16xf16, #s, #m>
// CHECK: ttg.memdesc_trans: expected the result of shape 16x8, 8x16 in the order [1, 0], got 8x16

// -----

#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#m = #ttg.shared_memory
%a, %i = "test.op"() : () -> (!ttg.memdesc<3x8x16xf16, #s, #m>, i32)
%b = ttg.memdesc_index %a[%i] : !ttg.memdesc<3x8x16xf16, #s, #m> -> !ttg.memdesc<8x8xf16, #s, #m>
// CHECK: ttg.memdesc_index: expected the result of shape 8x16, src without its first dimension, got 8x8

// -----

#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#m = #ttg.shared_memory
%a, %i = "test.op"() : () -> (!ttg.memdesc<3x8x16xf16, #s, #m>, i32)
%b = ttg.memdesc_index %a[%i] : !ttg.memdesc<3x8x16xf16, #s, #m> -> !ttg.memdesc<8x16xf16, #s, #m, mutable>
// CHECK: ttg.memdesc_index: expected the result to be not mutable, as src, got !ttg.memdesc<8x16xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #ttg.shared_memory, mutable>

// -----

#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#m = #ttg.shared_memory
%a = "test.op"() : () -> !ttg.memdesc<8x16xf16, #s, #m>
%b = ttg.memdesc_subslice %a [0] : !ttg.memdesc<8x16xf16, #s, #m> -> !ttg.memdesc<8x8xf16, #s, #m, 8x16>
// CHECK: ttg.memdesc_subslice: expected 2 offsets and sizes, as src has, got 1 and 2

// -----

#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#m = #ttg.shared_memory
%a = "test.op"() : () -> !ttg.memdesc<8x16xf16, #s, #m>
%b = ttg.memdesc_subslice %a [0, 12] : !ttg.memdesc<8x16xf16, #s, #m> -> !ttg.memdesc<8x8xf16, #s, #m, 8x16>
// CHECK: ttg.memdesc_subslice: expected a part of dimension 1, 0 to 16, got 12 to 20

// -----

#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#m = #ttg.shared_memory
%a = "test.op"() : () -> !ttg.memdesc<8x16xf16, #s, #m, 4x16>
// CHECK: expected a part of 4x16, got 8x16

// -----

#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#m = #ttg.shared_memory
%a = "test.op"() : () -> !ttg.memdesc<8x?xf16, #s, #m>
// CHECK: expected a buffer with known sizes, got 8x?

// -----

ttg.barrier everything
// CHECK: Expected one of 'all', 'global_read', 'global_write', 'local', 'none', 'tensor_read', 'tensor_write'

// -----

"ttg.barrier"() <{addrSpace = 32 : i32}> : () -> ()
// CHECK: ttg.barrier: expected addrSpace of 0 to 31, got 32
