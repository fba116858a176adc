// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Dictionaries of encodings that miss something, or contradict themselves.
"test.op"() {x = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1]}>} : () -> ()
// CHECK: expected order in #ttg.blocked

// -----

"test.op"() {x = #ttg.blocked<{sizePerThread = [1, 4], threadPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>} : () -> ()
// CHECK: expected one of sizePerThread, threadsPerWarp, warpsPerCTA, order, CTAsPerCGA, CTASplitNum, CTAOrder, CGALayout in #ttg.blocked, got 'threadPerWarp', did you mean 'threadsPerWarp'?

// -----

"test.op"() {x = #ttg.blocked<{sizePerThread = [1, 4], sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>} : () -> ()
// CHECK: expected sizePerThread once in #ttg.blocked

// -----

"test.op"() {x = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4], order = [1, 0]}>} : () -> ()
// CHECK: expected 2 numbers in warpsPerCTA, got [4] in #ttg.blocked

// -----

"test.op"() {x = #ttg.blocked<{sizePerThread = [1, 3], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>} : () -> ()
// CHECK: expected the size of sizePerThread to be a power of two, got 3 in #ttg.blocked

// -----

"test.op"() {x = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 1]}>} : () -> ()
// CHECK: expected order to permute 2 dimensions, got [1, 1] in #ttg.blocked

// -----

"test.op"() {x = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0], CTAsPerCGA = [1, 1]}>} : () -> ()
// CHECK: expected all of CTAsPerCGA, CTASplitNum, CTAOrder, got CTAsPerCGA in #ttg.blocked

// -----

"test.op"() {x = #ttg.blocked<{sizePerThread = [1, x], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>} : () -> ()
// CHECK: Expected integer literal

// -----

"test.op"() {x = #ttg.slice<{dim = 2, parent = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>}>} : () -> ()
// CHECK: expected dim to be below the parent's rank 2, which is at least 2, got 2 in #ttg.slice

// -----

"test.op"() {x = #ttg.slice<{dim = 0, parent = 4 : i32}>} : () -> ()
// CHECK: expected an encoding, got 4 : i32

// -----

"test.op"() {x = #ttg.linear<{register = [[0, 1]], lane = [[1]], warp = [], block = []}>} : () -> ()
// CHECK: expected bases of one rank, got ranks [1, 2] in #ttg.linear

// -----

"test.op"() {x = #ttg.linear<{register = [[0, 2]], lane = [[1, 0]], warp = [], block = []}>} : () -> ()
// CHECK: expected bases that reach all of {'dim0': 2, 'dim1': 4}, got rank 2 for 3 bits in #ttg.linear

// -----

"test.op"() {x = #ttg.linear<{register = [[0, 1]], lane = [[1, 0]], warp = []}>} : () -> ()
// CHECK: expected block in #ttg.linear

// -----

"test.op"() {x = #ttg.dot_op<{opIdx = 2, parent = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>, kWidth = 1}>} : () -> ()
// CHECK: expected opIdx 0 or 1, got 2 in #ttg.dot_op

// -----

"test.op"() {x = #ttg.dot_op<{opIdx = 0, parent = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>, kWidth = 2}>} : () -> ()
// CHECK: expected kWidth = 1, as the parent of opIdx 0 has it, got 2 in #ttg.dot_op

// -----

"test.op"() {x = #ttg.dot_op<{opIdx = 1, parent = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>, kWidth = 1}>} : () -> ()
// CHECK: expected kWidth = 2, as the parent of opIdx 1 has it, got 1 in #ttg.dot_op

// -----

"test.op"() {x = #ttg.dot_op<{opIdx = 1, parent = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>}>} : () -> ()
// CHECK: expected kWidth = 2, as the parent of opIdx 1 has it, got 0 in #ttg.dot_op

// -----

"test.op"() {x = #ttg.dot_op<{opIdx = 0, parent = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>, kWidth = 2}>} : () -> ()
// CHECK: expected kWidth = 0, as the parent of opIdx 0 has it, got 2 in #ttg.dot_op

// -----

"test.op"() {x = #ttg.dot_op<{opIdx = 0, parent = #ttg.slice<{dim = 0, parent = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>}>, kWidth = 1}>} : () -> ()
// CHECK: expected a parent that is #ttig.dpas or #ttg.blocked, got #ttg.slice<{dim = 0, parent = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>}> in #ttg.dot_op

// -----

"test.op"() {x = #ttg.swizzled_shared<{vec = 0, perPhase = 1, maxPhase = 1, order = [1, 0]}>} : () -> ()
// CHECK: expected vec of at least 1, got 0 in #ttg.swizzled_shared

// -----

"test.op"() {x = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 1]}>} : () -> ()
// CHECK: expected order to permute 2 dimensions, got [1, 1] in #ttg.swizzled_shared

// -----

"test.op"() {x = #ttg.swizzled_shared<{vec = 1, perPhase = 1, order = [1, 0]}>} : () -> ()
// CHECK: expected maxPhase in #ttg.swizzled_shared

// -----

// How work-groups share a tensor: powers of two, for all dimensions.

"test.op"() {x = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0], CGALayout = #ttg.cga<{CTAsPerCGA = [-2147483648], CTASplitNum = [2], CTAOrder = [0]}>}>} : () -> ()
// CHECK: expected a power of two for each of 1 dimensions, got [-2147483648] in CGALayout of #ttg.swizzled_shared

// -----

"test.op"() {x = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [4], warpsPerCTA = [4], order = [0], CTAsPerCGA = [6], CTASplitNum = [3], CTAOrder = [0]}>} : () -> ()
// CHECK: to be a power of two, got 3 in #ttg.blocked

// -----

"test.op"() {x = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [4], warpsPerCTA = [4], order = [0], CTAsPerCGA = [2], CTASplitNum = [0], CTAOrder = [0]}>} : () -> ()
// CHECK: expected a power of two for each of 1 dimensions, got [0] in #ttg.blocked

// -----

"test.op"() {x = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [4], warpsPerCTA = [4], order = [0], CTAsPerCGA = [2], CTASplitNum = [2], CTAOrder = [3]}>} : () -> ()
// CHECK: expected an order of all dimensions, got [3] in #ttg.blocked
