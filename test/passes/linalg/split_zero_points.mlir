// RUN: coopc-opt %s -p 'generalize-linalg,split-zero-points,normalize' | filecheck %s

// A product of what is extended, the sums of columns and of rows, and the correction.

// CHECK-LABEL: func.func @both
// CHECK:         [[P:%.+]] = linalg.generic {{.*}} ins(%a, %b : tensor<4x6xi8>, tensor<6x5xi8>)
// CHECK:           arith.extsi
// CHECK-NEXT:      arith.extui
// CHECK-NEXT:      arith.muli
// CHECK-NEXT:      arith.addi
// CHECK:         [[B:%.+]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%b : tensor<6x5xi8>)
// CHECK:           arith.extui
// CHECK:         [[A:%.+]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%a : tensor<4x6xi8>)
// CHECK:           arith.extsi
// CHECK:         linalg.generic {{.*}} ins([[P]], [[B]], [[A]] : tensor<4x5xi32>, tensor<5xi32>, tensor<4xi32>)
// CHECK:           [[X:%.+]] = arith.muli %x, {{%.+}} : i32
// CHECK-NEXT:      arith.subi {{%.+}}, [[X]]
// CHECK-NEXT:      [[Y:%.+]] = arith.muli %y, {{%.+}} : i32
// CHECK-NEXT:      arith.subi {{%.+}}, [[Y]]
// CHECK-NEXT:      [[XY:%.+]] = arith.muli %x, %y
// CHECK-NEXT:      arith.muli [[XY]], {{%.+}} : i32
// CHECK-NEXT:      arith.addi
func.func @both(%a: tensor<4x6xi8>, %b: tensor<6x5xi8>, %c: tensor<4x5xi32>, %x: i32, %y: i32) -> tensor<4x5xi32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x6xi8>, tensor<6x5xi8>) outs(%c : tensor<4x5xi32>) {
  ^bb0(%i: i8, %j: i8, %o: i32):
    %p = arith.extsi %i : i8 to i32
    %q = arith.subi %p, %x : i32
    %r = arith.extui %j : i8 to i32
    %s = arith.subi %r, %y : i32
    %t = arith.muli %s, %q : i32
    %u = arith.addi %t, %o : i32
    linalg.yield %u : i32
  } -> tensor<4x5xi32>
  return %0 : tensor<4x5xi32>
}

// Weights without a zero point, as is usual: the sums of those alone.

// CHECK-LABEL: func.func @images
// CHECK:         [[P:%.+]] = linalg.generic {{.*}} ins(%a, %b : tensor<1x6x6x3xi8>, tensor<3x3x3x4xi8>)
// CHECK:         [[S:%.+]] = linalg.generic {{.*}} ins(%b : tensor<3x3x3x4xi8>)
// CHECK:         linalg.generic {{.*}} ins([[P]], [[S]] : tensor<1x4x4x4xi32>, tensor<4xi32>)
// CHECK-NOT:     linalg.generic
func.func @images(%a: tensor<1x6x6x3xi8>, %b: tensor<3x3x3x4xi8>, %c: tensor<1x4x4x4xi32>, %x: i32) -> tensor<1x4x4x4xi32> {
  %zero = arith.constant 0 : i32
  %0 = linalg.conv_2d_nhwc_hwcf_q ins(%a, %b, %x, %zero : tensor<1x6x6x3xi8>, tensor<3x3x3x4xi8>, i32, i32) outs(%c : tensor<1x4x4x4xi32>) -> tensor<1x4x4x4xi32>
  return %0 : tensor<1x4x4x4xi32>
}

// Sums of windows would be a product as large; and a row is computed as it is.

// CHECK-LABEL: func.func @windows
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @windows(%a: tensor<1x6x6x3xi8>, %b: tensor<3x3x3x4xi8>, %c: tensor<1x4x4x4xi32>, %x: i32) -> tensor<1x4x4x4xi32> {
  %0 = linalg.conv_2d_nhwc_hwcf_q ins(%a, %b, %x, %x : tensor<1x6x6x3xi8>, tensor<3x3x3x4xi8>, i32, i32) outs(%c : tensor<1x4x4x4xi32>) -> tensor<1x4x4x4xi32>
  return %0 : tensor<1x4x4x4xi32>
}

// CHECK-LABEL: func.func @row
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @row(%a: tensor<1x6xi8>, %b: tensor<6x5xi8>, %c: tensor<1x5xi32>, %x: i32) -> tensor<1x5xi32> {
  %0 = linalg.quantized_matmul ins(%a, %b, %x, %x : tensor<1x6xi8>, tensor<6x5xi8>, i32, i32) outs(%c : tensor<1x5xi32>) -> tensor<1x5xi32>
  return %0 : tensor<1x5xi32>
}

// Nothing is subtracted.

// CHECK-LABEL: func.func @none
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @none(%a: tensor<4x6xi8>, %b: tensor<6x5xi8>, %c: tensor<4x5xi32>) -> tensor<4x5xi32> {
  %zero = arith.constant 0 : i32
  %0 = linalg.quantized_matmul ins(%a, %b, %zero, %zero : tensor<4x6xi8>, tensor<6x5xi8>, i32, i32) outs(%c : tensor<4x5xi32>) -> tensor<4x5xi32>
  return %0 : tensor<4x5xi32>
}

// The elements of a diagonal are no rows.

// CHECK-LABEL: func.func @diagonal
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @diagonal(%a: tensor<4x4x6xi8>, %b: tensor<6x5xi8>, %c: tensor<4x5xi32>, %y: i32) -> tensor<4x5xi32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x4x6xi8>, tensor<6x5xi8>) outs(%c : tensor<4x5xi32>) {
  ^bb0(%i: i8, %j: i8, %o: i32):
    %p = arith.extsi %i : i8 to i32
    %r = arith.extsi %j : i8 to i32
    %s = arith.subi %r, %y : i32
    %t = arith.muli %p, %s : i32
    %u = arith.addi %o, %t : i32
    linalg.yield %u : i32
  } -> tensor<4x5xi32>
  return %0 : tensor<4x5xi32>
}

// No engine multiplies these.

// CHECK-LABEL: func.func @wide
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @wide(%a: tensor<4x6xi16>, %b: tensor<6x5xi16>, %c: tensor<4x5xi32>, %y: i32) -> tensor<4x5xi32> {
  %0 = linalg.quantized_matmul ins(%a, %b, %y, %y : tensor<4x6xi16>, tensor<6x5xi16>, i32, i32) outs(%c : tensor<4x5xi32>) -> tensor<4x5xi32>
  return %0 : tensor<4x5xi32>
}
