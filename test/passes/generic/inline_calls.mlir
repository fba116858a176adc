// RUN: coopc-opt %s -p inline-calls | filecheck %s

// Functions of linalg get the bodies of what they call; private functions go.

// CHECK-NOT:   @twice
// CHECK-NOT:   @same
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @same(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = linalg.add ins(%y, %y : tensor<4xf32>, tensor<4xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
func.func private @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// A public function stays: others may call it.
// CHECK-LABEL: func.func @public(
func.func @public(%x: memref<4xf32>) {
  linalg.exp ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  func.return
}

// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    linalg.exp ins(%m : memref<4xf32>) outs(%m : memref<4xf32>)
// CHECK-NEXT:    %[[A:.*]] = linalg.add ins(%x, %x :
// CHECK-NEXT:    %[[B:.*]] = linalg.add ins(%[[A]], %[[A]] :
// CHECK-NEXT:    func.return %[[B]]
func.func @main(%x: tensor<4xf32>, %m: memref<4xf32>) -> tensor<4xf32> {
  func.call @public(%m) : (memref<4xf32>) -> ()
  %a = func.call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = func.call @twice(%a) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// Functions without linalg and kernels keep their calls.
// CHECK-LABEL: func.func @number(
// CHECK:         func.call @seven(
// CHECK-LABEL: func.func private @seven(
func.func @number() -> i32 {
  %n = func.call @seven() : () -> i32
  func.return %n : i32
}
func.func private @seven() -> i32 {
  %n = arith.constant 7 : i32
  func.return %n : i32
}
