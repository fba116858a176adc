// RUN: coopc-opt %s -p generalize-linalg | filecheck %s

// Named operations become generic ones, and what is unused goes.

// CHECK-LABEL: func.func @product(
// CHECK-NOT:     linalg.exp
// CHECK:         %[[P:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xf16>, tensor<8x6xf16>) outs(%c : tensor<4x6xf32>) {
// CHECK-NEXT:    ^bb0(%[[X:.*]]: f16, %[[Y:.*]]: f16, %[[S:.*]]: f32):
// CHECK-NEXT:      %[[XE:.*]] = arith.extf %[[X]] : f16 to f32
// CHECK-NEXT:      %[[YE:.*]] = arith.extf %[[Y]] : f16 to f32
// CHECK-NEXT:      %[[M:.*]] = arith.mulf %[[XE]], %[[YE]] : f32
// CHECK-NEXT:      %[[T:.*]] = arith.addf %[[M]], %[[S]] : f32
// CHECK-NEXT:      linalg.yield %[[T]] : f32
// CHECK:         func.return %[[P]]
func.func @product(%a: tensor<4x8xf16>, %b: tensor<8x6xf16>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %p = linalg.matmul ins(%a, %b : tensor<4x8xf16>, tensor<8x6xf16>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  %u = linalg.exp ins(%p : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %p : tensor<4x6xf32>
}

// A step and a dilation are factors in the map.
// CHECK-LABEL: func.func @conv(
// CHECK:         affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, ((d1 * 2) + d4), (d2 + (d5 * 3)), d6)>
func.func @conv(%x: tensor<1x7x7x2xf32>, %w: tensor<3x2x2x4xf32>, %y: tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32> {
  %r = linalg.conv_2d_nhwc_hwcf {strides = dense<[2, 1]> : tensor<2xi64>, dilations = dense<[1, 3]> : tensor<2xi64>} ins(%x, %w : tensor<1x7x7x2xf32>, tensor<3x2x2x4xf32>) outs(%y : tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  func.return %r : tensor<1x3x4x4xf32>
}

// CHECK-LABEL: func.func @softmax(
// CHECK:         arith.constant 0xff800000 : f32
// CHECK:         linalg.fill
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK:           arith.maximumf
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
// CHECK:           arith.subf
// CHECK-NEXT:      math.exp
// CHECK:         linalg.fill
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK:           arith.addf
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
// CHECK:           arith.divf
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%x : tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %r : tensor<4x8xf32>
}

// Sizes that one of both types says are known.
// CHECK-LABEL: func.func @softmax_of_some_sizes(
// CHECK:         %[[X:.*]] = tensor.cast %x : tensor<4x?xf32> to tensor<4x8xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[X]] : tensor<4x8xf32>)
// CHECK:           arith.divf
// CHECK:         } -> tensor<4x8xf32>
// CHECK-NEXT:    %[[R:.*]] = tensor.cast %{{.*}} : tensor<4x8xf32> to tensor<?x8xf32>
// CHECK-NEXT:    func.return %[[R]]
func.func @softmax_of_some_sizes(%x: tensor<4x?xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %r = linalg.softmax dimension(1) ins(%x : tensor<4x?xf32>) outs(%y : tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %r : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @concat(
// CHECK:         %[[M:.*]] = tensor.dim %x, %{{.*}} : tensor<?x5xf32>
// CHECK:         %[[N:.*]] = arith.addi %[[M]], %{{.*}} : index
// CHECK:         %[[E:.*]] = tensor.empty(%[[N]]) : tensor<?x5xf32>
// CHECK:         %[[X:.*]] = tensor.insert_slice %x into %[[E]][0, 0] [%[[M]], 5] [1, 1]
// CHECK-NEXT:    tensor.insert_slice %y into %[[X]][%[[M]], 0] [3, 5] [1, 1]
func.func @concat(%x: tensor<?x5xf32>, %y: tensor<3x5xf32>) -> tensor<?x5xf32> {
  %r = tensor.concat dim(0) %x, %y : (tensor<?x5xf32>, tensor<3x5xf32>) -> tensor<?x5xf32>
  func.return %r : tensor<?x5xf32>
}

// A pad is a fill around a slice; offsets that are constants are in the operation.
// CHECK-LABEL: func.func @pad(
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<7xf32>
// CHECK:         %[[F:.*]] = linalg.fill ins(%zero : f32) outs(%[[E]] : tensor<7xf32>)
// CHECK:         %[[P:.*]] = tensor.insert_slice %x into %[[F]][1] [4] [1]
// CHECK:         tensor.extract_slice %[[P]][2] [4] [1]
func.func @pad(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %c2 = arith.constant 2 : index
  %p = tensor.pad %x low[1] high[2] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<7xf32>
  %s = tensor.extract_slice %p[%c2] [4] [1] : tensor<7xf32> to tensor<4xf32>
  func.return %s : tensor<4xf32>
}

// Negative padding cuts elements off first.
// CHECK-LABEL: func.func @cropped(
// CHECK:         %[[X:.*]] = tensor.extract_slice %x[2, 0] [3, 7] [1, 1]
// CHECK:         tensor.insert_slice %[[X]] into %{{.*}}[0, 1] [3, 7] [1, 1]
func.func @cropped(%x: tensor<5x9xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[-2, 1] high[1, -2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<5x9xf32> to tensor<4x8xf32>
  func.return %p : tensor<4x8xf32>
}

// Arithmetic on tensors is one of elements; a fill has a number of their type.
// CHECK-LABEL: func.func @tensors(
// CHECK:         %[[H:.*]] = arith.truncf %f : f32 to f16
// CHECK:         linalg.fill ins(%[[H]] : f16)
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %x : tensor<4xf16>, tensor<4xf16>)
// CHECK:           arith.mulf %{{.*}}, %{{.*}} : f16
func.func @tensors(%x: tensor<4xf16>, %f: f32) -> tensor<4xf16> {
  %e = linalg.fill ins(%f : f32) outs(%x : tensor<4xf16>) -> tensor<4xf16>
  %r = arith.mulf %e, %x : tensor<4xf16>
  func.return %r : tensor<4xf16>
}

// As MLIR 21 prints it.
// CHECK-LABEL: func.func @transposed(
// CHECK:         affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @transposed(%a: tensor<4x8xf32>, %b: tensor<6x8xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %p = linalg.matmul_transpose_b ins(%a, %b : tensor<4x8xf32>, tensor<6x8xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %p : tensor<4x6xf32>
}

// Where an offset is an element of a tensor, a kernel reads it: each element of the
// result is one of the part, or of what is around it.
// CHECK-LABEL: func.func @read_offsets(
// CHECK-NOT:     slice
// CHECK:         linalg.generic {{.*}} ins(%x : tensor<5x8xf32>)
// CHECK:           %[[AT:.*]] = tensor.extract %at[] : tensor<index>
// CHECK:           %[[ROW:.*]] = arith.subi %{{.*}}, %[[AT]] : index
// CHECK:           %[[FITS:.*]] = arith.cmpi ult, %[[ROW]], %{{.*}} : index
// CHECK:           %[[SAFE:.*]] = arith.select %[[FITS]], %[[ROW]], %{{.*}} : index
// CHECK:           %[[NEW:.*]] = tensor.extract %y[%[[SAFE]], %{{.*}}] : tensor<2x8xf32>
// CHECK:           arith.select %{{.*}}, %[[NEW]], %{{.*}} : f32
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(
// CHECK:           tensor.extract %x[%{{.*}}, %{{.*}}] : tensor<5x8xf32>
func.func @read_offsets(%x: tensor<5x8xf32>, %y: tensor<2x8xf32>, %at: tensor<index>) -> (tensor<5x8xf32>, tensor<4xf32>) {
  %n = tensor.extract %at[] : tensor<index>
  %r = tensor.insert_slice %y into %x[%n, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<5x8xf32>
  %s = tensor.extract_slice %x[%n, 1] [1, 4] [1, 2] : tensor<5x8xf32> to tensor<4xf32>
  func.return %r, %s : tensor<5x8xf32>, tensor<4xf32>
}

// Elements are read where they are used, once, also through arithmetic and as operands.
// CHECK-LABEL: func.func @elements(
// CHECK-NOT:     tensor.extract
// CHECK:         linalg.generic {{{.*}}} ins(%x : tensor<4xf32>)
// CHECK-NEXT:    ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:      %[[E:.*]] = tensor.extract %s[] : tensor<f32>
// CHECK-NEXT:      %[[T:.*]] = arith.addf %[[E]], %[[E]] : f32
// CHECK-NEXT:      %[[M:.*]] = arith.mulf %[[X]], %[[T]] : f32
// CHECK-NEXT:      %[[A:.*]] = arith.addf %[[M]], %[[E]] : f32
// CHECK-NEXT:      linalg.yield %[[A]] : f32
func.func @elements(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %e = tensor.extract %s[] : tensor<f32>
  %t = arith.addf %e, %e : f32
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x, %e : tensor<4xf32>, f32) outs(%x : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %t : f32
    %s2 = arith.addf %m, %b : f32
    linalg.yield %s2 : f32
  } -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// One condition of all elements.
// CHECK-LABEL: func.func @selected(
// CHECK:         ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:      arith.select %is, %[[X]], %[[Y]] : f32
func.func @selected(%x: tensor<4xf32>, %y: tensor<4xf32>, %is: i1) -> tensor<4xf32> {
  %r = arith.select %is, %x, %y : tensor<4xf32>
  func.return %r : tensor<4xf32>
}
