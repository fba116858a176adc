// RUN: coopc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: expected 1 inputs and one output, got 3 operands
func.func @f(%a: tensor<8xf32>) {
  %0 = linalg.tanh ins(%a, %a : tensor<8xf32>, tensor<8xf32>) outs(%a : tensor<8xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: floor is not defined on i32
func.func @f(%a: tensor<8xi32>) {
  %0 = linalg.floor ins(%a : tensor<8xi32>) outs(%a : tensor<8xi32>) -> tensor<8xi32>
  func.return
}

// -----

// CHECK: linalg.softmax: expected a dimension below 1, got 1
func.func @f(%a: tensor<8xf32>) {
  %0 = linalg.softmax dimension(1) ins(%a : tensor<8xf32>) outs(%a : tensor<8xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: linalg.softmax: expected an output of the sizes of tensor<?x8xf32>, got tensor<4x9xf32>
func.func @f(%a: tensor<?x8xf32>, %b: tensor<4x9xf32>) {
  %0 = linalg.softmax dimension(1) ins(%a : tensor<?x8xf32>) outs(%b : tensor<4x9xf32>) -> tensor<4x9xf32>
  func.return
}

// -----

// CHECK: linalg.softmax: expected a result of the output's type tensor<?xf32>, got tensor<8xf32>
func.func @f(%a: tensor<8xf32>, %b: tensor<?xf32>) {
  %0 = linalg.softmax dimension(0) ins(%a : tensor<8xf32>) outs(%b : tensor<?xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: expected one shape and element type, got memref<8xf32>, tensor<4xf32>
func.func @f(%m: memref<8xf32>) {
  %0 = bufferization.to_tensor %m : memref<8xf32> to tensor<4xf32>
  func.return
}

// -----

// CHECK: expected indexing_maps = [..], which say what it is
func.func @f(%a: tensor<8xf32>, %s: tensor<f32>) {
  %0 = linalg.contract ins(%a, %a : tensor<8xf32>, tensor<8xf32>) outs(%s : tensor<f32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: expected a kind
func.func @f(%a: tensor<8xf32>) {
  %0 = linalg.elementwise ins(%a : tensor<8xf32>) outs(%a : tensor<8xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: expected 2 inputs and one output, got 2 operands
func.func @f(%a: tensor<8xf32>, %s: tensor<f32>) {
  %0 = linalg.dot ins(%a : tensor<8xf32>) outs(%s : tensor<f32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: arith.addf: expected 2 operands, got 1
func.func @f(%a: tensor<8xf32>) {
  %0 = linalg.map { arith.addf } ins(%a : tensor<8xf32>) outs(%a : tensor<8xf32>)
  func.return
}

// -----

// CHECK: scf.forall: expected an argument for each loop and each output
func.func @f() {
  "scf.forall"() <{staticLowerBound = array<i64: 0>, staticUpperBound = array<i64: 4>, staticStep = array<i64: 1>, operandSegmentSizes = array<i32: 0, 0, 0, 0>}> ({
    scf.forall.in_parallel {
    }
  }) : () -> ()
  func.return
}

// -----

// CHECK: linalg.reduce: expected 1 outputs, got 2
func.func @f(%a: memref<4x8xf32>, %b: memref<4xf32>) {
  "linalg.reduce"(%a, %b, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: f32, %y: f32, %z: f32):
    linalg.yield %x, %y : f32, f32
  }) : (memref<4x8xf32>, memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

// -----

// CHECK: linalg.map: expected 1 outputs, got 0
func.func @f() {
  "linalg.map"() ({
  ^bb0:
    linalg.yield
  }) : () -> ()
  func.return
}

// -----

// CHECK: tensor.generate: expected 1 sizes, got 0
func.func @f() {
  %0 = tensor.generate {
  ^bb0(%i: index):
    %x = arith.constant 0.0 : f32
    tensor.yield %x : f32
  } : tensor<?xf32>
  func.return
}

// -----

// CHECK: tensor.generate: expected 2 arguments of index
func.func @f() {
  %0 = tensor.generate {
  ^bb0(%i: index):
    %x = arith.constant 0.0 : f32
    tensor.yield %x : f32
  } : tensor<4x4xf32>
  func.return
}

// -----

// CHECK: tensor.generate: expected tensor.yield of f32
func.func @f() {
  %0 = tensor.generate {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<4xf32>
  func.return
}

// -----

// CHECK: tensor.reshape: expected as many elements as tensor<4xf32>, got tensor<2x3xf32>
func.func @f(%a: tensor<4xf32>, %s: tensor<2xi64>) {
  %0 = tensor.reshape %a(%s) : (tensor<4xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: tensor.reshape: expected a size of each dimension, got tensor<1xi64>
func.func @f(%a: tensor<4xf32>, %s: tensor<1xi64>) {
  %0 = tensor.reshape %a(%s) : (tensor<4xf32>, tensor<1xi64>) -> tensor<2x2xf32>
  func.return
}

// -----

// CHECK: tensor.extract_slice: expected a part of tensor<4x5xf32> along dimension 0, got 3 to 4
func.func @f(%a: tensor<4x5xf32>) {
  %0 = tensor.extract_slice %a[3, 0] [2, 5] [1, 1] : tensor<4x5xf32> to tensor<2x5xf32>
  func.return
}

// -----

// CHECK: tensor.insert_slice: expected a part of tensor<4x5xf32> along dimension 1, got 0 to 6
func.func @f(%a: tensor<4x5xf32>, %b: tensor<4x3xf32>) {
  %0 = tensor.insert_slice %b into %a[0, 0] [4, 3] [1, 3] : tensor<4x3xf32> into tensor<4x5xf32>
  func.return
}

// -----

// CHECK: tensor.extract: expected 1 indices, got 2
func.func @f(%a: tensor<4xf32>, %i: index) {
  %0 = tensor.extract %a[%i, %i] : tensor<4xf32>
  func.return
}

// -----

// CHECK: tensor.collapse_shape: expected as many elements as tensor<4x5xf32>, got tensor<21xf32>
func.func @f(%a: tensor<4x5xf32>) {
  %0 = tensor.collapse_shape %a [[0, 1]] : tensor<4x5xf32> into tensor<21xf32>
  func.return
}

// -----

// CHECK: linalg.generic: expected linalg.yield of f32
func.func @f(%a: tensor<4xf32>) {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.constant 1 : i32
    linalg.yield %z : i32
  } -> tensor<4xf32>
  func.return
}

// -----

// CHECK: linalg.conv_2d_nhwc_hwcf: expected 2 strides of 1 or more, got dense<[1, 0]> : tensor<2xi64>
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x4xf32>, %c: tensor<1x6x6x4xf32>) {
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<[1, 0]> : tensor<2xi64>} ins(%a, %b : tensor<1x8x8x4xf32>, tensor<3x3x4x4xf32>) outs(%c : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

// CHECK: linalg.pooling_nhwc_max: expected 2 dilations of 1 or more, got dense<-1> : tensor<2xi64>
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3xf32>, %c: tensor<1x6x6x4xf32>) {
  %0 = linalg.pooling_nhwc_max {dilations = dense<-1> : tensor<2xi64>} ins(%a, %b : tensor<1x8x8x4xf32>, tensor<3x3xf32>) outs(%c : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

// CHECK: linalg.conv_3d_ndhwc_dhwcf: expected 3 strides of 1 or more, got dense<1> : tensor<2xi64>
func.func @f(%a: tensor<1x8x8x8x4xf32>, %b: tensor<3x3x3x4x4xf32>, %c: tensor<1x6x6x6x4xf32>) {
  %0 = linalg.conv_3d_ndhwc_dhwcf {strides = dense<1> : tensor<2xi64>} ins(%a, %b : tensor<1x8x8x8x4xf32>, tensor<3x3x3x4x4xf32>) outs(%c : tensor<1x6x6x6x4xf32>) -> tensor<1x6x6x6x4xf32>
  func.return
}
