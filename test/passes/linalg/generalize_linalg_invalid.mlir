// RUN: coopc-opt %s -p generalize-linalg --verify-diagnostics --split-input-file | filecheck %s

// CHECK: tensor.reshape: expected sizes of tensor.from_elements, or static ones
func.func @f(%x: tensor<4xf32>, %s: tensor<2xi32>) -> tensor<2x?xf32> {
  %r = tensor.reshape %x(%s) : (tensor<4xf32>, tensor<2xi32>) -> tensor<2x?xf32>
  func.return %r : tensor<2x?xf32>
}

// -----

// CHECK: tensor.from_elements: expected 3 elements of tensor<3xf32>, got 2
func.func @f(%x: f32) -> tensor<3xf32> {
  %r = tensor.from_elements %x, %x : tensor<3xf32>
  func.return %r : tensor<3xf32>
}

// -----

// CHECK: arith.select: expected static sizes, as arith.select of one condition has, got tensor<?xf32>
func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>, %is: i1) -> tensor<?xf32> {
  %r = arith.select %is, %x, %y : tensor<?xf32>
  func.return %r : tensor<?xf32>
}

// -----

// CHECK: memref.alloc: memref.alloc is not supported in a function of linalg: run lift-memrefs-to-tensors before
func.func @f(%x: tensor<4xf32>) -> memref<4xf32> {
  %m = memref.alloc() : memref<4xf32>
  func.return %m : memref<4xf32>
}

// -----

// CHECK: scf.if: scf.if is not supported in a function of linalg: run unroll-loops before
func.func @f(%x: tensor<4xf32>, %is: i1) {
  scf.if %is {
  }
  func.return
}

// -----

// CHECK: tensor.pad: expected tensor.pad with one number: write linalg.generic
func.func @f(%x: tensor<4xi32>) -> tensor<5xi32> {
  %p = tensor.pad %x low[1] high[0] {
  ^bb0(%i: index):
    %n = arith.index_cast %i : index to i32
    tensor.yield %n : i32
  } : tensor<4xi32> to tensor<5xi32>
  func.return %p : tensor<5xi32>
}

// -----

// CHECK: tensor.pad: expected 2 known elements along dimension 0, which negative padding cuts off, got tensor<?xi32>
func.func @f(%x: tensor<?xi32>, %n: i32) -> tensor<?xi32> {
  %p = tensor.pad %x low[-1] high[-1] {
  ^bb0(%i: index):
    tensor.yield %n : i32
  } : tensor<?xi32> to tensor<?xi32>
  func.return %p : tensor<?xi32>
}

// -----

// CHECK: tensor.insert_slice: expected constant sizes and steps of 1 at an offset that the host does not know
func.func @f(%x: tensor<8xf32>, %y: tensor<2xf32>, %at: tensor<index>) -> tensor<8xf32> {
  %n = tensor.extract %at[] : tensor<index>
  %r = tensor.insert_slice %y into %x[%n] [2] [3] : tensor<2xf32> into tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// -----

// CHECK: linalg.softmax: expected tensors: run lift-memrefs-to-tensors before
func.func @f(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  linalg.softmax dimension(0) ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  func.return
}

// -----

// CHECK: linalg.copy: expected tensors: run lift-memrefs-to-tensors before
func.func @f(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  linalg.copy ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  func.return
}

// -----

// CHECK: linalg.softmax: expected a softmax of one type, got tensor<4xf16> and tensor<4xf32>
func.func @f(%x: tensor<4xf16>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = linalg.softmax dimension(0) ins(%x : tensor<4xf16>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// CHECK: tensor.extract_slice: expected a part of tensor<4xf32> along dimension 0, got 3 to 4
func.func @f(%x: tensor<4xf32>) -> tensor<2xf32> {
  %c3 = arith.constant 3 : index
  %r = tensor.extract_slice %x[%c3] [2] [1] : tensor<4xf32> to tensor<2xf32>
  func.return %r : tensor<2xf32>
}

// -----

// CHECK: arith.index_cast: expected elements that are floats or integers, got index
func.func @f(%x: tensor<4xi32>) -> tensor<4xindex> {
  %r = arith.index_cast %x : tensor<4xi32> to tensor<4xindex>
  func.return %r : tensor<4xindex>
}
