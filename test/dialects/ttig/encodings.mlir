// RUN: %roundtrip

// DPAS: A, B and C follow from the others, so stale ones do no harm.

// CHECK-DAG: = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [8, 4], repCluster = [4, 2], A = [32, 16], B = [16, 32], C = [32, 32]}>
"test.op"() {x = #ttig.dpas<{C = [1, 1], A = [32, 16], repCluster = [4, 2], warpsPerCTA = [8, 4], threadsPerWarp = 16, opsPerChan=2, executionSize = 16, systolicDepth = 8, repeatCount = 8}>} : () -> ()
// CHECK-DAG: = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 8, opsPerChan = 4, fp4KPack = 2, threadsPerWarp = 8, warpsPerCTA = [1, 2, 1], repCluster = [1, 1, 2], A = [1, 8, 32], B = [1, 32, 16], C = [1, 8, 16]}>
"test.op"() {x = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 8, opsPerChan = 4, fp4KPack = 2, threadsPerWarp = 8, warpsPerCTA = [1, 2, 1], repCluster = [1, 1, 2]}>} : () -> ()
// CHECK-DAG: #dpas2 = #ttig.dpas<{repeatCount = 4, systolicDepth = 8, executionSize = 16, opsPerChan = 1, threadsPerWarp = 32, warpsPerCTA = [2, 2], repCluster = [1, 1], A = [4, 8], B = [8, 16], C = [4, 16]}>
// CHECK-DAG: = #ttg.dot_op<{opIdx = 1, parent = #dpas2, kWidth = 1}>
"test.op"() {x = #ttg.dot_op<{kWidth=1, opIdx=1, parent=#ttig.dpas<{repeatCount = 4, systolicDepth = 8, executionSize = 16, opsPerChan = 1, threadsPerWarp = 32, warpsPerCTA = [2, 2], repCluster = [1, 1]}>}>} : () -> ()
// CHECK-DAG: = #ttig.warp<{sizePerThread = [16, 64], threadsPerWarp = [1, 1], order = [1, 0]}>
"test.op"() {x = #ttig.warp<{sizePerThread = [16, 64], threadsPerWarp = [1, 1], order = [1, 0]}>} : () -> ()
// CHECK-DAG: = #ttig.subgroup_2d_block<{warpsPerCTA = [8, 4], instrShape = [8, 16], numBlocks = 2, order = [1, 0], kWidth = 1, threadsPerWarp = 16}>
"test.op"() {x = #ttig.subgroup_2d_block<{warpsPerCTA = [8, 4], instrShape = [8, 16], numBlocks=2, order=[1, 0], kWidth=1, threadsPerWarp=16}>} : () -> ()
