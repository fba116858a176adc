// RUN: coopc-opt %s -p 'set-target{device=lavapipe},expand-arith' --split-input-file --verify-diagnostics | filecheck %s

// CHECK: expected integers of 8 bits or more, got i1
func.func @divided(%a: i1, %b: i1) -> i1 {
  %q = arith.ceildivsi %a, %b : i1
  func.return %q : i1
}
