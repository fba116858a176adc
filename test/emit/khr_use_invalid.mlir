// RUN: not coopc-opt %s -t 'spirv{device=lavapipe}' 2>&1 | filecheck %s

// A use of 7.
// CHECK: error: expected one of a, b, acc, none, got 7
%a = "test.op"() : () -> !coopmatrix.matrix<8x8xf32, 7>
