// RUN: coopc-opt %s -p unroll-loops --verify-diagnostics --split-input-file | filecheck %s

// CHECK: scf.for: expected scf.for with constant bounds, so that it can be unrolled: make the sizes static, or write linalg.generic
func.func @f(%m: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    linalg.exp ins(%m : memref<4xf32>) outs(%m : memref<4xf32>)
  }
  func.return
}

// -----

// CHECK: scf.for: expected at most 1024 trips of the loops of a function, which are unrolled
func.func @f(%m: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5000 = arith.constant 5000 : index
  scf.for %i = %c0 to %c5000 step %c1 {
    linalg.exp ins(%m : memref<4xf32>) outs(%m : memref<4xf32>)
  }
  func.return
}

// -----

// CHECK: scf.if: expected scf.if on a constant: write arith.select in the body of linalg.generic
func.func @f(%m: memref<4xf32>, %is: i1) {
  scf.if %is {
    linalg.exp ins(%m : memref<4xf32>) outs(%m : memref<4xf32>)
  }
  func.return
}

// -----

// CHECK: scf.while: scf.while is not supported in a function of linalg
func.func @f(%m: memref<4xf32>, %is: i1) {
  scf.while : () -> () {
    scf.condition(%is)
  } do {
    linalg.exp ins(%m : memref<4xf32>) outs(%m : memref<4xf32>)
    scf.yield
  }
  func.return
}
