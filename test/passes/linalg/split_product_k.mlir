// RUN: coopc-opt %s -p 'split-product-k{device=nvidia}' | filecheck %s
// RUN: coopc-opt %s -p 'split-product-k{device=lavapipe}' | filecheck %s --check-prefix=NONE

// Work-groups have tiles of twice as many rows and columns where each has a quarter of K.

// CHECK-LABEL: func.func @few_rows
// CHECK:       tensor.expand_shape %{{.*}} {{.*}} : tensor<128x4096xf16> into tensor<128x4x1024xf16>
// CHECK:       tensor.expand_shape %{{.*}} {{.*}} : tensor<4096x4096xf16> into tensor<4x1024x4096xf16>
// CHECK:       linalg.generic {{.*}} ins({{.*}} : tensor<128x4x1024xf16>, tensor<4x1024x4096xf16>) outs({{.*}} : tensor<4x128x4096xf32>)
// CHECK:       linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins({{.*}} : tensor<4x128x4096xf32>) outs({{.*}} : tensor<128x4096xf32>)
// CHECK:       arith.addf

// NONE-LABEL: func.func @few_rows
// NONE:       linalg.matmul ins(%a, %b : memref<128x4096xf16>
func.func @few_rows(%a: memref<128x4096xf16>, %b: memref<4096x4096xf16>, %c: memref<128x4096xf32>) {
  linalg.matmul ins(%a, %b : memref<128x4096xf16>, memref<4096x4096xf16>) outs(%c : memref<128x4096xf32>)
  func.return
}

// Enough work-groups, a short K, a prime K, rows with gaps between them, and unknown
// sizes: these stay.

// CHECK-LABEL: func.func @many
// CHECK-NEXT:  linalg.matmul
func.func @many(%a: memref<4096x4096xf16>, %b: memref<4096x4096xf16>, %c: memref<4096x4096xf32>) {
  linalg.matmul ins(%a, %b : memref<4096x4096xf16>, memref<4096x4096xf16>) outs(%c : memref<4096x4096xf32>)
  func.return
}

// CHECK-LABEL: func.func @short
// CHECK-NEXT:  linalg.matmul
func.func @short(%a: memref<64x256xf16>, %b: memref<256x64xf16>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x256xf16>, memref<256x64xf16>) outs(%c : memref<64x64xf32>)
  func.return
}

// CHECK-LABEL: func.func @prime
// CHECK-NEXT:  linalg.matmul
func.func @prime(%a: memref<64x8191xf16>, %b: memref<8191x64xf16>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x8191xf16>, memref<8191x64xf16>) outs(%c : memref<64x64xf32>)
  func.return
}

// CHECK-LABEL: func.func @gaps
// CHECK-NEXT:  linalg.matmul
func.func @gaps(%a: memref<16x4096xf16, strided<[8192, 1]>>, %b: memref<4096x4096xf16>, %c: memref<16x4096xf32>) {
  linalg.matmul ins(%a, %b : memref<16x4096xf16, strided<[8192, 1]>>, memref<4096x4096xf16>) outs(%c : memref<16x4096xf32>)
  func.return
}

// CHECK-LABEL: func.func @unknown
// CHECK-NEXT:  linalg.matmul
func.func @unknown(%a: memref<?x4096xf16>, %b: memref<4096x4096xf16>, %c: memref<?x4096xf32>) {
  linalg.matmul ins(%a, %b : memref<?x4096xf16>, memref<4096x4096xf16>) outs(%c : memref<?x4096xf32>)
  func.return
}
