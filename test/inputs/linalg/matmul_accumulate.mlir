// One product on memrefs: it stays as it is.
func.func @main(%arg0: memref<5x7xf32>, %arg1: memref<7x6xf32>, %arg2: memref<5x6xf32>) {
  linalg.matmul ins(%arg0, %arg1 : memref<5x7xf32>, memref<7x6xf32>) outs(%arg2 : memref<5x6xf32>)
  return
}
