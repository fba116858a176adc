// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Shapes do not follow, or encodings would need elements to move.
%x = "test.op"() : () -> tensor<4xf32>
%y = tt.splat %x : tensor<4xf32> -> tensor<4xf32>
// CHECK: tt.splat: expected src to be a scalar, got tensor<4xf32>

// -----

%x = "test.op"() : () -> f32
%y = tt.splat %x : f32 -> tensor<4xf16>
// CHECK: tt.splat: expected the result to be of f32, as src, got f16

// -----

%x = "test.op"() : () -> tensor<4xf32>
%y = tt.expand_dims %x {axis = 2 : i32} : tensor<4xf32> -> tensor<4x1xf32>
// CHECK: tt.expand_dims: expected axis 0 to 1, got 2

// -----

%x = "test.op"() : () -> tensor<4xf32>
%y = tt.expand_dims %x {axis = 1 : i32} : tensor<4xf32> -> tensor<1x4xf32>
// CHECK: tt.expand_dims: expected the result of shape 4x1, src with a dimension at 1, got 1x4

// -----

%x = "test.op"() : () -> tensor<4xf32>
%y = tt.expand_dims %x {axis = 1 : i32} : tensor<4xf32> -> tensor<4x1xf16>
// CHECK: tt.expand_dims: expected the result to be of f32, as src, got f16

// -----

#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#c = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [0, 1]}>
#s = #ttg.slice<{dim = 1, parent = #b}>
%x = "test.op"() : () -> tensor<16xf32, #s>
%y = tt.expand_dims %x {axis = 0 : i32} : tensor<16xf32, #s> -> tensor<1x16xf32, #b>
// CHECK: tt.expand_dims: expected src to have a #ttg.slice along dim = 0 of the result's encoding #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>, got #ttg.slice<{dim = 1, parent = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>}>

// -----

#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#c = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [0, 1]}>
#s = #ttg.slice<{dim = 1, parent = #b}>
%x = "test.op"() : () -> tensor<16xf32>
%y = tt.expand_dims %x {axis = 0 : i32} : tensor<16xf32> -> tensor<1x16xf32, #b>
// CHECK: tt.expand_dims: expected the result to have no encoding, as src, got #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>

// -----

#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#c = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [0, 1]}>
#s = #ttg.slice<{dim = 1, parent = #b}>
%x = "test.op"() : () -> tensor<16xf32, #s>
%y = tt.expand_dims %x {axis = 1 : i32} : tensor<16xf32, #s> -> tensor<16x1xf32>
// CHECK: tt.expand_dims: expected the result to have an encoding, as src, got no encoding

// -----

%x = "test.op"() : () -> tensor<4x2xf32>
%y = tt.broadcast %x : tensor<4x2xf32> -> tensor<4x8xf32>
// CHECK: tt.broadcast: expected the result's dimension 1 to be 2, as src has it, got 8

// -----

%x = "test.op"() : () -> tensor<4x1xf32>
%y = tt.broadcast %x : tensor<4x1xf32> -> tensor<4xf32>
// CHECK: tt.broadcast: expected the result to be of rank 2, got 4

// -----

#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#c = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [0, 1]}>
#s = #ttg.slice<{dim = 1, parent = #b}>
%x = "test.op"() : () -> tensor<16x1xf32, #b>
%y = tt.broadcast %x : tensor<16x1xf32, #b> -> tensor<16x16xf32, #c>
// CHECK: tt.broadcast: expected the result to have #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>, as src, got #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [0, 1]}>

// -----

%x = "test.op"() : () -> tensor<4x2xf32>
%y = tt.reshape %x : tensor<4x2xf32> -> tensor<16xf32>
// CHECK: tt.reshape: expected the result to have 8 elements, as src, got 16 in 16

// -----

#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#c = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [0, 1]}>
#s = #ttg.slice<{dim = 1, parent = #b}>
%x = "test.op"() : () -> tensor<16x16xf32, #b>
%y = tt.reshape %x : tensor<16x16xf32, #b> -> tensor<32x8xf32, #c>
// CHECK: tt.reshape: expected an encoding of the result that keeps each element where src has it, got #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [0, 1]}>: register [(1, 0), (2, 0), (0, 4)], not [(0, 1), (0, 2)]; lane [(4, 0), (8, 0), (0, 1), (0, 2)], not [(0, 4), (1, 0), (2, 0), (4, 0)]

// -----

%x = "test.op"() : () -> tensor<4x2xf32>
%y = tt.trans %x {order = array<i32: 0, 0>} : tensor<4x2xf32> -> tensor<2x4xf32>
// CHECK: tt.trans: expected order to permute 2 dimensions, got [0, 0]

// -----

%x = "test.op"() : () -> tensor<4x2xf32>
%y = tt.trans %x {order = array<i32: 0, 1>} : tensor<4x2xf32> -> tensor<2x4xf32>
// CHECK: tt.trans: expected the result of shape 4x2, 4x2 in the order [0, 1], got 2x4

// -----

#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#c = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [0, 1]}>
#s = #ttg.slice<{dim = 1, parent = #b}>
%x = "test.op"() : () -> tensor<16x16xf32, #b>
%y = tt.trans %x {order = array<i32: 1, 0>} : tensor<16x16xf32, #b> -> tensor<16x16xf32, #b>
// CHECK: tt.trans: expected an encoding of the result that keeps each element where src has it, got #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>: register [(0, 1), (0, 2)], not [(1, 0), (2, 0)]; lane [(0, 4), (0, 8), (1, 0), (2, 0)], not [(4, 0), (8, 0), (0, 1), (0, 2)]
