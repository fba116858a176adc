// What a reduction of rows is, and a reduction that begins with it and reads it.
#id = affine_map<(i,j) -> (i,j)>
#r = affine_map<(i,j) -> (i)>
func.func @main(%x: tensor<5x6xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %low = arith.constant -1000.0 : f32
  %e = tensor.empty() : tensor<5xf32>
  %f = linalg.fill ins(%low: f32) outs(%e: tensor<5xf32>) -> tensor<5xf32>
  %m = linalg.generic {indexing_maps=[#id,#r], iterator_types=["parallel","reduction"]} ins(%x: tensor<5x6xf32>) outs(%f: tensor<5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.maximumf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  %q = linalg.generic {indexing_maps=[#id,#r,#r], iterator_types=["parallel","reduction"]} ins(%x, %m: tensor<5x6xf32>, tensor<5xf32>) outs(%m: tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.maximumf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  func.return %m, %q : tensor<5xf32>, tensor<5xf32>
}
