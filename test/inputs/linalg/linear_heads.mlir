// Rows of a batch times weights, whose columns are of heads, and back: loops of M, of N
// and of K are several.
#x = affine_map<(b, s, h, e, d) -> (b, s, d)>
#w = affine_map<(b, s, h, e, d) -> (d, h, e)>
#y = affine_map<(b, s, h, e, d) -> (b, s, h, e)>
#y1 = affine_map<(b, s, d, h, e) -> (b, s, h, e)>
#w1 = affine_map<(b, s, d, h, e) -> (h, e, d)>
#z = affine_map<(b, s, d, h, e) -> (b, s, d)>
module {
  func.func @main(%x: tensor<2x5x8xf32>, %w: tensor<8x3x4xf32>, %v: tensor<3x4x6xf32>) -> tensor<2x5x6xf32> {
    %zero = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x5x3x4xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x5x3x4xf32>) -> tensor<2x5x3x4xf32>
    %2 = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<2x5x8xf32>, tensor<8x3x4xf32>) outs(%1 : tensor<2x5x3x4xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %m = arith.mulf %a, %b : f32
      %n = arith.addf %out, %m : f32
      linalg.yield %n : f32
    } -> tensor<2x5x3x4xf32>
    %3 = tensor.empty() : tensor<2x5x6xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
    %5 = linalg.generic {indexing_maps = [#y1, #w1, #z], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%2, %v : tensor<2x5x3x4xf32>, tensor<3x4x6xf32>) outs(%4 : tensor<2x5x6xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %m = arith.mulf %a, %b : f32
      %n = arith.addf %out, %m : f32
      linalg.yield %n : f32
    } -> tensor<2x5x6xf32>
    return %5 : tensor<2x5x6xf32>
  }
}
