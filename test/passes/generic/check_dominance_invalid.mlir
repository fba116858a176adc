// RUN: xdsl-opt %s -p check-dominance --split-input-file --verify-diagnostics | filecheck %s

// xDSL's own tool finds these only with the pass; coopc-opt checks after every pass.

func.func @too_early(%x : i32) {
  // CHECK: expected operand 1 %y to be defined before its use on every way to it
  %0 = arith.addi %x, %y : i32
  %y = arith.addi %x, %x : i32
  func.return
}

// -----

func.func @one_way_only(%c : i1) {
  cf.cond_br %c, ^a, ^b
^a:
  %x = arith.constant 1 : i32
  cf.br ^b
^b:
  // CHECK: expected operand 0 %x to be defined before its use on every way to it
  %y = arith.addi %x, %x : i32
  func.return
}
