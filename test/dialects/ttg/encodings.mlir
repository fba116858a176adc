// RUN: %roundtrip

// Encodings in all spellings: keys in any order, what follows from others is ignored, and
// so is how work-groups share a tensor where there is one only.

// CHECK-DAG: = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
"test.op"() {x = #ttg.blocked<{order = [1, 0], warpsPerCTA=[4, 1], sizePerThread = [1, 8], threadsPerWarp = [2, 8]}>} : () -> ()
// CHECK-DAG: = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [16], warpsPerCTA = [4], order = [0]}>
"test.op"() {x = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [16], warpsPerCTA = [4], order = [0], CTAsPerCGA = [1], CTASplitNum = [1], CTAOrder = [0]}>} : () -> ()
// CHECK-DAG: = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 8], warpsPerCTA = [4, 1], order = [1, 0], CGALayout = {{\[\[}}1, 0], [0, 0]]}>
"test.op"() {x = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 8], warpsPerCTA = [4, 1], order = [1, 0], CTAsPerCGA = [2, 2], CTASplitNum = [2, 1], CTAOrder = [0, 1]}>} : () -> ()
// CHECK-DAG: = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 8], warpsPerCTA = [4, 1], order = [1, 0], CGALayout = {{\[\[}}1, 0]]}>
"test.op"() {x = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 8], warpsPerCTA = [4, 1], order = [1, 0], CGALayout = [[1, 0]]}>} : () -> ()
// CHECK-DAG: #blocked4 = #ttg.blocked<{sizePerThread = [1, 1, 8], threadsPerWarp = [1, 2, 8], warpsPerCTA = [1, 4, 1], order = [2, 1, 0]}>
// CHECK-DAG: #slice = #ttg.slice<{dim = 1, parent = #blocked4}>
// CHECK-DAG: = #ttg.slice<{dim = 0, parent = #slice}>
"test.op"() {x = #ttg.slice<{dim = 0, parent = #ttg.slice<{parent = #ttg.blocked<{sizePerThread = [1, 1, 8], threadsPerWarp = [1, 2, 8], warpsPerCTA = [1, 4, 1], order = [2, 1, 0]}>, dim = 1}>}>} : () -> ()
// CHECK-DAG: = #ttg.linear<{register = {{\[\[}}0, 1], [8, 0]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0]], warp = {{\[\[}}4, 0], [0, 0]], block = []}>
"test.op"() {x = #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0]], warp = [[4, 0], [0, 0]], block = []}>} : () -> ()
// CHECK-DAG: = #ttg.dot_op<{opIdx = 1, parent = #blocked}>
"test.op"() {x = #ttg.dot_op<{opIdx = 1, parent = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 8], warpsPerCTA = [4, 1], order = [1, 0]}>}>} : () -> ()
// CHECK-DAG: = #ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>
"test.op"() {x = #ttg.swizzled_shared<{order = [1, 0], vec = 8, perPhase = 2, maxPhase = 4}>} : () -> ()
// CHECK-DAG: = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0], CGALayout = {{\[\[}}1]]}>
"test.op"() {x = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0], CGALayout = #ttg.cga<{CTAsPerCGA = [2], CTASplitNum = [2], CTAOrder = [0]}>}>} : () -> ()
// CHECK-DAG: = #ttg.shared_memory
"test.op"() {x = #ttg.shared_memory} : () -> ()
