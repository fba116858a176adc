// Products whose loops are in no order that matrices have: a sum over a batch, a result
// with the batch between rows and columns, and one B for a part of the batch.
#a = affine_map<(m, n, b, k) -> (b, m, k)>
#b = affine_map<(m, n, b, k) -> (b, k, n)>
#c = affine_map<(m, n, b, k) -> (m, n)>
#a1 = affine_map<(m, b, n, k) -> (b, m, k)>
#b1 = affine_map<(m, b, n, k) -> (n, k)>
#c1 = affine_map<(m, b, n, k) -> (m, b, n)>
#a2 = affine_map<(p, q, m, n, k) -> (p, q, m, k)>
#b2 = affine_map<(p, q, m, n, k) -> (q, k, n)>
#c2 = affine_map<(p, q, m, n, k) -> (p, q, m, n)>
module {
  func.func @main(%a: tensor<?x?x7xf32>, %b: tensor<?x7x6xf32>, %w: tensor<9x7xf32>, %d: tensor<2x?x?x7xf32>) -> (tensor<?x6xf32>, tensor<?x?x9xf32>, tensor<2x?x?x6xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant 0.000000e+00 : f32
    %n = tensor.dim %a, %c0 : tensor<?x?x7xf32>
    %m = tensor.dim %a, %c1 : tensor<?x?x7xf32>
    %0 = tensor.empty(%m) : tensor<?x6xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<?x6xf32>) -> tensor<?x6xf32>
    %2 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<?x?x7xf32>, tensor<?x7x6xf32>) outs(%1 : tensor<?x6xf32>) {
    ^bb0(%x: f32, %y: f32, %out: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %out, %p : f32
      linalg.yield %s : f32
    } -> tensor<?x6xf32>
    %3 = tensor.empty(%m, %n) : tensor<?x?x9xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<?x?x9xf32>) -> tensor<?x?x9xf32>
    %5 = linalg.generic {indexing_maps = [#a1, #b1, #c1], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %w : tensor<?x?x7xf32>, tensor<9x7xf32>) outs(%4 : tensor<?x?x9xf32>) {
    ^bb0(%x: f32, %y: f32, %out: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %out, %p : f32
      linalg.yield %s : f32
    } -> tensor<?x?x9xf32>
    %q = tensor.dim %d, %c1 : tensor<2x?x?x7xf32>
    %r = tensor.dim %d, %c2 : tensor<2x?x?x7xf32>
    %6 = tensor.empty(%q, %r) : tensor<2x?x?x6xf32>
    %7 = linalg.fill ins(%zero : f32) outs(%6 : tensor<2x?x?x6xf32>) -> tensor<2x?x?x6xf32>
    %8 = linalg.generic {indexing_maps = [#a2, #b2, #c2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%d, %b : tensor<2x?x?x7xf32>, tensor<?x7x6xf32>) outs(%7 : tensor<2x?x?x6xf32>) {
    ^bb0(%x: f32, %y: f32, %out: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %out, %p : f32
      linalg.yield %s : f32
    } -> tensor<2x?x?x6xf32>
    return %2, %5, %8 : tensor<?x6xf32>, tensor<?x?x9xf32>, tensor<2x?x?x6xf32>
  }
}
