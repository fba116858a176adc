// REQUIRES: ocloc
// RUN: coopc-isa --registers 256 --clean %s -p 'coopc-xe{device=bmg}' --device bmg --expect simd=16 head64.0:inner.dpas=32 head64.0:inner.load2d=12 head64.0:store2d=8 head128.0:inner.dpas=64 head128.0:inner.load2d=24 head128.0:store2d=16
// RUN: coopc-isa --registers 256 --clean %s -p 'coopc-xe{device=pvc}' --device pvc --expect simd=16 head64.0:inner.dpas=32 head128.0:inner.dpas=64

// Causal attention is one kernel for heads of 64 and of 128, without spills or calls.  A
// step has 16 rows of the result, 2 DPAS high, and 32 of K and V, so that both products
// have 2 x 2 x 4 DPAS for a head of 64, and 2 x 2 x 8 for one of 128.

#q = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#k = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#s = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#w = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

func.func @head64(%q: tensor<2x64x64xf16>, %k: tensor<2x128x64xf16>, %v: tensor<2x128x64xf16>) -> tensor<2x64x64xf32> {
  %zero = arith.constant 0.000000e+00 : f32
  %scale = arith.constant 1.250000e-01 : f32
  %least = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<2x64x128xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
  %2 = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x64x64xf16>, tensor<2x128x64xf16>) outs(%1 : tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
  %3 = linalg.generic {indexing_maps = [#w, #w], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2 : tensor<2x64x128xf32>) outs(%0 : tensor<2x64x128xf32>) {
  ^bb0(%in: f32, %out: f32):
    %x = arith.mulf %in, %scale : f32
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %c = arith.cmpi sge, %i, %j : index
    %y = arith.select %c, %x, %least : f32
    linalg.yield %y : f32
  } -> tensor<2x64x128xf32>
  %4 = linalg.softmax dimension(2) ins(%3 : tensor<2x64x128xf32>) outs(%0 : tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
  %5 = tensor.empty() : tensor<2x64x128xf16>
  %6 = linalg.generic {indexing_maps = [#w, #w], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4 : tensor<2x64x128xf32>) outs(%5 : tensor<2x64x128xf16>) {
  ^bb0(%in: f32, %out: f16):
    %t = arith.truncf %in : f32 to f16
    linalg.yield %t : f16
  } -> tensor<2x64x128xf16>
  %7 = tensor.empty() : tensor<2x64x64xf32>
  %8 = linalg.fill ins(%zero : f32) outs(%7 : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %9 = linalg.batch_matmul ins(%6, %v : tensor<2x64x128xf16>, tensor<2x128x64xf16>) outs(%8 : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  return %9 : tensor<2x64x64xf32>
}

func.func @head128(%q: tensor<2x64x128xf16>, %k: tensor<2x128x128xf16>, %v: tensor<2x128x128xf16>) -> tensor<2x64x128xf32> {
  %zero = arith.constant 0.000000e+00 : f32
  %scale = arith.constant 8.838835e-02 : f32
  %least = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<2x64x128xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
  %2 = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x64x128xf16>, tensor<2x128x128xf16>) outs(%1 : tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
  %3 = linalg.generic {indexing_maps = [#w, #w], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2 : tensor<2x64x128xf32>) outs(%0 : tensor<2x64x128xf32>) {
  ^bb0(%in: f32, %out: f32):
    %x = arith.mulf %in, %scale : f32
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %c = arith.cmpi sge, %i, %j : index
    %y = arith.select %c, %x, %least : f32
    linalg.yield %y : f32
  } -> tensor<2x64x128xf32>
  %4 = linalg.softmax dimension(2) ins(%3 : tensor<2x64x128xf32>) outs(%0 : tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
  %5 = tensor.empty() : tensor<2x64x128xf16>
  %6 = linalg.generic {indexing_maps = [#w, #w], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4 : tensor<2x64x128xf32>) outs(%5 : tensor<2x64x128xf16>) {
  ^bb0(%in: f32, %out: f16):
    %t = arith.truncf %in : f32 to f16
    linalg.yield %t : f16
  } -> tensor<2x64x128xf16>
  %7 = tensor.empty() : tensor<2x64x128xf32>
  %8 = linalg.fill ins(%zero : f32) outs(%7 : tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
  %9 = linalg.batch_matmul ins(%6, %v : tensor<2x64x128xf16>, tensor<2x128x128xf16>) outs(%8 : tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
  return %9 : tensor<2x64x128xf32>
}
