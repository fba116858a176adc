// RUN: coopc-opt %s -p check-lowered --split-input-file --verify-diagnostics | filecheck %s

// What a pipeline has no form of is named, not left.

func.func @multiply(%a: memref<4x4xf32>, %c: memref<4x4xf32>) {
  // CHECK: error: linalg.matmul: no pass of this pipeline lowers linalg.matmul
  linalg.matmul ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%c : memref<4x4xf32>)
  func.return
}

// -----

func.func @fill(%v: f32) {
  // CHECK: error: coopmatrix.fill: no pass of this pipeline lowers coopmatrix.fill here
  %x = coopmatrix.fill %v : f32 -> !coopmatrix.matrix<8x8xf32, acc>
  func.return
}

// -----

// CHECK: error: func.func: no pass of this pipeline lowers !coopmatrix.matrix<8x8xf32, acc> here
func.func private @declared(!coopmatrix.matrix<8x8xf32, acc>)
