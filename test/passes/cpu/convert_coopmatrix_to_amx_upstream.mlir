// REQUIRES: mlir-opt, llc
// RUN: coopc-opt %root/test/passes/cpu/convert_coopmatrix_to_amx.mlir -p convert-coopmatrix-to-amx | mlir-opt -convert-scf-to-cf -convert-vector-to-llvm -convert-to-llvm -reconcile-unrealized-casts | mlir-translate -mlir-to-llvmir | llc -O2 -mcpu=sapphirerapids | filecheck %s

// Upstream's mlir-opt takes all that comes out, and LLVM makes instructions of it.

// Accumulators stay in their registers through the loop: no tile is spilled.
// CHECK-LABEL: gemm:
// CHECK-DAG:   tilezero
// CHECK-DAG:   tilezero
// CHECK-NOT:   tilestored
// CHECK:       tdpbf16ps
// CHECK-NEXT:  tdpbf16ps
// CHECK-NEXT:  tdpbf16ps
// CHECK-NEXT:  tdpbf16ps
// CHECK-NOT:   tileloadd
// CHECK:       tilestored
// CHECK:       tilestored
// CHECK-NOT:   tilestored
// CHECK:       retq

// CHECK-LABEL: signs:
// CHECK:       tdpbssd
// CHECK-NEXT:  tdpbsud
// CHECK-NEXT:  tdpbusd
// CHECK-NEXT:  tdpbuud

// One store of tiles before the loop over row slices, one load behind it.
// CHECK-LABEL: slices:
// CHECK:       tilestored
// CHECK-NOT:   tileloadd
// CHECK:       vpaddd
// CHECK-NOT:   tilestored
// CHECK:       tileloadd
// CHECK:       tilestored
// CHECK:       retq
