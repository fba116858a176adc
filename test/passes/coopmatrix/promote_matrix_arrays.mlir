// RUN: coopc-opt %s -p promote-matrix-arrays | filecheck %s

// Matrices of an array become values.  Where the index is known, nothing is selected.

!m = !coopmatrix.matrix<8x8xf32, acc>

// CHECK-LABEL: func.func @known(
// CHECK-NOT:   memref.alloca
// CHECK:       %[[SUM:.*]] = coopmatrix.add %x, %y
// CHECK-NEXT:  func.return %[[SUM]]
func.func @known(%x: !m, %y: !m) -> !m {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %t = memref.alloca() : memref<1x2x!m>
  memref.store %x, %t[%0, %0] : memref<1x2x!m>
  memref.store %y, %t[%0, %1] : memref<1x2x!m>
  %a = memref.load %t[%0, %0] : memref<1x2x!m>
  %b = memref.load %t[%0, %1] : memref<1x2x!m>
  %c = coopmatrix.add %a, %b : !m
  func.return %c : !m
}

// Loops and conditionals around stores carry all of them.

// CHECK-LABEL: func.func @carried(
// CHECK:       %[[ZERO:.*]] = coopmatrix.fill
// CHECK:       %[[T:.*]], %[[U:.*]] = scf.for %i = {{.*}} iter_args(%[[V:.*]] = %[[ZERO]], %[[W:.*]] = %[[ZERO]])
// CHECK:         %[[FIRST:.*]] = arith.cmpi eq, %i, %c0
// CHECK:         %[[SECOND:.*]] = arith.cmpi eq, %i, %c1
// CHECK:         %[[NEW:.*]] = arith.select %[[FIRST]], %x, %[[V]]
// CHECK-NEXT:    arith.select %[[SECOND]], %x, %[[W]]
// CHECK:       %{{.*}}, %[[X:.*]] = scf.if %p
// CHECK:         scf.yield %[[T]], %x
// CHECK:       } else {
// CHECK-NEXT:    scf.yield %[[T]], %[[U]]
// CHECK:       func.return %[[X]]
func.func @carried(%x: !m, %n: index, %p: i1) -> !m {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %t = memref.alloca() : memref<2x!m>
  scf.for %i = %0 to %n step %1 {
    memref.store %x, %t[%i] : memref<2x!m>
  }
  scf.if %p {
    memref.store %x, %t[%1] : memref<2x!m>
  }
  %a = memref.load %t[%1] : memref<2x!m>
  func.return %a : !m
}

// Both regions of a while carry them: what the condition stores is seen in the body.

// CHECK-LABEL: func.func @repeated(
// CHECK:       %[[OUT:.*]] = scf.while (%[[M:.*]] = %{{.*}}) : (!coopmatrix.matrix<8x8xf32, acc>) -> !coopmatrix.matrix<8x8xf32, acc> {
// CHECK-NEXT:    %[[SUM:.*]] = coopmatrix.add %[[M]], %x
// CHECK-NEXT:    scf.condition(%p) %[[SUM]]
// CHECK:       ^{{.*}}(%[[N:.*]]: !coopmatrix.matrix<8x8xf32, acc>):
// CHECK-NEXT:    %[[NEG:.*]] = coopmatrix.neg %[[N]]
// CHECK-NEXT:    scf.yield %[[NEG]]
// CHECK:       func.return %[[OUT]]
func.func @repeated(%x: !m, %p: i1) -> !m {
  %0 = arith.constant 0 : index
  %t = memref.alloca() : memref<1x!m>
  memref.store %x, %t[%0] : memref<1x!m>
  scf.while : () -> () {
    %a = memref.load %t[%0] : memref<1x!m>
    %b = coopmatrix.add %a, %x : !m
    memref.store %b, %t[%0] : memref<1x!m>
    scf.condition(%p)
  } do {
    %c = memref.load %t[%0] : memref<1x!m>
    %d = coopmatrix.neg %c : !m
    memref.store %d, %t[%0] : memref<1x!m>
    scf.yield
  }
  %r = memref.load %t[%0] : memref<1x!m>
  func.return %r : !m
}
