// RUN: coopc-opt %s -p collapse-linalg | filecheck %s

#q = affine_map<(b, h, m, n, k) -> (b, h, m, k)>
#k = affine_map<(b, h, m, n, k) -> (b, h, n, k)>
#s = affine_map<(b, h, m, n, k) -> (b, h, m, n)>
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#outer = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>
#inner = affine_map<(d0, d1, d2, d3) -> (d1)>
#row = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>

// The batches of a product are one loop, and so are those of what reads it; what has only
// one of them is read at a quotient or a remainder.  Indices of other loops are renumbered.

// CHECK-LABEL: @heads
// CHECK-DAG:     [[Q:%.*]] = tensor.collapse_shape %q {{.*}} into tensor<6x5x8xf32>
// CHECK-DAG:     [[K:%.*]] = tensor.collapse_shape %k {{.*}} into tensor<6x7x8xf32>
// CHECK:         [[S:%.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>]
// CHECK-SAME:      ins([[Q]], [[K]] : tensor<6x5x8xf32>, tensor<6x7x8xf32>)
// CHECK:         [[M:%.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ((d0 floordiv 3), 0, d1, d2)>, affine_map<(d0, d1, d2) -> ((d0 mod 3))>
// CHECK-SAME:      ins([[S]], %mask, %slopes :
// CHECK:           linalg.index 2 : index
// CHECK:         [[X:%.*]] = tensor.expand_shape [[M]] {{\[\[0 : i64, 1 : i64\], }}
// CHECK-NOT:     tensor.expand_shape
// CHECK:         return [[X]] : tensor<2x3x5x7xf32>
func.func @heads(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>, %mask: tensor<2x1x5x7xf32>, %slopes: tensor<3xf32>) -> tensor<2x3x5x7xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x5x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x3x5x8xf32>, tensor<2x3x7x8xf32>) outs(%f : tensor<2x3x5x7xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %z = arith.mulf %x, %y : f32
    %t = arith.addf %o, %z : f32
    linalg.yield %t : f32
  } -> tensor<2x3x5x7xf32>
  %m = linalg.generic {indexing_maps = [#id, #outer, #inner, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s, %mask, %slopes : tensor<2x3x5x7xf32>, tensor<2x1x5x7xf32>, tensor<3xf32>) outs(%e : tensor<2x3x5x7xf32>) {
  ^bb0(%x: f32, %y: f32, %w: f32, %o: f32):
    %n = linalg.index 3 : index
    %i = arith.index_cast %n : index to i32
    %c = arith.sitofp %i : i32 to f32
    %d = arith.mulf %c, %w : f32
    %z = arith.addf %x, %y : f32
    %t = arith.addf %z, %d : f32
    linalg.yield %t : f32
  } -> tensor<2x3x5x7xf32>
  return %m : tensor<2x3x5x7xf32>
}

// What a row is reduced to has no dimension of size 1, and a result without a use, with
// what computes it, is gone.

// CHECK-LABEL: @kept_dimension
// CHECK-NOT:     i64>
// CHECK:         [[S:%.*]] = tensor.collapse_shape %s {{.*}} into tensor<6x5x7xf32>
// CHECK:         [[T:%.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[S]] : tensor<6x5x7xf32>) outs({{.*}} : tensor<6x5xf32>)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.maximumf
// CHECK-NEXT:      linalg.yield {{.*}} : f32
// CHECK:         linalg.generic {{.*}} ins([[S]], [[T]] : tensor<6x5x7xf32>, tensor<6x5xf32>)
func.func @kept_dimension(%s: tensor<2x3x5x7xf32>) -> tensor<6x5x7xf32> {
  %least = arith.constant 0xFF800000 : f32
  %no = arith.constant 0 : i64
  %e = tensor.empty() : tensor<2x3x5x1xf32>
  %i = tensor.empty() : tensor<2x3x5x1xi64>
  %f = linalg.fill ins(%least : f32) outs(%e : tensor<2x3x5x1xf32>) -> tensor<2x3x5x1xf32>
  %g = linalg.fill ins(%no : i64) outs(%i : tensor<2x3x5x1xi64>) -> tensor<2x3x5x1xi64>
  %top:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%s : tensor<2x3x5x7xf32>) outs(%f, %g : tensor<2x3x5x1xf32>, tensor<2x3x5x1xi64>) {
  ^bb0(%x: f32, %o: f32, %p: i64):
    %n = linalg.index 3 : index
    %c = arith.index_cast %n : index to i64
    %m = arith.maximumf %x, %o : f32
    %above = arith.cmpf ogt, %x, %o : f32
    %at = arith.select %above, %c, %p : i64
    linalg.yield %m, %at : f32, i64
  } -> (tensor<2x3x5x1xf32>, tensor<2x3x5x1xi64>)
  %d = tensor.empty() : tensor<2x3x5x7xf32>
  %less = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s, %top#0 : tensor<2x3x5x7xf32>, tensor<2x3x5x1xf32>) outs(%d : tensor<2x3x5x7xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %z = arith.subf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<2x3x5x7xf32>
  %c = tensor.collapse_shape %less [[0, 1], [2], [3]] : tensor<2x3x5x7xf32> into tensor<6x5x7xf32>
  return %c : tensor<6x5x7xf32>
}

// Loops stay apart where the index of one is used, or where memory has others between.

// CHECK-LABEL: @apart
// CHECK:         tensor.expand_shape
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3x5xf32>)
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<2x5x3xf32>)
func.func @apart(%x: tensor<6x5xf32>) -> (tensor<2x3x5xf32>, tensor<2x5x3xf32>) {
  %y = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 3, 5] : tensor<6x5xf32> into tensor<2x3x5xf32>
  %e = tensor.empty() : tensor<2x3x5xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y : tensor<2x3x5xf32>) outs(%e : tensor<2x3x5xf32>) {
  ^bb0(%p: f32, %o: f32):
    %n = linalg.index 1 : index
    %i = arith.index_cast %n : index to i32
    %c = arith.sitofp %i : i32 to f32
    %z = arith.mulf %p, %c : f32
    linalg.yield %z : f32
  } -> tensor<2x3x5xf32>
  %f = tensor.empty() : tensor<2x5x3xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2, d1)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y : tensor<2x3x5xf32>) outs(%f : tensor<2x5x3xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x5x3xf32>
  return %a, %b : tensor<2x3x5xf32>, tensor<2x5x3xf32>
}

// Products of elements are no products of matrices: both loops stay, and the operation can
// follow a product in its kernel.

// CHECK-LABEL: @multiply_add
// CHECK-NEXT:    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]{{.*}} ins(%a, %b :
func.func @multiply_add(%a: tensor<5x7xf32>, %b: tensor<5x7xf32>, %c: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<5x7xf32>, tensor<5x7xf32>) outs(%c : tensor<5x7xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %z = arith.mulf %x, %y : f32
    %t = arith.addf %o, %z : f32
    linalg.yield %t : f32
  } -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

// Rows of a batch are one loop, unless that would copy memory with gaps.

// CHECK-LABEL: @rows_of_a_batch
// CHECK:         [[A:%.*]] = tensor.collapse_shape %a {{.*}} into tensor<10x8xf32>
// CHECK:         linalg.generic {{.*}} ins([[A]], %b : tensor<10x8xf32>, tensor<8x7xf32>)
func.func @rows_of_a_batch(%a: tensor<2x5x8xf32>, %b: tensor<8x7xf32>, %c: tensor<2x5x7xf32>) -> tensor<2x5x7xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<2x5x8xf32>, tensor<8x7xf32>) outs(%c : tensor<2x5x7xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %z = arith.mulf %x, %y : f32
    %t = arith.addf %o, %z : f32
    linalg.yield %t : f32
  } -> tensor<2x5x7xf32>
  return %0 : tensor<2x5x7xf32>
}

// CHECK-LABEL: @rows_with_gaps
// CHECK-NOT:     tensor.collapse_shape
// CHECK:         return
func.func @rows_with_gaps(%memory: memref<2x5x8xf32, strided<[64, 8, 1]>>, %b: tensor<8x7xf32>, %c: tensor<2x5x7xf32>) -> tensor<2x5x7xf32> {
  %a = bufferization.to_tensor %memory restrict : memref<2x5x8xf32, strided<[64, 8, 1]>> to tensor<2x5x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<2x5x8xf32>, tensor<8x7xf32>) outs(%c : tensor<2x5x7xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %z = arith.mulf %x, %y : f32
    %t = arith.addf %o, %z : f32
    linalg.yield %t : f32
  } -> tensor<2x5x7xf32>
  return %0 : tensor<2x5x7xf32>
}
