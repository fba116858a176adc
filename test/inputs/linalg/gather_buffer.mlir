#map = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: memref<5xi32>, %arg1: memref<8xf32>, %arg2: memref<5xf32>) {
    linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : memref<5xi32>) outs(%arg2 : memref<5xf32>) {
    ^bb0(%in: i32, %out: f32):
      %c7_i32 = arith.constant 7 : i32
      %0 = arith.andi %in, %c7_i32 : i32
      %1 = arith.index_cast %0 : i32 to index
      %2 = memref.load %arg1[%1] : memref<8xf32>
      %3 = arith.addf %2, %out : f32
      linalg.yield %3 : f32
    }
    return
  }
}
