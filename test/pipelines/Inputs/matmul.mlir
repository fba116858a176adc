func.func @f(%a: memref<16x8xf16>, %b: memref<8x16xf16>, %c: memref<16x16xf32>) {
  linalg.matmul ins(%a, %b : memref<16x8xf16>, memref<8x16xf16>) outs(%c : memref<16x16xf32>)
  func.return
}
