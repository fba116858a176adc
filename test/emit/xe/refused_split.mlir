// RUN: coopc-opt %s -t 'spirv{device=pvc}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix PVC
// RUN: coopc-opt %s -t 'llvm-ir{device=pvc}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix PVC
// RUN: coopc-opt %s -t 'spirv{device=bmg}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix BMG
// RUN: coopc-opt %s -t 'llvm-ir{device=bmg}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix BMG
// RUN: coopc-opt %s -t 'spirv{device=lnl}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix LNL
// RUN: coopc-opt %s -t 'llvm-ir{device=lnl}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix LNL
// RUN: coopc-opt %s -t 'spirv{device=ptl}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix PTL
// RUN: coopc-opt %s -t 'llvm-ir{device=ptl}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix PTL

// Only DG2 has split DPAS.  Elsewhere Intel's compiler takes the import without a word,
// and emits nothing, or half of the work: so it is refused, in SPIR-V and in LLVM IR.

func.func @k() attributes {simt.kernel} {
  %a = arith.constant dense<0> : vector<4xi32>
  %b = arith.constant dense<0> : vector<8xi32>
  %c = arith.constant dense<0.0> : vector<8xf32>
  %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<4xi32>, vector<8xi32>, vector<8xf32>
  func.return
}
// PVC: xe.split_dpas: pvc has no split DPAS: DG2 has
// BMG: xe.split_dpas: bmg has no split DPAS: DG2 has
// LNL: xe.split_dpas: lnl has no split DPAS: DG2 has
// PTL: xe.split_dpas: ptl has no split DPAS: DG2 has

// -----

// Nor have they subgroups of eight lanes, the only ones that it has.

func.func @k() attributes {simt.kernel, simt.subgroup_size = 8 : i32,
                           simt.work_group_size = array<i32: 16>} {
  %a = arith.constant dense<0> : vector<4xi32>
  %b = arith.constant dense<0> : vector<8xi32>
  %c = arith.constant dense<0.0> : vector<8xf32>
  %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<4xi32>, vector<8xi32>, vector<8xf32>
  func.return
}
// PVC: expected a subgroup size of 16 or 32, which pvc has, got 8
// BMG: expected a subgroup size of 16 or 32, which bmg has, got 8
// LNL: expected a subgroup size of 16 or 32, which lnl has, got 8
// PTL: expected a subgroup size of 16 or 32, which ptl has, got 8
