// RUN: coopc-opt %s -p lift-memrefs-to-tensors | filecheck %s

// What memory holds is a tensor; each argument is read once and written once.

// CHECK-LABEL: func.func @allocated(%x: memref<4x6xf32, strided<[?, 1]>>, %y: memref<4x6xf32>) -> tensor<4x6xf32> {
// CHECK-NEXT:    %[[X:.*]] = bufferization.to_tensor %x restrict : memref<4x6xf32, strided<[?, 1]>> to tensor<4x6xf32>
// CHECK-NEXT:    %[[Y:.*]] = bufferization.to_tensor %y restrict writable
// CHECK-NEXT:    %a = tensor.empty() : tensor<4x6xf32>
// CHECK-NEXT:    %[[E:.*]] = linalg.exp ins(%[[X]] : tensor<4x6xf32>) outs(%a : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT:    %[[S:.*]] = linalg.add ins(%[[E]], %[[Y]] : tensor<4x6xf32>, tensor<4x6xf32>) outs(%[[Y]] : tensor<4x6xf32>)
// CHECK-NEXT:    %[[L:.*]] = linalg.log ins(%[[S]] : tensor<4x6xf32>) outs(%[[S]] : tensor<4x6xf32>)
// CHECK-NEXT:    bufferization.materialize_in_destination %[[L]] in restrict writable %y
// CHECK-NEXT:    func.return %[[E]] : tensor<4x6xf32>
func.func @allocated(%x: memref<4x6xf32, strided<[?, 1]>>, %y: memref<4x6xf32>) -> memref<4x6xf32> {
  %a = memref.alloc() : memref<4x6xf32>
  linalg.exp ins(%x : memref<4x6xf32, strided<[?, 1]>>) outs(%a : memref<4x6xf32>)
  linalg.add ins(%a, %y : memref<4x6xf32>, memref<4x6xf32>) outs(%y : memref<4x6xf32>)
  linalg.log ins(%y : memref<4x6xf32>) outs(%y : memref<4x6xf32>)
  func.return %a : memref<4x6xf32>
}

// A write through views is a write to all that they lead from.
// CHECK-LABEL: func.func @views(
// CHECK:         %[[X:.*]] = bufferization.to_tensor %x restrict writable
// CHECK-NEXT:    %[[P:.*]] = tensor.extract_slice %[[X]][2, 0] [2, 6] [1, 1] : tensor<4x6xf32> to tensor<2x6xf32>
// CHECK-NEXT:    %[[C:.*]] = tensor.collapse_shape %[[P]] {{.*}} : tensor<2x6xf32> into tensor<12xf32>
// CHECK-NEXT:    %[[E:.*]] = linalg.exp ins(%[[C]] : tensor<12xf32>)
// CHECK-NEXT:    %[[Q:.*]] = tensor.extract_slice %[[X]][2, 0]
// CHECK-NEXT:    %[[W:.*]] = tensor.expand_shape %[[E]] {{.*}} output_shape [2, 6]
// CHECK-NEXT:    %[[N:.*]] = tensor.insert_slice %[[W]] into %[[X]][2, 0] [2, 6] [1, 1]
// CHECK-NEXT:    bufferization.materialize_in_destination %[[N]] in restrict writable %x
func.func @views(%x: memref<4x6xf32>) {
  %p = memref.subview %x[2, 0] [2, 6] [1, 1] : memref<4x6xf32> to memref<2x6xf32, strided<[6, 1], offset: 12>>
  %c = memref.collapse_shape %p [[0, 1]] : memref<2x6xf32, strided<[6, 1], offset: 12>> into memref<12xf32, strided<[1], offset: 12>>
  linalg.exp ins(%c : memref<12xf32, strided<[1], offset: 12>>) outs(%c : memref<12xf32, strided<[1], offset: 12>>)
  func.return
}

// Elements that a body loads are those of the tensor.
// CHECK-LABEL: func.func @gather(
// CHECK:         tensor.extract %{{.*}}[%{{.*}}] : tensor<8xf32>
// CHECK-NOT:     memref.load
func.func @gather(%x: memref<8xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%y : memref<4xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %v = memref.load %x[%i] : memref<8xf32>
    linalg.yield %v : f32
  }
  func.return
}

// One multiplication stays as it is.
// CHECK-LABEL: func.func @product(
// CHECK-NEXT:    linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
// CHECK-NEXT:    func.return
func.func @product(%a: memref<8x8xf32>, %c: memref<8x8xf32>) {
  linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  func.return
}

// A copy between types of which each says one size.
// CHECK-LABEL: func.func @copy_of_some_sizes(
// CHECK:         %[[X:.*]] = bufferization.to_tensor %x
// CHECK:         %[[C:.*]] = tensor.cast %[[X]] : tensor<?x2xf32> to tensor<16x?xf32>
// CHECK:         tensor.insert_slice %[[C]] into
func.func @copy_of_some_sizes(%x: memref<?x2xf32>, %y: memref<16x9xf32>, %n: index) {
  %s = memref.subview %y[0, 3] [16, %n] [1, 1] : memref<16x9xf32> to memref<16x?xf32, strided<[9, 1], offset: 3>>
  memref.copy %x, %s : memref<?x2xf32> to memref<16x?xf32, strided<[9, 1], offset: 3>>
  func.return
}
