// RUN: coopc-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s
// RUN: not coopc-opt %s -o %t.mlir 2> %t.err; filecheck %s --check-prefix ONE < %t.err; test ! -e %t.mlir

// What is wrong with a text is said once, with its place; nothing is written.

// ONE: {{.*}}bad_input.mlir:12:8: error: unknown operation 'arith.constnat', did you mean 'arith.constant'?
// ONE-NEXT: %a = arith.constnat 1 : i32
// ONE-NEXT: ^^^^^^^^^^^^^^
// ONE-NOT: error

func.func @misspelled() {
  %a = arith.constnat 1 : i32
  // CHECK: {{.*}}bad_input.mlir:12:8: error: unknown operation 'arith.constnat', did you mean 'arith.constant'?
  func.return
}

// -----

func.func @no_dialect() {
  // CHECK: {{.*}}:21:3: error: unknown dialect 'coopmatrx' of operation 'coopmatrx.fill', did you mean 'coopmatrix'?
  coopmatrx.fill
}

// -----

func.func @no_definition(%x : i32) {
  // CHECK: {{.*}}:28:23: error: expected a definition of %y, got only uses
  %0 = arith.addi %x, %y : i32
  func.return
}

// -----

func.func @too_early(%x : i32) {
  // CHECK: {{.*}}:36:3: error: arith.addi: expected operand 1 %y to be defined before its use on every way to it
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
  // CHECK: {{.*}}:50:3: error: arith.addi: expected operand 0 %x to be defined before its use on every way to it
  %y = arith.addi %x, %x : i32
  func.return
}

// -----

func.func @invalid() -> i32 {
  // CHECK: {{.*}}:58:3: error: func.return: Expected arguments to have the same types as the function output types
  func.return
}

// -----

func.func @large_constant() {
  // CHECK: {{.*}}:65:36: error: expected a constant of at most 2^24 = 16777216 elements, got 100000000
  %0 = arith.constant dense<0.0> : tensor<10000x10000xf32>
  func.return
}

// -----

func.func @wide_integer() {
  // CHECK: {{.*}}:73:27: error: expected an integer of at most 16777215 bits, got 99999999
  %0 = arith.constant 0 : i99999999
  func.return
}

// -----

func.func @open_string() {
  // CHECK: {{.*}}:81:20: error: End of file reached before closing string literal.
  "test.op"() {a = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
}

// -----

// CHECK: {{.*}}:89:1: error: expected an operation, a block or '}', got the end of the text
func.func @truncated() {
  %0 = arith.constant 0 : i32
