// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Products and reductions whose shapes, elements or encodings do not fit.
%a, %b, %c = "test.op"() : () -> (tensor<4xf16>, tensor<4xf16>, tensor<4xf32>)
%d = tt.dot %a, %b, %c : tensor<4xf16> * tensor<4xf16> -> tensor<4xf32>
// CHECK: tt.dot: expected a of rank 2, or 3 with a batch, got 4

// -----

%a, %b, %c = "test.op"() : () -> (tensor<8x16xf16>, tensor<2x16x8xf16>, tensor<8x8xf32>)
%d = tt.dot %a, %b, %c : tensor<8x16xf16> * tensor<2x16x8xf16> -> tensor<8x8xf32>
// CHECK: tt.dot: expected b to be of rank 2, as a, got 2x16x8

// -----

%a, %b, %c = "test.op"() : () -> (tensor<2x8x16xf16>, tensor<4x16x8xf16>, tensor<2x8x8xf32>)
%d = tt.dot %a, %b, %c : tensor<2x8x16xf16> * tensor<4x16x8xf16> -> tensor<2x8x8xf32>
// CHECK: tt.dot: expected b to have a batch of 2, as a, got 4

// -----

%a, %b, %c = "test.op"() : () -> (tensor<8x16xf16>, tensor<8x8xf16>, tensor<8x8xf32>)
%d = tt.dot %a, %b, %c : tensor<8x16xf16> * tensor<8x8xf16> -> tensor<8x8xf32>
// CHECK: tt.dot: expected b to have K = 16 rows, as a, got 8

// -----

%a, %b, %c = "test.op"() : () -> (tensor<8x16xf16>, tensor<16x8xf16>, tensor<8x16xf32>)
%d = tt.dot %a, %b, %c : tensor<8x16xf16> * tensor<16x8xf16> -> tensor<8x16xf32>
// CHECK: tt.dot: expected c of shape 8x8, M of a and N of b, got 8x16

// -----

%a, %b, %c = "test.op"() : () -> (tensor<8x16xf16>, tensor<16x8xbf16>, tensor<8x8xf32>)
%d = tt.dot %a, %b, %c : tensor<8x16xf16> * tensor<16x8xbf16> -> tensor<8x8xf32>
// CHECK: tt.dot: expected b of f16, as a, got bf16

// -----

%a, %b, %c = "test.op"() : () -> (tensor<8x16x!tt.ptr<f16>>, tensor<16x8xf16>, tensor<8x8xf32>)
%d = tt.dot %a, %b, %c : tensor<8x16x!tt.ptr<f16>> * tensor<16x8xf16> -> tensor<8x8xf32>
// CHECK: tt.dot: expected a of integers or floats, got !tt.ptr<f16>

// -----

%a, %b, %c = "test.op"() : () -> (tensor<8x16xi8>, tensor<16x8xi8>, tensor<8x8xf32>)
%d = tt.dot %a, %b, %c : tensor<8x16xi8> * tensor<16x8xi8> -> tensor<8x8xf32>
// CHECK: tt.dot: expected c of integers, as a and b, got f32

// -----

%a, %b, %c = "test.op"() : () -> (tensor<8x16xf16>, tensor<16x8xf16>, tensor<8x8xi32>)
%d = tt.dot %a, %b, %c : tensor<8x16xf16> * tensor<16x8xf16> -> tensor<8x8xi32>
// CHECK: tt.dot: expected c of floats, as a and b, got i32

// -----

#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>
#dot_a = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#dot_b = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
%a, %b, %c = "test.op"() : () -> (tensor<16x16xf16, #dot_a>, tensor<16x32xf16, #dot_b>, tensor<16x32xf32>)
%d = tt.dot %a, %b, %c : tensor<16x16xf16, #dot_a> * tensor<16x32xf16, #dot_b> -> tensor<16x32xf32>
// CHECK: tt.dot: expected c in #ttig.dpas or #ttg.blocked, as a and b have encodings, got tensor<16x32xf32>

// -----

#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>
#dot_a = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#dot_b = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
%a, %b, %c = "test.op"() : () -> (tensor<16x16xf16, #dot_a>, tensor<16x32xf16>, tensor<16x32xf32, #dpas>)
%d = tt.dot %a, %b, %c : tensor<16x16xf16, #dot_a> * tensor<16x32xf16> -> tensor<16x32xf32, #dpas>
// CHECK: tt.dot: expected b in #ttg.dot_op with opIdx = 1 and the parent #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1], A = [8, 16], B = [16, 16], C = [8, 16]}>, as c, got no encoding

// -----

#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>
#dot_a = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#dot_b = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
%a, %b, %c = "test.op"() : () -> (tensor<16x16xf16, #dot_b>, tensor<16x32xf16, #dot_b>, tensor<16x32xf32, #dpas>)
%d = tt.dot %a, %b, %c : tensor<16x16xf16, #dot_b> * tensor<16x32xf16, #dot_b> -> tensor<16x32xf32, #dpas>
// CHECK: tt.dot: expected a in #ttg.dot_op with opIdx = 0 and the parent #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1], A = [8, 16], B = [16, 16], C = [8, 16]}>, as c, got #ttg.dot_op<{opIdx = 1, parent = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1], A = [8, 16], B = [16, 16], C = [8, 16]}>, kWidth = 2}>

// -----

#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>
#dot_a = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#dot_b = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
%a, %b, %c = "test.op"() : () -> (tensor<16x16xf32, #dot_a>, tensor<16x32xf32, #dot_b>, tensor<16x32xf32, #dpas>)
%d = tt.dot %a, %b, %c : tensor<16x16xf32, #dot_a> * tensor<16x32xf32, #dot_b> -> tensor<16x32xf32, #dpas>
// CHECK: tt.dot: expected a of 16 bits, as opsPerChan = 2 packs in a channel of 32, got 32 in f32

// -----

#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>
#dot_a = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#dot_b = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
%a, %b, %c = "test.op"() : () -> (tensor<16x16xi8, #dot_a>, tensor<16x32xi8, #dot_b>, tensor<16x32xi32, #dpas>)
%d = tt.dot %a, %b, %c : tensor<16x16xi8, #dot_a> * tensor<16x32xi8, #dot_b> -> tensor<16x32xi32, #dpas>
// CHECK: tt.dot: expected a of 16 bits, as opsPerChan = 2 packs in a channel of 32, got 8 in i8

// -----

%a, %b, %c = "test.op"() : () -> (tensor<8x16xf16>, tensor<16x8xf16>, tensor<8x8xf32>)
%d = tt.dot %a, %b, %c, inputPrecision = tf64 : tensor<8x16xf16> * tensor<16x8xf16> -> tensor<8x8xf32>
// CHECK: expected one of tf32, tf32x3, ieee, bf16x3, bf16x6, got tf64

// -----

%y = "tt.reduce"() <{axis = 0 : i32}> ({
^bb0:
  "tt.reduce.return"() : () -> ()
}) : () -> f32
// CHECK: tt.reduce: expected a tensor to combine, got none

// -----

%x = "test.op"() : () -> tensor<8x16xf32>
%y = "tt.reduce"(%x) <{axis = 2 : i32}> ({
^bb0(%a: f32, %b: f32):
  tt.reduce.return %a : f32
}) : (tensor<8x16xf32>) -> tensor<8xf32>
// CHECK: tt.reduce: expected axis 0 to 1, a dimension of 8x16, got 2

// -----

%x = "test.op"() : () -> tensor<8x16xf32>
%y = "tt.reduce"(%x) <{axis = 1 : i32}> ({
^bb0(%a: f32, %b: f32):
  tt.reduce.return %a : f32
}) : (tensor<8x16xf32>) -> tensor<16xf32>
// CHECK: tt.reduce: expected the result of shape 8, the source without dimension 1, got 16

// -----

%x = "test.op"() : () -> tensor<8xf32>
%y = "tt.reduce"(%x) <{axis = 0 : i32}> ({
^bb0(%a: f32, %b: f32):
  tt.reduce.return %a : f32
}) : (tensor<8xf32>) -> f16
// CHECK: tt.reduce: expected the result to be of f32, as the source, got f16

// -----

%x, %z = "test.op"() : () -> (tensor<8xf32>, tensor<16xf32>)
%y, %w = "tt.reduce"(%x, %z) <{axis = 0 : i32}> ({
^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
  tt.reduce.return %a, %b : f32, f32
}) : (tensor<8xf32>, tensor<16xf32>) -> (f32, f32)
// CHECK: tt.reduce: expected source 1 of shape 8, as source 0, got 16

// -----

%x = "test.op"() : () -> tensor<8xf32>
%y, %w = "tt.reduce"(%x) <{axis = 0 : i32}> ({
^bb0(%a: f32, %b: f32):
  tt.reduce.return %a : f32
}) : (tensor<8xf32>) -> (f32, f32)
// CHECK: tt.reduce: expected 1 results, one of each source, got 2

// -----

%x = "test.op"() : () -> tensor<8xf32>
%y = "tt.reduce"(%x) <{axis = 0 : i32}> ({
^bb0(%a: f32):
  tt.reduce.return %a : f32
}) : (tensor<8xf32>) -> f32
// CHECK: tt.reduce: expected a region with arguments (f32, f32), two elements of each source, got (f32)

// -----

%x = "test.op"() : () -> tensor<8xf32>
%y = "tt.reduce"(%x) <{axis = 0 : i32}> ({
^bb0(%a: f32, %b: f32):
  "test.termop"(%a) : (f32) -> ()
}) : (tensor<8xf32>) -> f32
// CHECK: tt.reduce: expected a region that ends in tt.reduce.return, got test.termop

// -----

%x = "test.op"() : () -> tensor<8xf32>
%y = "tt.reduce"(%x) <{axis = 0 : i32}> ({
^bb0(%a: f32, %b: f32):
  tt.reduce.return %a, %b : f32, f32
}) : (tensor<8xf32>) -> f32
// CHECK: tt.reduce: expected tt.reduce.return of (f32), an element of each source, got (f32, f32)

// -----

#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>
#dot_a = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#dot_b = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
%x = "test.op"() : () -> tensor<16x32xf32, #dpas>
%y = "tt.reduce"(%x) <{axis = 1 : i32}> ({
^bb0(%a: f32, %b: f32):
  tt.reduce.return %a : f32
}) : (tensor<16x32xf32, #dpas>) -> tensor<16xf32>
// CHECK: tt.reduce: expected the result to have an encoding, as the source, got no encoding

// -----

#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>
#dot_a = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#dot_b = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
#s = #ttg.slice<{dim = 0, parent = #dpas}>
%x = "test.op"() : () -> tensor<16x32xf32, #dpas>
%y = "tt.reduce"(%x) <{axis = 1 : i32}> ({
^bb0(%a: f32, %b: f32):
  tt.reduce.return %a : f32
}) : (tensor<16x32xf32, #dpas>) -> tensor<16xf32, #s>
// CHECK: tt.reduce: expected the result to have a #ttg.slice along dim = 1 of the source's encoding #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1], A = [8, 16], B = [16, 16], C = [8, 16]}>, got #ttg.slice<{dim = 0, parent = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1], A = [8, 16], B = [16, 16], C = [8, 16]}>}>
