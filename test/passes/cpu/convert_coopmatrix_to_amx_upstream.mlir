// REQUIRES: mlir-opt
// RUN: coopc-opt %root/test/passes/cpu/convert_coopmatrix_to_amx.mlir -p convert-coopmatrix-to-amx | mlir-opt -convert-vector-to-llvm -convert-to-llvm -reconcile-unrealized-casts | filecheck %s

// Upstream's mlir-opt takes all that comes out, down to the intrinsics of LLVM.

// CHECK-LABEL: llvm.func @gemm(
// CHECK:       "llvm.x86.tilezero.internal"
// CHECK:       "llvm.x86.tileloadd64.internal"
// CHECK:       "llvm.x86.tdpbf16ps.internal"
// CHECK:       "llvm.x86.tilestored64.internal"
// CHECK-LABEL: llvm.func @signs(
// CHECK:       "llvm.x86.tdpbssd.internal"
// CHECK:       "llvm.x86.tdpbsud.internal"
// CHECK:       "llvm.x86.tdpbusd.internal"
// CHECK:       "llvm.x86.tdpbuud.internal"
