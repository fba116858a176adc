// Aliases of a file, in the order of the file; what is no layout is passed over, and
// aliases below the module count too.

// RUN: coopc-layout -t "tensor<2x8xf16>" -i %s | filecheck %s --strict-whitespace --match-full-lines
//      CHECK:Print layout attribute: #blocked = #ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [2, 2], warpsPerCTA = [1, 1], order = [1, 0]}>
// CHECK-NEXT:{{\[\[}}T0:0, T0:1, T1:0, T1:1, T0:2, T0:3, T1:2, T1:3]
// CHECK-NEXT:[ T2:0, T2:1, T3:0, T3:1, T2:2, T2:3, T3:2, T3:3]]
// CHECK-NEXT:Print layout attribute: #columns = #ttg.linear<{register = [[1, 0]], lane = [[0, 1], [0, 2], [0, 4]], warp = [], block = []}>
// CHECK-NEXT:{{\[\[}}T0:0, T1:0, T2:0, T3:0, T4:0, T5:0, T6:0, T7:0]
// CHECK-NEXT:[ T0:1, T1:1, T2:1, T3:1, T4:1, T5:1, T6:1, T7:1]]
// CHECK-EMPTY:

// Those that are named have an empty line after each, as triton-tensor-layout prints.
// RUN: coopc-layout -t "tensor<2x8xf16>" -i %s --alias-names columns,blocked --use-hw-view | filecheck %s --check-prefix=NAMED
//      NAMED: Print layout attribute: #columns =
// NAMED-NEXT: Warp0:
// NAMED-NEXT: (0,0), (0,1), (0,2), (0,3), (0,4), (0,5), (0,6), (0,7)
// NAMED-NEXT: (1,0), (1,1), (1,2), (1,3), (1,4), (1,5), (1,6), (1,7)
// NAMED-EMPTY:
// NAMED-NEXT: Print layout attribute: #blocked =
// NAMED-NEXT: Warp0:
// NAMED-NEXT: (0,0), (0,2), (1,0), (1,2)
// NAMED-NEXT: (0,1), (0,3), (1,1), (1,3)
// NAMED-NEXT: (0,4), (0,6), (1,4), (1,6)
// NAMED-NEXT: (0,5), (0,7), (1,5), (1,7)
// NAMED-EMPTY:

// A layout of -l may name aliases of the file, and comes after them.
// RUN: coopc-layout -t "tensor<2x8xf16>" -i %s -alias-names=columns -l "#ttg.linear<{register = [[0, 1], [0, 2], [0, 4]], lane = [[1, 0]], warp = [], block = []}>" | filecheck %s --check-prefix=BOTH
//      BOTH: Print layout attribute: #columns = #ttg.linear
//      BOTH: Print layout attribute: #ttg.linear
// BOTH-NEXT: {{\[\[}}T0:0, T0:1, T0:2, T0:3, T0:4, T0:5, T0:6, T0:7]
// BOTH-NEXT: [ T1:0, T1:1, T1:2, T1:3, T1:4, T1:5, T1:6, T1:7]]

// Elements that several threads hold list them all.
// RUN: coopc-layout -t "tensor<8xf16>" -l "#ttg.slice<{dim = 0, parent = #ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [2, 2], warpsPerCTA = [1, 1], order = [1, 0]}>}>" | filecheck %s --check-prefix=SLICE
//      SLICE: Print layout attribute: #ttg.slice<{dim = 0, parent = #ttg.blocked<
// SLICE-NEXT: [T0:0|T2:0, T0:1|T2:1, T1:0|T3:0, T1:1|T3:1, T0:2|T2:2, T0:3|T2:3, T1:2|T3:2, T1:3|T3:3]

// RUN: coopc-layout -t "tensor<2x8xf16>" -i %s -alias-names=columns --format bases | filecheck %s --check-prefix=BASES
//      BASES: Print layout attribute: #columns =
// BASES-NEXT: register = 1 -> (1, 0)
// BASES-NEXT: lane = 1 -> (0, 1)
// BASES-NEXT: lane = 2 -> (0, 2)
// BASES-NEXT: lane = 4 -> (0, 4)
// BASES-NEXT: of (dim0 = 2, dim1 = 8)

#loc = loc("kernel.py":1:2)
#blocked = #ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [2, 2], warpsPerCTA = [1, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3}>
module attributes {"ttg.num-warps" = 1 : i32} {
  tt.func public @kernel(%a: tensor<2x8xf16, #blocked>) { tt.return }
}
#columns = #ttg.linear<{register = [[1, 0]], lane = [[0, 1], [0, 2], [0, 4]], warp = [], block = []}>
