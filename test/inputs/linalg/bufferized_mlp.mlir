#map = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @main(%arg0: memref<5x8xf32>, %arg1: memref<8x10xf32>, %arg2: memref<10x6xf32>, %arg3: memref<5x6xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %alloc = memref.alloc() {alignment = 64 : i64} : memref<5x10xf32>
    linalg.fill ins(%cst : f32) outs(%alloc : memref<5x10xf32>)
    linalg.matmul ins(%arg0, %arg1 : memref<5x8xf32>, memref<8x10xf32>) outs(%alloc : memref<5x10xf32>)
    %alloc_0 = memref.alloc() {alignment = 64 : i64} : memref<5x10xf32>
    linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%alloc : memref<5x10xf32>) outs(%alloc_0 : memref<5x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.maximumf %in, %cst : f32
      linalg.yield %0 : f32
    }
    memref.dealloc %alloc : memref<5x10xf32>
    %alloc_1 = memref.alloc() {alignment = 64 : i64} : memref<5x6xf32>
    linalg.fill ins(%cst : f32) outs(%alloc_1 : memref<5x6xf32>)
    linalg.matmul ins(%alloc_0, %arg2 : memref<5x10xf32>, memref<10x6xf32>) outs(%alloc_1 : memref<5x6xf32>)
    memref.dealloc %alloc_0 : memref<5x10xf32>
    memref.copy %alloc_1, %arg3 : memref<5x6xf32> to memref<5x6xf32>
    memref.dealloc %alloc_1 : memref<5x6xf32>
    return
  }
}
