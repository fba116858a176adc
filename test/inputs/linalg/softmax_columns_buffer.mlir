func.func @main(%arg0: memref<?x?xf32>, %arg1: memref<?x?xf32>) {
  linalg.softmax dimension(0) ins(%arg0 : memref<?x?xf32>) outs(%arg1 : memref<?x?xf32>)
  return
}
