// RUN: xdsl-opt %s -p check-dominance | filecheck %s

// Definitions come before uses on every way to them.

// CHECK: func.func @branches
func.func @branches(%c : i1) -> i32 {
  %x = arith.constant 1 : i32
  cf.cond_br %c, ^a, ^b
^a:
  cf.br ^b
^b:
  %y = arith.addi %x, %x : i32
  func.return %y : i32
}

// In a module, the order means nothing.

// CHECK: "test.op"(%z)
"test.op"(%z) : (i32) -> ()
%z = "test.op"() : () -> i32
