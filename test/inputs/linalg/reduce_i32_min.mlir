func.func @main(%arg0: memref<4x3x5xi32>, %arg1: memref<4xi32>) {
  linalg.reduce { arith.minsi } ins(%arg0 : memref<4x3x5xi32>) outs(%arg1 : memref<4xi32>) dimensions = [1, 2]
  return
}
