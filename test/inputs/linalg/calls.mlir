// Functions on buffers that call each other.
module {
  func.func private @relu(%arg0: memref<5x6xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%arg0 : memref<5x6xf32>) {
    ^bb0(%out: f32):
      %0 = arith.maximumf %out, %cst : f32
      linalg.yield %0 : f32
    }
    return
  }
  func.func private @product(%arg0: memref<5x7xf32>, %arg1: memref<7x6xf32>) -> memref<5x6xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %alloc = memref.alloc() : memref<5x6xf32>
    linalg.fill ins(%cst : f32) outs(%alloc : memref<5x6xf32>)
    linalg.matmul ins(%arg0, %arg1 : memref<5x7xf32>, memref<7x6xf32>) outs(%alloc : memref<5x6xf32>)
    return %alloc : memref<5x6xf32>
  }
  func.func @main(%arg0: memref<5x7xf32>, %arg1: memref<7x6xf32>, %arg2: memref<5x6xf32>) {
    %0 = call @product(%arg0, %arg1) : (memref<5x7xf32>, memref<7x6xf32>) -> memref<5x6xf32>
    call @relu(%0) : (memref<5x6xf32>) -> ()
    linalg.add ins(%0, %arg2 : memref<5x6xf32>, memref<5x6xf32>) outs(%arg2 : memref<5x6xf32>)
    memref.dealloc %0 : memref<5x6xf32>
    return
  }
}
