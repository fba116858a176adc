// RUN: coopc-opt %s -p unroll-loops 2>&1 | filecheck %s

// Loops of constant bounds are written out, with the numbers of their indices.

// CHECK: remark: cf.assert: dropped, and taken to hold: sizes differ

// CHECK-LABEL: func.func @nested(
// CHECK-NOT:     scf.for
// CHECK:         %n = arith.constant 5 : index
// CHECK-NEXT:    %[[T0:.*]] = tensor.insert_slice %x into %t[%{{.*}}] [%n] [1]
// CHECK-NEXT:    %[[I:.*]] = arith.constant 5 : index
// CHECK-NEXT:    %[[S1:.*]] = arith.constant 3 : index
// CHECK-NEXT:    %[[T1:.*]] = tensor.insert_slice %x into %[[T0]][%[[I]]] [%[[S1]]] [1]
// CHECK-NEXT:    func.return %[[T1]]
func.func @nested(%x: tensor<?xf32>, %t: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %c8 step %c5 iter_args(%s = %t) -> (tensor<8xf32>) {
    %n = affine.min affine_map<(d0) -> (5, -d0 + 8)>(%i)
    %u = tensor.insert_slice %x into %s[%i] [%n] [1] : tensor<?xf32> into tensor<8xf32>
    scf.yield %u : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// Each point of a forall sees the outputs as they were.
// CHECK-LABEL: func.func @forall(
// CHECK:         %[[X0:.*]] = linalg.exp ins(%{{.*}} : tensor<2xf32>)
// CHECK:         %[[T0:.*]] = tensor.insert_slice %[[X0]] into %t[
// CHECK:         tensor.extract_slice %t[
// CHECK:         %[[X1:.*]] = linalg.exp ins(
// CHECK:         %[[T1:.*]] = tensor.insert_slice %[[X1]] into %[[T0]][
// CHECK-NEXT:    func.return %[[T1]]
func.func @forall(%t: tensor<4xf32>) -> tensor<4xf32> {
  %r = scf.forall (%i) = (0) to (4) step (2) shared_outs(%o = %t) -> (tensor<4xf32>) {
    %s = tensor.extract_slice %o[%i] [2] [1] : tensor<4xf32> to tensor<2xf32>
    %e = linalg.exp ins(%s : tensor<2xf32>) outs(%s : tensor<2xf32>) -> tensor<2xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %e into %o[%i] [2] [1] : tensor<2xf32> into tensor<4xf32>
    }
  }
  func.return %r : tensor<4xf32>
}

// The region that runs takes the place of an if.
// CHECK-LABEL: func.func @branch(
// CHECK-NOT:     scf.if
// CHECK:         linalg.exp
// CHECK-NOT:     linalg.log
func.func @branch(%m: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %is = arith.cmpi ult, %c1, %c2 : index
  scf.if %is {
    linalg.exp ins(%m : memref<4xf32>) outs(%m : memref<4xf32>)
  } else {
    linalg.log ins(%m : memref<4xf32>) outs(%m : memref<4xf32>)
  }
  func.return
}

// Index arithmetic that depends on sizes is arith.
// CHECK-LABEL: func.func @sizes(
// CHECK-NOT:     affine
// CHECK:         arith.ceildivsi
// CHECK-NOT:     cf.assert
func.func @sizes(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %h = affine.apply affine_map<(d0) -> (d0 ceildiv 2)>(%n)
  %ok = arith.cmpi sge, %n, %h : index
  cf.assert %ok, "sizes differ"
  %e = tensor.empty(%h) : tensor<?xf32>
  func.return %e : tensor<?xf32>
}

// Both branches of a condition that is not known are computed.
// CHECK-LABEL: func.func @both(
// CHECK-NEXT:    %[[E:.*]] = linalg.exp
// CHECK-NEXT:    %[[L:.*]] = linalg.log
// CHECK-NEXT:    %[[R:.*]] = arith.select %is, %[[E]], %[[L]] : tensor<4xf32>
// CHECK-NEXT:    func.return %[[R]]
func.func @both(%x: tensor<4xf32>, %is: i1) -> tensor<4xf32> {
  %r = scf.if %is -> tensor<4xf32> {
    %e = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  } else {
    %l = linalg.log ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %l : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// Nested conditions, positions that exist, and a branch that gives nothing.
// CHECK-LABEL: func.func @nested_branches(
// CHECK-NOT:     scf.if
// CHECK:         %[[S:.*]] = tensor.extract_slice %x[5]
// CHECK:         %[[I:.*]] = arith.select %other, %[[S]], %y : tensor<3xf32>
// CHECK:         %[[O:.*]] = arith.select %is, %[[I]], %y : tensor<3xf32>
// CHECK-NEXT:    func.return %[[O]]
func.func @nested_branches(%x: tensor<8xf32>, %y: tensor<3xf32>, %is: i1, %other: i1) -> tensor<3xf32> {
  %r = scf.if %is -> tensor<3xf32> {
    %n = scf.if %other -> tensor<3xf32> {
      %s = tensor.extract_slice %x[5] [3] [1] : tensor<8xf32> to tensor<3xf32>
      scf.yield %s : tensor<3xf32>
    } else {
      scf.yield %y : tensor<3xf32>
    }
    scf.yield %n : tensor<3xf32>
  } else {
    scf.yield %y : tensor<3xf32>
  }
  scf.if %is {
    %e = linalg.exp ins(%y : tensor<3xf32>) outs(%y : tensor<3xf32>) -> tensor<3xf32>
  }
  func.return %r : tensor<3xf32>
}
