// REQUIRES: ocloc
// RUN: coopc-isa --registers 256 --clean %s -p 'coopc-xe{device=bmg}' --device bmg --expect simd=16 dpas=0 2>&1 | filecheck %s

// DPAS does not multiply f32: causal attention of it is one kernel of lanes, without
// spills or calls.

// CHECK: remark: linalg.generic: attention by lanes: DPAS does not multiply its types

#q = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#k = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#s = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#w = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

func.func @head64(%q: tensor<2x64x64xf32>, %k: tensor<2x128x64xf32>, %v: tensor<2x128x64xf32>) -> tensor<2x64x64xf32> {
  %zero = arith.constant 0.000000e+00 : f32
  %scale = arith.constant 1.250000e-01 : f32
  %least = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<2x64x128xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
  %2 = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x64x64xf32>, tensor<2x128x64xf32>) outs(%1 : tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
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
  %7 = tensor.empty() : tensor<2x64x64xf32>
  %8 = linalg.fill ins(%zero : f32) outs(%7 : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %9 = linalg.batch_matmul ins(%4, %v : tensor<2x64x128xf32>, tensor<2x128x64xf32>) outs(%8 : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  return %9 : tensor<2x64x64xf32>
}

func.func @head128(%q: tensor<2x64x128xf32>, %k: tensor<2x128x128xf32>, %v: tensor<2x128x128xf32>) -> tensor<2x64x128xf32> {
  %zero = arith.constant 0.000000e+00 : f32
  %scale = arith.constant 8.838835e-02 : f32
  %least = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<2x64x128xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
  %2 = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x64x128xf32>, tensor<2x128x128xf32>) outs(%1 : tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
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
  %7 = tensor.empty() : tensor<2x64x128xf32>
  %8 = linalg.fill ins(%zero : f32) outs(%7 : tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
  %9 = linalg.batch_matmul ins(%4, %v : tensor<2x64x128xf32>, tensor<2x128x128xf32>) outs(%8 : tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
  return %9 : tensor<2x64x128xf32>
}
