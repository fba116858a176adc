// RUN: coopc-opt %s -t 'spirv{device=lavapipe}' | filecheck %s
// VALID: lavapipe bmg

// The blocks of each operation of scf.

// CHECK-LABEL: %for_loop = OpFunction
// CHECK:      OpBranch %for
// CHECK-NEXT: %for = OpLabel
// CHECK-NEXT: %k = OpPhi %uint %uint_0 %entry %[[NEXT:.*]] %again
// CHECK-NEXT: %acc = OpPhi %uint %n %entry %sum %again
// CHECK-NEXT: %[[MORE:.*]] = OpSLessThan %bool %k %n
// CHECK-NEXT: OpLoopMerge %done %again None
// CHECK-NEXT: OpBranchConditional %[[MORE]] %body %done
// CHECK-NEXT: %body = OpLabel
// CHECK-NEXT: %sum = OpIAdd %uint %acc %k
// CHECK-NEXT: OpBranch %again
// CHECK-NEXT: %again = OpLabel
// CHECK-NEXT: %[[NEXT]] = OpIAdd %uint %k %uint_2
// CHECK-NEXT: OpBranch %for
// CHECK-NEXT: %done = OpLabel
// CHECK:      OpStore %{{.*}} %acc
func.func @for_loop(%m: memref<4xi32>, %n: i32) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %r = scf.for %k = %c0 to %n step %c2 iter_args(%acc = %n) -> (i32) : i32 {
    %sum = arith.addi %acc, %k : i32
    scf.yield %sum : i32
  }
  memref.store %r, %m[%0] : memref<4xi32>
  func.return
}

// What the test passes on is what the body and the results are.
// CHECK-LABEL: %while_loop = OpFunction
// CHECK:      %while = OpLabel
// CHECK-NEXT: %x = OpPhi %uint %{{.*}} %{{.*}} %half %again_0
// CHECK-NEXT: OpLoopMerge %done_0 %again_0 None
// CHECK-NEXT: OpBranch %before
// CHECK-NEXT: %before = OpLabel
// CHECK-NEXT: %big = OpSGreaterThan %bool %x
// CHECK-NEXT: %one_less = OpISub %uint %x %uint_1
// CHECK-NEXT: OpBranchConditional %big %after %done_0
// CHECK-NEXT: %after = OpLabel
// CHECK-NEXT: %half = OpSDiv %uint %one_less %uint_2
// CHECK-NEXT: OpBranch %again_0
// CHECK:      %done_0 = OpLabel
// CHECK:      OpStore %{{.*}} %one_less
func.func @while_loop(%m: memref<4xi32>, %n: i32) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %r = scf.while (%x = %n) : (i32) -> (i32) {
    %big = arith.cmpi sgt, %x, %c2 : i32
    %one_less = arith.subi %x, %c1 : i32
    scf.condition(%big) %one_less : i32
  } do {
  ^bb0(%y: i32):
    %half = arith.divsi %y, %c2 : i32
    scf.yield %half : i32
  }
  memref.store %r, %m[%0] : memref<4xi32>
  func.return
}

// CHECK-LABEL: %choice = OpFunction
// CHECK:      OpSelectionMerge %[[DONE:.*]] None
// CHECK-NEXT: OpBranchConditional %{{.*}} %then %else
// CHECK:      %then = OpLabel
// CHECK-NEXT: OpBranch %[[DONE]]
// CHECK-NEXT: %else = OpLabel
// CHECK-NEXT: OpBranch %[[DONE]]
// CHECK-NEXT: %[[DONE]] = OpLabel
// CHECK-NEXT: %r = OpPhi %uint %{{.*}} %then %uint_7 %else
// CHECK:      OpSelectionMerge %[[LAST:.*]] None
// CHECK-NEXT: OpBranchConditional %{{.*}} %{{.*}} %[[LAST]]
func.func @choice(%m: memref<4xi32>, %n: i32, %c: i1) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %c7 = arith.constant 7 : i32
  %r = scf.if %c -> (i32) {
    scf.yield %n : i32
  } else {
    scf.yield %c7 : i32
  }
  scf.if %c {
    memref.store %r, %m[%0] : memref<4xi32>
  }
  func.return
}

// CHECK-LABEL: %cases = OpFunction
// CHECK: OpSwitch %{{.*}} %default 2 %case2 4294967295 %case_1
func.func @cases(%m: memref<4xi32>, %i: index) attributes {simt.kernel} {
  %c7 = arith.constant 7 : i32
  scf.index_switch %i
  case 2 {
    memref.store %c7, %m[%i] : memref<4xi32>
    scf.yield
  }
  case -1 {
    scf.yield
  }
  default {
    scf.yield
  }
  func.return
}
