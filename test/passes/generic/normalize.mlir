// RUN: coopc-opt %s -p normalize | filecheck %s

// Each value is computed once, where all of its operands are first known.

// Equal operations are one; in a loop they use what is before it.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT:    %0 = arith.addi %a, %b : index
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      memref.store %x, %m[%0, %0]
// CHECK-NEXT:    }
func.func @shared(%a: index, %b: index, %x: f32, %m: memref<?x?xf32>) {
  %0 = arith.addi %a, %b : index
  %1 = arith.addi %a, %b : index
  scf.for %i = %a to %b step %a {
    %2 = arith.addi %a, %b : index
    memref.store %x, %m[%1, %2] : memref<?x?xf32>
  }
  func.return
}

// Constants come together, and what changes in fewer loops is added first; a sum that is
// used elsewhere stays.
// CHECK-LABEL: func.func @regrouped
// CHECK:         %[[NM:.*]] = arith.addi %n, %m
// CHECK:         scf.for
// CHECK-NEXT:      %[[AT:.*]] = arith.addi %i, %[[NM]]
// CHECK-NEXT:      %[[FAR:.*]] = arith.addi %i, %c16
// CHECK-NEXT:      memref.store
// CHECK-NEXT:      %used = arith.addi %n, %i
// CHECK-NEXT:      %more = arith.addi %used, %m
// CHECK-NEXT:      memref.store %x, %out[%used, %more]
func.func @regrouped(%n: index, %m: index, %x: f32, %out: memref<?x?xf32>) {
  %c4 = arith.constant 4 : index
  %c12 = arith.constant 12 : index
  scf.for %i = %c4 to %n step %c4 {
    %0 = arith.addi %i, %n : index
    %1 = arith.addi %0, %m : index
    %2 = arith.addi %i, %c4 : index
    %3 = arith.addi %c12, %2 : index
    memref.store %x, %out[%1, %3] : memref<?x?xf32>
    %used = arith.addi %n, %i : index
    %again = arith.addi %i, %n : index
    %more = arith.addi %used, %m : index
    memref.store %x, %out[%again, %more] : memref<?x?xf32>
  }
  func.return
}

// What one branch computes, the other one does not have.
// CHECK-LABEL: func.func @branches
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      arith.muli %a, %a
// CHECK:         } else {
// CHECK-NEXT:      arith.muli %a, %a
func.func @branches(%c: i1, %a: index) -> index {
  %0 = scf.if %c -> (index) {
    %1 = arith.muli %a, %a : index
    scf.yield %1 : index
  } else {
    %2 = arith.muli %a, %a : index
    %3 = arith.addi %2, %a : index
    scf.yield %3 : index
  }
  func.return %0 : index
}

// Two loops, one in the other: each operation leaves those that it does not depend on.
// CHECK-LABEL: func.func @nested
// CHECK-NEXT:    arith.constant 4
// CHECK-NEXT:    [[N:%.*]] = arith.muli %n
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      [[I:%.*]] = arith.addi %i, [[N]]
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        [[J:%.*]] = arith.addi %j, [[I]]
// CHECK-NEXT:        memref.store
func.func @nested(%n: index, %m: memref<?xindex>) {
  scf.for %i = %n to %n step %n {
    scf.for %j = %n to %n step %n {
      %c4 = arith.constant 4 : index
      %0 = arith.muli %n, %c4 : index
      %1 = arith.addi %i, %0 : index
      %2 = arith.addi %j, %1 : index
      memref.store %2, %m[%2] : memref<?xindex>
    }
  }
  func.return
}

// What may trap or be undefined stays in a loop that may be empty.
// CHECK-LABEL: func.func @guarded
// CHECK-COUNT-2: arith.constant
// CHECK-NEXT:    arith.remui %a
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      arith.remsi %a, %b
// CHECK-NEXT:      arith.divsi %a, %cm1
// CHECK-NEXT:      arith.shli %a, %b
// CHECK-NEXT:      arith.addi %a, %b overflow<nsw>
// CHECK-NEXT:      "test.op"
func.func @guarded(%a: index, %b: index) {
  %cm1 = arith.constant -1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %a to %b step %a {
    %0 = arith.remsi %a, %b : index
    %1 = arith.divsi %a, %cm1 : index
    %2 = arith.shli %a, %b : index
    %3 = arith.addi %a, %b overflow<nsw> : index
    %4 = arith.remui %a, %c3 : index
    "test.op"(%0, %1, %2, %3, %4) : (index, index, index, index, index) -> ()
  }
  func.return
}

// It leaves one that has a first round, in which it would run anyway.
// CHECK-LABEL: func.func @surely_runs
// CHECK:         arith.divsi %a, %b
// CHECK-NEXT:    scf.for
// CHECK:           scf.if
// CHECK-NEXT:        arith.remsi %a, %b
func.func @surely_runs(%a: index, %b: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %c2 step %a {
    %0 = arith.divsi %a, %b : index
    "test.op"(%0) : (index) -> ()
    scf.if %c {
      %1 = arith.remsi %a, %b : index
      "test.op"(%1) : (index) -> ()
    }
  }
  func.return
}

// Flags are a part of an operation: sums that differ in them are two.
// CHECK-LABEL: func.func @flags
// CHECK-NEXT:    arith.addf %x, %x : f32
// CHECK-NEXT:    arith.addf %x, %x fastmath<nnan> : f32
// CHECK-NEXT:    arith.constant 0.000000e+00
// CHECK-NEXT:    arith.constant -0.000000e+00
func.func @flags(%x: f32) {
  %0 = arith.addf %x, %x : f32
  %1 = arith.addf %x, %x fastmath<nnan> : f32
  %2 = arith.constant 0.0 : f32
  %3 = arith.constant -0.0 : f32
  "test.op"(%0, %1, %2, %3) : (f32, f32, f32, f32) -> ()
  func.return
}

// Accesses to memory are not shared: there may be a store between them.
// CHECK-LABEL: func.func @memory
// CHECK-COUNT-2: memref.load
func.func @memory(%i: index, %m: memref<?xf32>) -> f32 {
  %0 = memref.load %m[%i] : memref<?xf32>
  memref.store %0, %m[%i] : memref<?xf32>
  %1 = memref.load %m[%i] : memref<?xf32>
  %2 = arith.addf %0, %1 : f32
  func.return %2 : f32
}

// Lanes are asked once in a block, and where the program asks them.
// CHECK-LABEL: func.func @lanes
// CHECK-NEXT:    [[X:%.*]] = simt.shuffle xor %x, %i
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      [[Y:%.*]] = simt.shuffle xor %x, %i
// CHECK-NEXT:      "test.op"([[X]], [[X]], [[Y]])
func.func @lanes(%x: f32, %i: index) {
  %0 = simt.shuffle xor %x, %i : f32
  %1 = simt.shuffle xor %x, %i : f32
  scf.for %j = %i to %i step %i {
    %2 = simt.shuffle xor %x, %i : f32
    "test.op"(%0, %1, %2) : (f32, f32, f32) -> ()
  }
  func.return
}

// Matrices stay in their loops.
// CHECK-LABEL: func.func @matrices
// CHECK:         scf.for
// CHECK-NEXT:      coopmatrix.fill
func.func @matrices(%x: f32, %i: index) {
  scf.for %j = %i to %i step %i {
    %0 = coopmatrix.fill %x : f32 -> !coopmatrix.matrix<8x8xf32, acc>
    "test.op"(%0) : (!coopmatrix.matrix<8x8xf32, acc>) -> ()
  }
  func.return
}

// Two kernels share nothing.
// CHECK-LABEL: func.func @one
// CHECK-NEXT:    arith.constant 7
// CHECK-LABEL: func.func @two
// CHECK-NEXT:    arith.constant 7
func.func @one(%m: memref<i32>) attributes {simt.kernel} {
  %0 = arith.constant 7 : i32
  memref.store %0, %m[] : memref<i32>
  func.return
}
func.func @two(%m: memref<i32>) attributes {simt.kernel} {
  %0 = arith.constant 7 : i32
  memref.store %0, %m[] : memref<i32>
  func.return
}

// The first block dominates the others; of these, neither knows the other.
// CHECK-LABEL: func.func @blocks
// CHECK-NEXT:    arith.addi %a, %a
// CHECK:       ^{{.*}}:
// CHECK-NEXT:    arith.muli %a, %a
// CHECK:       ^{{.*}}:
// CHECK-NEXT:    arith.muli %a, %a
func.func @blocks(%c: i1, %a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  cf.cond_br %c, ^left, ^right
^left:
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %a, %a : i32
  %3 = arith.xori %1, %2 : i32
  func.return %3 : i32
^right:
  %4 = arith.muli %a, %a : i32
  %5 = arith.andi %0, %4 : i32
  func.return %5 : i32
}

// Of regions that are no control flow, nothing is known.
// CHECK-LABEL: func.func @regions
// CHECK-NEXT:    arith.addi %a, %a
// CHECK-NEXT:    "test.op"
// CHECK-NEXT:      arith.addi %a, %a
func.func @regions(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  "test.op"() ({
    %1 = arith.addi %a, %a : i32
    "test.termop"(%1) : (i32) -> ()
  }) : () -> ()
  func.return %0 : i32
}

// Constants that are not folded, of vectors, stay as they are.
// CHECK-LABEL: func.func @constants
// CHECK:         arith.muli
// CHECK-NEXT:    arith.muli
// CHECK-NEXT:    func.return
func.func @constants() -> vector<2xi32> {
  %a = arith.constant dense<[0, 1]> : vector<2xi32>
  %b = arith.constant dense<16> : vector<2xi32>
  %0 = arith.muli %a, %b : vector<2xi32>
  %1 = arith.muli %0, %b : vector<2xi32>
  func.return %1 : vector<2xi32>
}
