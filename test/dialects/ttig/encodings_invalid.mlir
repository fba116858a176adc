// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Parameters of DPAS that no device has, or that contradict each other.
"test.op"() {x = #ttig.dpas<{repeatCount = 9, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>} : () -> ()
// CHECK: expected repeatCount 1 to 8, got 9 in #ttig.dpas

// -----

"test.op"() {x = #ttig.dpas<{repeatCount = 8, systolicDepth = 4, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>} : () -> ()
// CHECK: expected systolicDepth 8, got 4 in #ttig.dpas

// -----

"test.op"() {x = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 32, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>} : () -> ()
// CHECK: expected executionSize 8 or 16, got 32 in #ttig.dpas

// -----

"test.op"() {x = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 3, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>} : () -> ()
// CHECK: expected opsPerChan 1, 2 or 4, got 3 in #ttig.dpas

// -----

"test.op"() {x = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 8, warpsPerCTA = [2, 2], repCluster = [1, 1]}>} : () -> ()
// CHECK: expected threadsPerWarp 16 (the executionSize) to 128, got 8 in #ttig.dpas

// -----

"test.op"() {x = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 24, warpsPerCTA = [2, 2], repCluster = [1, 1]}>} : () -> ()
// CHECK: expected the size of threadsPerWarp to be a power of two, got 24 in #ttig.dpas

// -----

"test.op"() {x = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [4], repCluster = [1, 1]}>} : () -> ()
// CHECK: expected warpsPerCTA of rank 2 or 3, got [4] in #ttig.dpas

// -----

"test.op"() {x = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1, 1]}>} : () -> ()
// CHECK: expected repCluster of rank 2, got [1, 1, 1] in #ttig.dpas

// -----

"test.op"() {x = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 3]}>} : () -> ()
// CHECK: expected the size of repCluster to be a power of two, got 3 in #ttig.dpas

// -----

"test.op"() {x = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1], fp4KPack = 2}>} : () -> ()
// CHECK: expected fp4KPack 2 with opsPerChan 4, got 2 with 2 in #ttig.dpas

// -----

"test.op"() {x = #ttig.dpas<{systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>} : () -> ()
// CHECK: expected repeatCount in #ttig.dpas

// -----

"test.op"() {x = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1], repeatCounts = 8}>} : () -> ()
// CHECK: expected one of repeatCount, systolicDepth, executionSize, opsPerChan, fp4KPack, threadsPerWarp, warpsPerCTA, repCluster, A, B, C in #ttig.dpas, got 'repeatCounts', did you mean 'repeatCount'?

// -----

"test.op"() {x = #ttig.warp<{sizePerThread = [16, 64], threadsPerWarp = [1, 1]}>} : () -> ()
// CHECK: expected order in #ttig.warp

// -----

"test.op"() {x = #ttig.subgroup_2d_block<{warpsPerCTA = [8, 4], instrShape = [8, 16], numBlocks=2, order=[1, 0], kWidth=1}>} : () -> ()
// CHECK: expected threadsPerWarp in #ttig.subgroup_2d_block
