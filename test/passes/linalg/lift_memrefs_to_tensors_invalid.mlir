// RUN: coopc-opt %s -p lift-memrefs-to-tensors --verify-diagnostics --split-input-file | filecheck %s

// CHECK: arith.select: arith.select on memrefs is not supported in a function of linalg: write it on tensors, or as linalg.generic
func.func @f(%x: memref<4xf32>, %y: memref<4xf32>, %is: i1) {
  %m = arith.select %is, %x, %y : memref<4xf32>
  linalg.exp ins(%m : memref<4xf32>) outs(%m : memref<4xf32>)
  func.return
}

// -----

// CHECK: memref.reinterpret_cast: expected memref.reinterpret_cast of static sizes, whose elements follow each other: write memref.subview
func.func @f(%x: memref<4x4xf32>) {
  %t = memref.reinterpret_cast %x to offset: [0], sizes: [4, 4], strides: [1, 4] : memref<4x4xf32> to memref<4x4xf32, strided<[1, 4]>>
  linalg.exp ins(%t : memref<4x4xf32, strided<[1, 4]>>) outs(%t : memref<4x4xf32, strided<[1, 4]>>)
  func.return
}

// -----

// CHECK: memref.get_global: expected @w to be a memref.global with a dense value: pass it as an argument
memref.global "private" @w : memref<4xf32> = uninitialized
func.func @f(%x: memref<4xf32>) {
  %w = memref.get_global @w : memref<4xf32>
  linalg.exp ins(%w : memref<4xf32>) outs(%x : memref<4xf32>)
  func.return
}

// -----

// CHECK: func.func: expected a function of one block
func.func @f(%x: memref<4xf32>) {
  linalg.exp ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  "cf.br"()[^bb1] : () -> ()
^bb1:
  func.return
}
