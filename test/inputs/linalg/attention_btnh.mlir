// Heads behind the rows, as in jax.nn.dot_product_attention: operands and the result of
// the products have them between, and sizes are dynamic.
#q = affine_map<(b, n, t, s, h) -> (b, t, n, h)>
#k = affine_map<(b, n, t, s, h) -> (b, s, n, h)>
#s = affine_map<(b, n, t, s, h) -> (b, n, t, s)>
#id = affine_map<(b, n, t, s) -> (b, n, t, s)>
#row = affine_map<(b, n, t, s) -> (b, n, t)>
#p = affine_map<(b, t, n, h, s) -> (b, n, t, s)>
#v = affine_map<(b, t, n, h, s) -> (b, s, n, h)>
#o = affine_map<(b, t, n, h, s) -> (b, t, n, h)>
module {
  func.func @main(%q: tensor<?x?x3x8xf32>, %k: tensor<?x?x3x8xf32>, %v: tensor<?x?x3x8xf32>) -> tensor<?x?x3x8xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.000000e+00 : f32
    %low = arith.constant 0xFF800000 : f32
    %b = tensor.dim %q, %c0 : tensor<?x?x3x8xf32>
    %t = tensor.dim %q, %c1 : tensor<?x?x3x8xf32>
    %s = tensor.dim %k, %c1 : tensor<?x?x3x8xf32>
    %0 = tensor.empty(%b, %t, %s) : tensor<?x3x?x?xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<?x3x?x?xf32>) -> tensor<?x3x?x?xf32>
    %2 = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<?x?x3x8xf32>, tensor<?x?x3x8xf32>) outs(%1 : tensor<?x3x?x?xf32>) {
    ^bb0(%x: f32, %y: f32, %out: f32):
      %m = arith.mulf %x, %y : f32
      %a = arith.addf %out, %m : f32
      linalg.yield %a : f32
    } -> tensor<?x3x?x?xf32>
    %3 = tensor.empty(%b, %t) : tensor<?x3x?xf32>
    %4 = linalg.fill ins(%low : f32) outs(%3 : tensor<?x3x?xf32>) -> tensor<?x3x?xf32>
    %5 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%2 : tensor<?x3x?x?xf32>) outs(%4 : tensor<?x3x?xf32>) {
    ^bb0(%x: f32, %out: f32):
      %m = arith.maximumf %out, %x : f32
      linalg.yield %m : f32
    } -> tensor<?x3x?xf32>
    %6 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %5 : tensor<?x3x?x?xf32>, tensor<?x3x?xf32>) outs(%0 : tensor<?x3x?x?xf32>) {
    ^bb0(%x: f32, %y: f32, %out: f32):
      %d = arith.subf %x, %y : f32
      %e = math.exp %d : f32
      linalg.yield %e : f32
    } -> tensor<?x3x?x?xf32>
    %7 = linalg.fill ins(%zero : f32) outs(%3 : tensor<?x3x?xf32>) -> tensor<?x3x?xf32>
    %8 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%6 : tensor<?x3x?x?xf32>) outs(%7 : tensor<?x3x?xf32>) {
    ^bb0(%x: f32, %out: f32):
      %m = arith.addf %out, %x : f32
      linalg.yield %m : f32
    } -> tensor<?x3x?xf32>
    %9 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %8 : tensor<?x3x?x?xf32>, tensor<?x3x?xf32>) outs(%0 : tensor<?x3x?x?xf32>) {
    ^bb0(%x: f32, %y: f32, %out: f32):
      %d = arith.divf %x, %y : f32
      linalg.yield %d : f32
    } -> tensor<?x3x?x?xf32>
    %10 = tensor.empty(%b, %t) : tensor<?x?x3x8xf32>
    %11 = linalg.fill ins(%zero : f32) outs(%10 : tensor<?x?x3x8xf32>) -> tensor<?x?x3x8xf32>
    %12 = linalg.generic {indexing_maps = [#p, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%9, %v : tensor<?x3x?x?xf32>, tensor<?x?x3x8xf32>) outs(%11 : tensor<?x?x3x8xf32>) {
    ^bb0(%x: f32, %y: f32, %out: f32):
      %m = arith.mulf %x, %y : f32
      %a = arith.addf %out, %m : f32
      linalg.yield %a : f32
    } -> tensor<?x?x3x8xf32>
    return %12 : tensor<?x?x3x8xf32>
  }
}
