// What one-shot-bufferize makes of a layer: the result is allocated.
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
module {
  func.func @main(%arg0: memref<5x7xf32, strided<[?, ?], offset: ?>>, %arg1: memref<7x6xf32, strided<[?, ?], offset: ?>>, %arg2: memref<6xf32, strided<[?], offset: ?>>) -> memref<5x6xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %alloc = memref.alloc() {alignment = 64 : i64} : memref<5x6xf32>
    linalg.fill ins(%cst : f32) outs(%alloc : memref<5x6xf32>)
    linalg.matmul ins(%arg0, %arg1 : memref<5x7xf32, strided<[?, ?], offset: ?>>, memref<7x6xf32, strided<[?, ?], offset: ?>>) outs(%alloc : memref<5x6xf32>)
    linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%alloc, %arg2 : memref<5x6xf32>, memref<6xf32, strided<[?], offset: ?>>) outs(%alloc : memref<5x6xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %0 = arith.addf %in, %in_0 : f32
      %1 = arith.maximumf %0, %cst : f32
      linalg.yield %1 : f32
    }
    return %alloc : memref<5x6xf32>
  }
}
