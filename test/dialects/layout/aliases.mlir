// RUN: %roundtrip

// Long encodings of Triton are aliases too, and what they are made of is one before them.

// CHECK:      #dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [8, 4], repCluster = [4, 2], A = [32, 16], B = [16, 32], C = [32, 32]}>
// CHECK-NEXT: #dot = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
// CHECK-NEXT: #dot1 = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
// CHECK-NEXT: #blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 4], warpsPerCTA = [32, 1], order = [1, 0]}>
// CHECK-NEXT: #slice = #ttg.slice<{dim = 1, parent = #blocked}>
// CHECK-NEXT: builtin.module {

// The spelling of today, whatever the file's, and names from the attributes, whatever the file's.
#mma = #triton_intel_gpu.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [8, 4], repCluster = [4, 2], A = [32, 16], B = [16, 32], C = [32, 32]}>
#rows = #triton_gpu.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 4], warpsPerCTA = [32, 1], order = [1, 0]}>

// CHECK:      "test.op"() : () -> tensor<256x32xf16, #dot>
%a = "test.op"() : () -> tensor<256x32xf16, #triton_gpu.dot_op<{opIdx = 0, parent = #mma, kWidth = 1}>>
// CHECK-NEXT: "test.op"() : () -> tensor<32x256xf16, #dot1>
%b = "test.op"() : () -> tensor<32x256xf16, #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>>
// CHECK-NEXT: "test.op"() : () -> tensor<256x256xf32, #dpas>
%c = "test.op"() : () -> tensor<256x256xf32, #mma>
// CHECK-NEXT: "test.op"() : () -> tensor<256xi32, #slice>
%r = "test.op"() : () -> tensor<256xi32, #ttg.slice<{dim = 1, parent = #rows}>>
