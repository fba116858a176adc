// RUN: coopc-opt %s -p 'transpose-operands{every=true}' | filecheck %s
// RUN: coopc-opt %s -p 'transpose-operands{device=nvidia}' | filecheck %s --check-prefix NVIDIA

#id = affine_map<(b, t, n, h) -> (b, t, n, h)>
#q = affine_map<(b, n, t, s, h) -> (b, t, n, h)>
#k = affine_map<(b, n, t, s, h) -> (b, s, n, h)>
#s = affine_map<(b, n, t, s, h) -> (b, n, t, s)>
#a = affine_map<(m, n, b, k) -> (b, m, k)>
#b = affine_map<(m, n, b, k) -> (b, k, n)>
#c = affine_map<(m, n, b, k) -> (m, n)>
#x = affine_map<(b, m, n, k) -> (b, m, k)>
#w = affine_map<(b, m, n, k) -> (n, k)>
#y = affine_map<(b, m, n, k) -> (m, b, n)>
#z = affine_map<(b, m, n, k) -> (b, m, n)>

// Heads between rows and columns: A and B are transposed.  Where the device multiplies f16
// alone, products of f32 are unchanged.

// CHECK-LABEL: @heads
// CHECK:         [[Q:%.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%q : tensor<2x?x4x64xf32>) outs({{.*}} : tensor<2x4x?x64xf32>)
// CHECK:         [[K:%.*]] = linalg.generic {{.*}} ins(%k : tensor<2x96x4x64xf32>) outs({{.*}} : tensor<2x4x96x64xf32>)
// CHECK:         [[S:%.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>]{{.*}} ins([[Q]], [[K]] :
// CHECK:         return [[S]]
// NVIDIA-LABEL: @heads
// NVIDIA-NEXT:    %s = linalg.generic {{.*}} ins(%q, %k
func.func @heads(%q: tensor<2x?x4x64xf32>, %k: tensor<2x96x4x64xf32>, %init: tensor<2x4x?x96xf32>) -> tensor<2x4x?x96xf32> {
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x?x4x64xf32>, tensor<2x96x4x64xf32>) outs(%init : tensor<2x4x?x96xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %o, %m : f32
    linalg.yield %n : f32
  } -> tensor<2x4x?x96xf32>
  return %s : tensor<2x4x?x96xf32>
}

// K is two loops, which only B has in a row.

// CHECK-LABEL: @sum_over_a_batch
// CHECK:         [[A:%.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]{{.*}} ins(%a : tensor<8x64x64xf16>) outs({{.*}} : tensor<64x8x64xf16>)
// CHECK:         [[R:%.*]] = linalg.generic {{.*}} ins([[A]], %b : tensor<64x8x64xf16>, tensor<8x64x64xf16>) outs(%init :
// CHECK:         return [[R]]
// NVIDIA-LABEL: @sum_over_a_batch
// NVIDIA:         linalg.generic {{.*}} ins(%a : tensor<8x64x64xf16>)
func.func @sum_over_a_batch(%a: tensor<8x64x64xf16>, %b: tensor<8x64x64xf16>, %init: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<8x64x64xf16>, tensor<8x64x64xf16>) outs(%init : tensor<64x64xf16>) {
  ^bb0(%x: f16, %y: f16, %o: f16):
    %m = arith.mulf %x, %y : f16
    %n = arith.addf %o, %m : f16
    linalg.yield %n : f16
  } -> tensor<64x64xf16>
  return %r : tensor<64x64xf16>
}

// The rows of A and of C are in two orders: the fewer elements are those of A here, and of
// C below, which is filled in its new order and transposed back.

// CHECK-LABEL: @fewer_in_a
// CHECK:         [[A:%.*]] = linalg.generic {{.*}} ins(%x : tensor<16x32x8xf16>) outs({{.*}} : tensor<32x16x8xf16>)
// CHECK:         [[R:%.*]] = linalg.generic {{.*}} ins([[A]], %w : {{.*}}) outs(%init :
// CHECK:         return [[R]]
func.func @fewer_in_a(%x: tensor<16x32x8xf16>, %w: tensor<512x8xf16>, %init: tensor<32x16x512xf16>) -> tensor<32x16x512xf16> {
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<16x32x8xf16>, tensor<512x8xf16>) outs(%init : tensor<32x16x512xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %o, %m : f16
    linalg.yield %n : f16
  } -> tensor<32x16x512xf16>
  return %r : tensor<32x16x512xf16>
}

// CHECK-LABEL: @fewer_in_c
// CHECK:         [[E:%.*]] = tensor.empty() : tensor<16x32x8xf16>
// CHECK-NEXT:    [[F:%.*]] = linalg.fill ins(%zero : f16) outs([[E]] :
// CHECK-NEXT:    [[R:%.*]] = linalg.generic {{.*}} ins(%x, %w : {{.*}}) outs([[F]] : tensor<16x32x8xf16>)
// CHECK:         [[T:%.*]] = linalg.generic {{.*}} ins([[R]] : tensor<16x32x8xf16>) outs({{.*}} : tensor<32x16x8xf16>)
// CHECK:         return [[T]]
func.func @fewer_in_c(%x: tensor<16x32x512xf16>, %w: tensor<8x512xf16>) -> tensor<32x16x8xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<32x16x8xf16>
  %init = linalg.fill ins(%zero : f16) outs(%e : tensor<32x16x8xf16>) -> tensor<32x16x8xf16>
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<16x32x512xf16>, tensor<8x512xf16>) outs(%init : tensor<32x16x8xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %o, %m : f16
    linalg.yield %n : f16
  } -> tensor<32x16x8xf16>
  return %r : tensor<32x16x8xf16>
}

// A batch of one needs no transposes: the loop is removed.

// CHECK-LABEL: @batch_of_one
// CHECK-NOT:     linalg.generic
// CHECK-DAG:     [[Q:%.*]] = tensor.collapse_shape %q {{\[\[0 : i64, 1 : i64\], \[2 : i64\]\]}} : tensor<1x256x64xf16> into tensor<256x64xf16>
// CHECK-DAG:     [[C:%.*]] = tensor.collapse_shape %init {{\[\[0 : i64, 1 : i64\], \[2 : i64\]\]}}
// CHECK:         [[R:%.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]{{.*}} ins([[Q]], %w : {{.*}}) outs([[C]] :
// CHECK:         [[X:%.*]] = tensor.expand_shape [[R]]
// CHECK:         return [[X]]
func.func @batch_of_one(%q: tensor<1x256x64xf16>, %w: tensor<256x64xf16>, %init: tensor<256x1x256xf16>) -> tensor<256x1x256xf16> {
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %w : tensor<1x256x64xf16>, tensor<256x64xf16>) outs(%init : tensor<256x1x256xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %o, %m : f16
    linalg.yield %n : f16
  } -> tensor<256x1x256xf16>
  return %r : tensor<256x1x256xf16>
}

// Unchanged: what `collapse-linalg` merges, small products, and what is none of matrices.

// CHECK-LABEL: @unchanged
// CHECK:         linalg.generic {{.*}} ins(%x, %w :
// CHECK-NEXT:    ^
// CHECK:         linalg.generic {{.*}} ins(%s, %t :
// CHECK-NEXT:    ^
// CHECK:         linalg.generic {{.*}} ins(%u, %u :
// CHECK-NOT:     linalg.generic
func.func @unchanged(%x: tensor<16x32x512xf16>, %w: tensor<128x512xf16>, %i: tensor<16x32x128xf16>, %s: tensor<8x16x8xf16>, %t: tensor<8x8x8xf16>, %j: tensor<16x8xf16>, %u: tensor<64x256x128xf16>, %v: tensor<64x256x128xf16>) -> (tensor<16x32x128xf16>, tensor<16x8xf16>, tensor<64x256x128xf16>) {
  %r0 = linalg.generic {indexing_maps = [#x, #w, #z], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<16x32x512xf16>, tensor<128x512xf16>) outs(%i : tensor<16x32x128xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %o, %m : f16
    linalg.yield %n : f16
  } -> tensor<16x32x128xf16>
  %r1 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%s, %t : tensor<8x16x8xf16>, tensor<8x8x8xf16>) outs(%j : tensor<16x8xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %o, %m : f16
    linalg.yield %n : f16
  } -> tensor<16x8xf16>
  %r2 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%u, %u : tensor<64x256x128xf16>, tensor<64x256x128xf16>) outs(%v : tensor<64x256x128xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %o, %m : f16
    linalg.yield %n : f16
  } -> tensor<64x256x128xf16>
  return %r0, %r1, %r2 : tensor<16x32x128xf16>, tensor<16x8xf16>, tensor<64x256x128xf16>
}

#image = affine_map<(n, f, y, x, c, i, j) -> (n, c, y * 2 + i, x + j * 3)>
#filters = affine_map<(n, f, y, x, c, i, j) -> (f, c, i, j)>
#out = affine_map<(n, f, y, x, c, i, j) -> (n, f, y, x)>

// A convolution with channels first gets channels and filters last, where the device has
// matrices for it.

// NVIDIA-LABEL: @channels_first
// NVIDIA:         [[I:%.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]{{.*}} ins(%image : tensor<?x32x?x?xf16>) outs({{.*}} : tensor<?x?x?x32xf16>)
// NVIDIA:         [[W:%.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d2, d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]{{.*}} ins(%weights : tensor<64x32x3x3xf16>) outs({{.*}} : tensor<3x3x32x64xf16>)
// NVIDIA:         [[C:%.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, ((d1 * 2) + d4), (d2 + (d5 * 3)), d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins([[I]], [[W]] :
// NVIDIA:         [[R:%.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]{{.*}} ins([[C]] : tensor<?x?x?x64xf32>) outs({{.*}} : tensor<?x64x?x?xf32>)
// NVIDIA:         return [[R]]
// CHECK-LABEL: @channels_first
// CHECK-NOT:     tensor.empty
func.func @channels_first(%image: tensor<?x32x?x?xf16>, %weights: tensor<64x32x3x3xf16>, %init: tensor<?x64x?x?xf32>) -> tensor<?x64x?x?xf32> {
  %r = linalg.generic {indexing_maps = [#image, #filters, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%image, %weights : tensor<?x32x?x?xf16>, tensor<64x32x3x3xf16>) outs(%init : tensor<?x64x?x?xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %o, %m : f32
    linalg.yield %n : f32
  } -> tensor<?x64x?x?xf32>
  return %r : tensor<?x64x?x?xf32>
}

// Too few channels for the matrices.

// NVIDIA-LABEL: @few_channels
// NVIDIA-NEXT:    %r = linalg.generic {{.*}} ins(%image, %weights :
func.func @few_channels(%image: tensor<?x3x?x?xf16>, %weights: tensor<64x3x3x3xf16>, %init: tensor<?x64x?x?xf32>) -> tensor<?x64x?x?xf32> {
  %r = linalg.generic {indexing_maps = [#image, #filters, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%image, %weights : tensor<?x3x?x?xf16>, tensor<64x3x3x3xf16>) outs(%init : tensor<?x64x?x?xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %o, %m : f32
    linalg.yield %n : f32
  } -> tensor<?x64x?x?xf32>
  return %r : tensor<?x64x?x?xf32>
}

#point = affine_map<(n, f, y, x, c, i, j) -> (n, c, y + i, x + j)>

// A convolution by 1x1, in steps of 1, is a product: the filters are its rows.

// NVIDIA-LABEL: @pointwise
// NVIDIA-DAG:     [[I:%.*]] = tensor.collapse_shape %image {{.*}} into tensor<64x28x28xf16>
// NVIDIA-DAG:     [[W:%.*]] = tensor.collapse_shape %weights {{.*}} into tensor<128x64xf16>
// NVIDIA:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins([[W]], [[I]] :
// CHECK-LABEL: @pointwise
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>]
func.func @pointwise(%image: tensor<1x64x28x28xf16>, %weights: tensor<128x64x1x1xf16>, %init: tensor<1x128x28x28xf32>) -> tensor<1x128x28x28xf32> {
  %r = linalg.generic {indexing_maps = [#point, #filters, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%image, %weights : tensor<1x64x28x28xf16>, tensor<128x64x1x1xf16>) outs(%init : tensor<1x128x28x28xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %o, %m : f32
    linalg.yield %n : f32
  } -> tensor<1x128x28x28xf32>
  return %r : tensor<1x128x28x28xf32>
}

// One that reads a part of its image is none.

// CHECK-LABEL: @part
// CHECK-NEXT:    %r = linalg.generic {{.*}} ins(%image, %weights :
func.func @part(%image: tensor<1x64x29x28xf32>, %weights: tensor<128x64x1x1xf32>, %init: tensor<1x128x28x28xf32>) -> tensor<1x128x28x28xf32> {
  %r = linalg.generic {indexing_maps = [#point, #filters, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%image, %weights : tensor<1x64x29x28xf32>, tensor<128x64x1x1xf32>) outs(%init : tensor<1x128x28x28xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %o, %m : f32
    linalg.yield %n : f32
  } -> tensor<1x128x28x28xf32>
  return %r : tensor<1x128x28x28xf32>
}

// A product whose result is by columns is one of the transposes.

// CHECK-LABEL: @by_columns
// CHECK-NEXT:    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d0)>]{{.*}} ins(%b, %a : tensor<8x7xi8>, tensor<5x8xi8>)
// CHECK-NEXT:    ^bb0([[B:%.*]]: i8, [[A:%.*]]: i8, [[C:%.*]]: i32)
// CHECK-NEXT:      [[X:%.*]] = arith.extui [[A]]
// CHECK-NEXT:      [[Y:%.*]] = arith.extsi [[B]]
func.func @by_columns(%a: tensor<5x8xi8>, %b: tensor<8x7xi8>, %init: tensor<7x5xi32>) -> tensor<7x5xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n, m)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<5x8xi8>, tensor<8x7xi8>) outs(%init : tensor<7x5xi32>) {
  ^bb0(%x: i8, %y: i8, %o: i32):
    %p = arith.extui %x : i8 to i32
    %q = arith.extsi %y : i8 to i32
    %m = arith.muli %p, %q : i32
    %n = arith.addi %o, %m : i32
    linalg.yield %n : i32
  } -> tensor<7x5xi32>
  return %r : tensor<7x5xi32>
}
