// By which 2D block messages a tensor comes, step by step.  Inputs/ has the text of the
// document on 2D block loads for A and for B transposed, character for character.

// RUN: coopc-layout -t "tensor<256x32xf16>" -i %s --alias-names a --plan | sed 1,2d | diff - %S/Inputs/plan_a.txt
// RUN: coopc-layout -t "tensor<32x256xf16>" -i %s --alias-names b --plan fewest --order column_major > %t.bt
// RUN: sed 1,2d %t.bt | head -n 33 | diff - %S/Inputs/plan_bt.txt
// RUN: filecheck %s --check-prefix BT --input-file %t.bt
// BT: #b: 4 messages of 32 bits, 32x8x1, transpose
// BT: where a slot holds 2 elements along dim1
// BT-NOT: {{.}}

// Of B, the document's first listing has an iteration (16, 0) that is not there, its second
// the load as (N, K); in the order of memory, that of every other number, it is (0, 128).
// RUN: coopc-layout -t "tensor<32x256xf16>" -i %s --alias-names b --plan | filecheck %s --check-prefix B
// B: #b: 2 messages of 16 bits, 32x16x2, transform
// B: Block load tile layout after adding loads:
// B-NEXT: - offset=1 -> (0, 1)
// B-NEXT:   offset=2 -> (0, 2)
// B-NEXT:   offset=4 -> (0, 4)
// B-NEXT:   offset=8 -> (0, 8)
// B-NEXT:   offset=16 -> (1, 0)
// B-NEXT:   offset=32 -> (2, 0)
// B-NEXT:   offset=64 -> (4, 0)
// B-NEXT: - iteration=1 -> (0, 16)
// B-NEXT:   iteration=2 -> (8, 0)
// B-NEXT: - load=1 -> (0, 128)
// B-NEXT: where out dims are: [dim0 (size 32), dim1 (size 256)]
// B-NEXT: where a slot holds 2 elements along dim0

// The cheapest plan of B transposed has a message for each operand of DPAS: two in one
// message interleave their registers.
// RUN: coopc-layout -t "tensor<32x256xf16>" -i %s --alias-names b --plan --order column_major | filecheck %s --check-prefix CHEAP
// CHEAP: #b: 8 messages of 32 bits, 16x8x1, transpose
// CHEAP: Block load tile layout after adding loads:
// CHEAP: - iteration is a size 1 dimension
// CHEAP-NEXT: - load=1 -> (16, 0)
// CHEAP-NEXT:   load=2 -> (0, 16)
// CHEAP-NEXT:   load=4 -> (128, 0)

// What has no plan says why; so does what cannot be asked.
// RUN: not coopc-layout -t "tensor<256x32xf16>" -i %s --alias-names a --plan --device dg2 2>&1 | filecheck %s --check-prefix DG2
// DG2: coopc-layout: error: #a: dg2 moves it lane by lane: the device has no 2D block messages
// RUN: not coopc-layout -t "tensor<256x32xf16>" -i %s --alias-names a --plan --device xyz 2>&1 | filecheck %s --check-prefix DEVICE
// DEVICE: coopc-layout: error: unknown device 'xyz' (have
// RUN: not coopc-layout "!coopmatrix.matrix<4x15xf16, acc>" --plan 2>&1 | filecheck %s --check-prefix MATRIX
// MATRIX: coopc-layout: error: expected a tensor to plan, got !coopmatrix.matrix<4x15xf16, acc>
// RUN: not coopc-layout "tensor<32x256xf16>" -l "#layout.coopmatrix" --plan 2>&1 | filecheck %s --check-prefix LAYOUT
// LAYOUT: coopc-layout: error: expected a linear layout to plan, got #layout.coopmatrix
// RUN: not coopc-layout -t "tensor<16x16xf16>" -i %s --alias-names gaps --plan 2>&1 | filecheck %s --check-prefix GAPS
// GAPS: coopc-layout: error: #gaps: bmg moves it lane by lane: no message gives the lanes these elements: lanes hold (2,0) (4,0) (1,0) (0,1), (row, column) of memory

#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [8, 4], repCluster = [4, 2], A = [32, 16], B = [16, 32], C = [32, 32]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#b = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
#gaps = #ttg.linear<{register = [[0, 2], [0, 4], [0, 8], [8, 0]], lane = [[2, 0], [4, 0], [1, 0], [0, 1]], warp = [], block = []}>
