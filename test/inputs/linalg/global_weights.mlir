module {
  memref.global "private" constant @__constant_4x2xf32 : memref<4x2xf32> = dense<[[1.000000e+00, -2.000000e+00], [0.000000e+00, 3.000000e+00], [5.000000e-01, 1.000000e+00], [-1.000000e+00, 2.000000e+00]]> {alignment = 64 : i64}
  func.func @main(%arg0: memref<3x4xf32>) -> memref<3x2xf32> {
    %cst = arith.constant 1.000000e+00 : f32
    %0 = memref.get_global @__constant_4x2xf32 : memref<4x2xf32>
    %alloc = memref.alloc() {alignment = 64 : i64} : memref<3x2xf32>
    linalg.fill ins(%cst : f32) outs(%alloc : memref<3x2xf32>)
    linalg.matmul ins(%arg0, %0 : memref<3x4xf32>, memref<4x2xf32>) outs(%alloc : memref<3x2xf32>)
    return %alloc : memref<3x2xf32>
  }
}
