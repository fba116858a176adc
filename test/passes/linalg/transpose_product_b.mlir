// RUN: coopc-opt %s -p 'transpose-product-b{device=nvidia}' | filecheck %s
// RUN: coopc-opt %s -p 'transpose-product-b{device=lavapipe}' | filecheck %s --check-prefix=NONE

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// The transpose takes 13 us, and the product gains more. What C was is added in the product.

// CHECK-LABEL: func.func @many
// CHECK:       %[[T:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], {{.*}} ins(%{{.*}} : tensor<4096x2048xf16>) outs(%{{.*}} : tensor<2048x4096xf16>)
// CHECK:       linalg.generic {{.*}} affine_map<(d0, d1, d2) -> (d2, d1)>, {{.*}} ins(%{{.*}}, %[[T]] : tensor<4096x2048xf16>, tensor<2048x4096xf16>) outs(%{{.*}} : tensor<4096x4096xf32>)

// NONE-LABEL: func.func @many
// NONE-NEXT:  linalg.generic {{.*}} ins(%a, %b : memref<4096x2048xf16>, memref<4096x2048xf16>)
func.func @many(%a: memref<4096x2048xf16>, %b: memref<4096x2048xf16>, %c: memref<4096x4096xf32>) {
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<4096x2048xf16>, memref<4096x2048xf16>) outs(%c : memref<4096x4096xf32>) {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %xe = arith.extf %x : f16 to f32
    %ye = arith.extf %y : f16 to f32
    %p = arith.mulf %xe, %ye : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// With 128 rows it takes as long as the product.

// CHECK-LABEL: func.func @few
// CHECK-NEXT:  linalg.generic {{.*}} ins(%a, %b : memref<128x2048xf16>, memref<4096x2048xf16>)
func.func @few(%a: memref<128x2048xf16>, %b: memref<4096x2048xf16>, %c: memref<128x4096xf32>) {
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<128x2048xf16>, memref<4096x2048xf16>) outs(%c : memref<128x4096xf32>) {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %xe = arith.extf %x : f16 to f32
    %ye = arith.extf %y : f16 to f32
    %p = arith.mulf %xe, %ye : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
