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

// CHECK: scf.if: expected scf.if on a constant, as one branch accesses memory (linalg.exp): write tensors
func.func @f(%m: memref<4xf32>, %is: i1) {
  scf.if %is {
    linalg.exp ins(%m : memref<4xf32>) outs(%m : memref<4xf32>)
  }
  func.return
}

// -----

// CHECK: scf.if: expected scf.if on a constant, as one branch may divide by 0 (arith.divsi)
func.func @f(%x: tensor<4xi32>, %y: tensor<4xi32>, %is: i1) -> tensor<4xi32> {
  %r = scf.if %is -> tensor<4xi32> {
    %q = arith.divsi %x, %y : tensor<4xi32>
    scf.yield %q : tensor<4xi32>
  } else {
    scf.yield %x : tensor<4xi32>
  }
  func.return %r : tensor<4xi32>
}

// -----

// CHECK: scf.if: expected scf.if on a constant, as one branch has sizes that may not fit (tensor.cast): make them static
func.func @f(%x: tensor<?xf32>, %y: tensor<4xf32>, %is: i1) -> tensor<4xf32> {
  %r = scf.if %is -> tensor<4xf32> {
    %s = tensor.cast %x : tensor<?xf32> to tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  } else {
    scf.yield %y : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// CHECK: scf.if: expected scf.if on a constant, as one branch asserts what need not hold (cf.assert)
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %is: i1, %ok: i1) -> tensor<4xf32> {
  %r = scf.if %is -> tensor<4xf32> {
    cf.assert %ok, "it must be"
    scf.yield %x : tensor<4xf32>
  } else {
    scf.yield %y : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// CHECK: scf.if: expected scf.if on a constant, as one branch accesses a position that may not exist (tensor.extract)
func.func @f(%x: tensor<4xf32>, %z: f32, %is: i1) -> tensor<4xf32> {
  %c4 = arith.constant 4 : index
  %r = scf.if %is -> f32 {
    %s = tensor.extract %x[%c4] : tensor<4xf32>
    scf.yield %s : f32
  } else {
    scf.yield %z : f32
  }
  %t = tensor.splat %r : tensor<4xf32>
  func.return %t : tensor<4xf32>
}

// -----

// CHECK: tensor.extract_slice: expected a part of tensor<8xf32> along dimension 0, got 2 to 8
func.func @f(%x: tensor<8xf32>, %y: tensor<3xf32>, %is: i1) -> tensor<3xf32> {
  %r = scf.if %is -> tensor<3xf32> {
    %s = tensor.extract_slice %x[2] [3] [3] : tensor<8xf32> to tensor<3xf32>
    scf.yield %s : tensor<3xf32>
  } else {
    scf.yield %y : tensor<3xf32>
  }
  func.return %r : tensor<3xf32>
}

// -----

// CHECK: scf.if: expected scf.if on a constant, as one branch accesses a position that may not exist (tensor.extract_slice)
func.func @f(%x: tensor<4xf32>, %y: tensor<2xf32>, %i: index) -> tensor<2xf32> {
  %c3 = arith.constant 3 : index
  %is = arith.cmpi ult, %i, %c3 : index
  %r = scf.if %is -> tensor<2xf32> {
    %s = tensor.extract_slice %x[%i] [2] [1] : tensor<4xf32> to tensor<2xf32>
    scf.yield %s : tensor<2xf32>
  } else {
    scf.yield %y : tensor<2xf32>
  }
  func.return %r : tensor<2xf32>
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
