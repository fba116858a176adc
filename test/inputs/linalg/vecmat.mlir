func.func @main(%arg0: memref<7xf32>, %arg1: memref<7x6xf32>, %arg2: memref<6xf32>) {
  %cst = arith.constant 0.000000e+00 : f32
  linalg.fill ins(%cst : f32) outs(%arg2 : memref<6xf32>)
  linalg.vecmat ins(%arg0, %arg1 : memref<7xf32>, memref<7x6xf32>) outs(%arg2 : memref<6xf32>)
  return
}
