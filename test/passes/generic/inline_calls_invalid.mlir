// RUN: coopc-opt %s -p inline-calls --verify-diagnostics --split-input-file | filecheck %s

// CHECK: func.call: recursion is not supported: @again
func.func @again(%x: tensor<4xf32>) {
  func.call @more(%x) : (tensor<4xf32>) -> ()
  func.return
}
func.func @more(%x: tensor<4xf32>) {
  func.call @again(%x) : (tensor<4xf32>) -> ()
  func.return
}

// -----

// CHECK: func.call: @outside has no body: call a function of the module, or write what it computes
func.func private @outside(tensor<4xf32>)
func.func @f(%x: tensor<4xf32>) {
  func.call @outside(%x) : (tensor<4xf32>) -> ()
  func.return
}

// -----

// CHECK: func.call: expected a function of one block, got 2
func.func private @blocks(%x: tensor<4xf32>) {
  "cf.br"()[^bb1] : () -> ()
^bb1:
  func.return
}
func.func @f(%x: tensor<4xf32>) {
  func.call @blocks(%x) : (tensor<4xf32>) -> ()
  func.return
}
