// RUN: coopc-opt %s -p 'pad-product-rows{device=nvidia}' | filecheck %s

// Rows of A go along K: they only get longer.  Rows of B are N: the product has 1008
// columns, of which 1003 are stored.

// CHECK-LABEL: func.func @odd
// CHECK:       %[[EA:.*]] = tensor.empty() : tensor<600x608xf16>
// CHECK:       %[[IA:.*]] = tensor.insert_slice %{{.*}} into %[[EA]][0, 0] [600, 601] [1, 1]
// CHECK:       %[[A:.*]] = tensor.extract_slice %[[IA]][0, 0] [600, 601] [1, 1]
// CHECK:       %[[EB:.*]] = tensor.empty() : tensor<601x1008xf16>
// CHECK:       %[[B:.*]] = tensor.insert_slice %{{.*}} into %[[EB]][0, 0] [601, 1003] [1, 1]
// CHECK:       %[[C:.*]] = linalg.fill {{.*}} -> tensor<600x1008xf32>
// CHECK:       %[[R:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[B]] : tensor<600x601xf16>, tensor<601x1008xf16>) outs(%[[C]] : tensor<600x1008xf32>)
// CHECK:       tensor.extract_slice %[[R]][0, 0] [600, 1003] [1, 1]
func.func @odd(%a: memref<600x601xf16>, %b: memref<601x1003xf16>, %c: memref<600x1003xf32>) {
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%c : memref<600x1003xf32>)
  linalg.matmul ins(%a, %b : memref<600x601xf16>, memref<601x1003xf16>) outs(%c : memref<600x1003xf32>)
  func.return
}

// B transposed: its rows go along K, too.  A has aligned rows, though 601 is odd.

// CHECK-LABEL: func.func @transposed
// CHECK-NOT:   tensor.empty() : tensor<600x608x
// CHECK:       tensor.empty() : tensor<1003x608xf16>
// CHECK:       ins(%{{.*}}, %{{.*}} : tensor<600x601xf16>, tensor<1003x601xf16>) outs(%{{.*}} : tensor<600x1003xf32>)
func.func @transposed(%a: memref<600x601xf16, strided<[608, 1]>>, %b: memref<1003x601xf16>, %c: memref<600x1003xf32>) {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<600x601xf16, strided<[608, 1]>>, memref<1003x601xf16>) outs(%c : memref<600x1003xf32>) {
  ^bb0(%x: f16, %y: f16, %s: f32):
    %xe = arith.extf %x : f16 to f32
    %ye = arith.extf %y : f16 to f32
    %p = arith.mulf %xe, %ye : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }
  func.return
}

// Aligned rows, 16 rows of C, types that the device does not multiply, and sizes that
// are not known: these stay.

// CHECK-LABEL: func.func @aligned
// CHECK:       linalg.matmul ins(%a, %b : memref<600x608xf16>
func.func @aligned(%a: memref<600x608xf16>, %b: memref<608x1008xf16>, %c: memref<600x1008xf32>) {
  linalg.matmul ins(%a, %b : memref<600x608xf16>, memref<608x1008xf16>) outs(%c : memref<600x1008xf32>)
  func.return
}

// CHECK-LABEL: func.func @few_rows
// CHECK:       linalg.matmul ins(%a, %b : memref<16x4099xf16>
func.func @few_rows(%a: memref<16x4099xf16>, %b: memref<4099x4097xf16>, %c: memref<16x4097xf32>) {
  linalg.matmul ins(%a, %b : memref<16x4099xf16>, memref<4099x4097xf16>) outs(%c : memref<16x4097xf32>)
  func.return
}

// CHECK-LABEL: func.func @f32
// CHECK:       linalg.matmul ins(%a, %b : memref<600x601xf32>
func.func @f32(%a: memref<600x601xf32>, %b: memref<601x1003xf32>, %c: memref<600x1003xf32>) {
  linalg.matmul ins(%a, %b : memref<600x601xf32>, memref<601x1003xf32>) outs(%c : memref<600x1003xf32>)
  func.return
}

// CHECK-LABEL: func.func @dynamic
// CHECK:       linalg.matmul ins(%a, %b : memref<?x?xf16>
func.func @dynamic(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf16>, memref<?x?xf16>) outs(%c : memref<?x?xf32>)
  func.return
}

// A generic with a scalar is no product.

// CHECK-LABEL: func.func @scalar
// CHECK:       ins(%{{.*}}, %{{.*}} : tensor<600x601xf16>, f16)
func.func @scalar(%a: tensor<600x601xf16>, %s: f16) -> tensor<600x601xf16> {
  %e = tensor.empty() : tensor<600x601xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %s : tensor<600x601xf16>, f16) outs(%e : tensor<600x601xf16>) {
  ^bb0(%x: f16, %y: f16, %z: f16):
    %p = arith.mulf %x, %y : f16
    linalg.yield %p : f16
  } -> tensor<600x601xf16>
  func.return %r : tensor<600x601xf16>
}
