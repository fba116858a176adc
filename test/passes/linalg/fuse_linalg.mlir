// RUN: coopc-opt %s -p fuse-linalg | filecheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>

// Elementwise operations become one, whose maps are composed; a constant in every
// element is a number of the body.

// CHECK-LABEL: @chain
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME:      ins(%x, %y : tensor<4x6xf32>, tensor<6x4xf32>)
// CHECK:           arith.constant 2.000000e+00 : f32
// CHECK:           math.exp
// CHECK:           arith.mulf
// CHECK-NOT:     linalg.generic
func.func @chain(%x: tensor<4x6xf32>, %y: tensor<6x4xf32>) -> tensor<4x6xf32> {
  %two = arith.constant dense<2.0> : tensor<4x6xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  %a = linalg.generic {indexing_maps = [#id, #swap, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<4x6xf32>, tensor<6x4xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = math.exp %q : f32
    %s = arith.addf %p, %r : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %two : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.mulf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  return %b : tensor<4x6xf32>
}

// Sums of f16 are of f32, begin with zero and are rounded once.

// CHECK-LABEL: @sums
// CHECK:         linalg.fill {{.*}} -> tensor<4x8xf32>
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<4x8xf32>)
// CHECK:           arith.mulf %{{.*}} : f32
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %c : tensor<4x8xf32>, tensor<4x8xf16>)
// CHECK:           arith.extf
// CHECK:           arith.addf %{{.*}} : f32
// CHECK:           arith.truncf %{{.*}} : f32 to f16
func.func @sums(%a: tensor<4x6xf16>, %b: tensor<6x8xf16>, %c: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x6xf16>, tensor<6x8xf16>) outs(%c : tensor<4x8xf16>) {
  ^bb0(%p: f16, %q: f16, %o: f16):
    %x = arith.mulf %p, %q : f16
    %y = arith.addf %o, %x : f16
    linalg.yield %y : f16
  } -> tensor<4x8xf16>
  return %r : tensor<4x8xf16>
}

// What costs much and is read several times for one element stays.

// CHECK-LABEL: @repeated
// CHECK-COUNT-2: linalg.generic
func.func @repeated(%x: tensor<6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %e1 = tensor.empty() : tensor<6xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<6xf32>) outs(%e1 : tensor<6xf32>) {
  ^bb0(%p: f32, %o: f32):
    %r = math.exp %p : f32
    linalg.yield %r : f32
  } -> tensor<6xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  %b = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %y : tensor<6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.addf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  return %b : tensor<4x6xf32>
}
