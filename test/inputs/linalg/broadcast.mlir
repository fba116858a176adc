func.func @main(%arg0: memref<5xf32>, %arg1: memref<3x5x4xf32>) {
  linalg.broadcast ins(%arg0 : memref<5xf32>) outs(%arg1 : memref<3x5x4xf32>) dimensions = [0, 2]
  return
}
