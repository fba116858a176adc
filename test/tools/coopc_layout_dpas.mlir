// What coopc-layout prints for Intel's matrix instruction is what triton-tensor-layout
// prints, character for character: Inputs/ has the views of the first subgroup of the
// document on 2D block loads, A of 256 x 32 and B of 32 x 256 elements.

// RUN: coopc-layout -t "tensor<256x32xf16>" -i %s -alias-names=a -use-hw-view > %t.a
// RUN: sed 1d %t.a | head -n 65 | diff - %S/Inputs/dpas_a_hw_view.txt
// RUN: coopc-layout -t "tensor<32x256xf16>" -i %s -alias-names=b -use-hw-view > %t.b
// RUN: sed 1d %t.b | head -n 129 | diff - %S/Inputs/dpas_b_hw_view.txt

// In the spelling of the document, on the command line, or as the tensor's encoding.
// RUN: coopc-layout -use-hw-view -t "tensor<256x32xf16>" -l "#ttg.dot_op<{opIdx = 0, parent = #triton_intel_gpu.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [8, 4], repCluster = [4, 2], A = [32, 16], B = [16, 32], C = [32, 32]}>, kWidth = 1}>" --warp 0 -o %t.old
// RUN: sed 1d %t.old | diff - %S/Inputs/dpas_a_hw_view.txt
// RUN: coopc-layout --use-hw-view --warp 0 "tensor<32x256xf16, #triton_gpu.dot_op<{opIdx = 1, parent = #triton_intel_gpu.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [8, 4], repCluster = [4, 2]}>, kWidth = 2}>>" | diff - %S/Inputs/dpas_b_hw_view.txt

// All subgroups are there: those along N have the same A.
// RUN: filecheck %s --input-file %t.a
// CHECK:      Print layout attribute: #a = #ttg.dot_op<{opIdx = 0, parent = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [8, 4], repCluster = [4, 2], A = [32, 16], B = [16, 32], C = [32, 32]}>, kWidth = 1}>
// CHECK-NEXT: Warp0:
// CHECK:      Warp3:
// CHECK-NEXT: (  0, 0), (  0, 1), (  0, 2),
// CHECK:      Warp4:
// CHECK-NEXT: ( 32, 0), ( 32, 1), ( 32, 2),
// CHECK:      Warp31:
// CHECK-NEXT: (224, 0), (224, 1), (224, 2),
// CHECK:      (255,16), (255,17), (255,18),

#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [8, 4], repCluster = [4, 2], A = [32, 16], B = [16, 32], C = [32, 32]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#b = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
