// RUN: coopc-opt %s -p 'outline-linalg-kernels{scores=1024}' | filecheck %s
// RUN: coopc-opt %s -p 'fuse-linalg,outline-linalg-kernels{scores=1023}' | filecheck %s --check-prefix ONE

// The scores of attention are in memory if there are few, and their number is known: both
// products and the softmax between them are kernels of their own.

#q = affine_map<(i, j, k) -> (i, k)>
#k = affine_map<(i, j, k) -> (j, k)>
#v = affine_map<(i, j, k) -> (k, j)>
#s = affine_map<(i, j, k) -> (i, j)>
#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// CHECK:       simt.sequence @few
// CHECK-NEXT:    [[S:%.+]] = memref.alloc() : memref<32x32xf32>
// CHECK-NEXT:    simt.launch @few.0(%q, %k, [[S]])
// CHECK-NEXT:    [[W:%.+]] = memref.alloc() : memref<32x32xf32>
// CHECK-NEXT:    simt.launch @few.1([[S]], [[W]])
// CHECK-NEXT:    simt.launch @few.2([[W]], %v, %result)
// ONE:         simt.sequence @few
// ONE-NEXT:      simt.launch @few.0(%q, %k, %v, %result)
func.func @few(%q: tensor<32x16xf32>, %k: tensor<32x16xf32>, %v: tensor<32x16xf32>) -> tensor<32x16xf32> {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e0 = tensor.empty() : tensor<32x32xf32>
  %e1 = tensor.empty() : tensor<32xf32>
  %e2 = tensor.empty() : tensor<32x16xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<32x32xf32>) -> tensor<32x32xf32>
  %f1 = linalg.fill ins(%least : f32) outs(%e1 : tensor<32xf32>) -> tensor<32xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<32xf32>) -> tensor<32xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<32x16xf32>) -> tensor<32x16xf32>
  %scores = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"]} ins(%q, %k : tensor<32x16xf32>, tensor<32x16xf32>) outs(%f0 : tensor<32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %o, %x : f32
    linalg.yield %y : f32
  } -> tensor<32x32xf32>
  %top = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]} ins(%scores : tensor<32x32xf32>) outs(%f1 : tensor<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %x = arith.maximumf %a, %o : f32
    linalg.yield %x : f32
  } -> tensor<32xf32>
  %power = linalg.generic {indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "parallel"]} ins(%scores, %top : tensor<32x32xf32>, tensor<32xf32>) outs(%e0 : tensor<32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %x = arith.subf %a, %b : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<32x32xf32>
  %total = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]} ins(%power : tensor<32x32xf32>) outs(%f2 : tensor<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %x = arith.addf %a, %o : f32
    linalg.yield %x : f32
  } -> tensor<32xf32>
  %weights = linalg.generic {indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "parallel"]} ins(%power, %total : tensor<32x32xf32>, tensor<32xf32>) outs(%e0 : tensor<32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %x = arith.divf %a, %b : f32
    linalg.yield %x : f32
  } -> tensor<32x32xf32>
  %result = linalg.generic {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"]} ins(%weights, %v : tensor<32x32xf32>, tensor<32x16xf32>) outs(%f3 : tensor<32x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %o, %x : f32
    linalg.yield %y : f32
  } -> tensor<32x16xf32>
  return %result : tensor<32x16xf32>
}
