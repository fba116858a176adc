// RUN: %roundtrip
// RUN: coopc-opt %s -p check-dominance | filecheck %s
// RUN: xdsl-opt %s -p check-dominance | filecheck %s
// RUN: coopc-opt %s -p canonicalize --time-passes 2>&1 | filecheck %s --check-prefix TIME
// RUN: coopc-opt %s -p cse,canonicalize --print-between-passes | filecheck %s --check-prefix BETWEEN
// RUN: coopc-opt < %s -o %t.mlir && coopc-opt %t.mlir | filecheck %s

// What xDSL knows, coopc-opt knows too; what coopc knows, xdsl-opt finds.

// CHECK: func.func @empty()
// TIME: Pass canonicalize took
// BETWEEN: IR after cse:
// BETWEEN: func.func @empty()
// BETWEEN: func.func @empty()
func.func @empty() {
  func.return
}
