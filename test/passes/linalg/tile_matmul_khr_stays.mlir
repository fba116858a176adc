// RUN: coopc-opt %s -p 'tile-matmul-khr{device=nvidia}' 2>&1 | filecheck %s
// RUN: coopc-opt %s -p 'coopc-khr{device=nvidia staged=true}' -t spirv 2>&1 | filecheck %s --check-prefix ALL

// Products that no tiles of the device suit are done by one subgroup a work-group.

// CHECK: remark: func.func: one subgroup per work-group multiplies, not several: expected a memref whose last stride is 1, got memref<64x64xf16, strided<[1, 64]>>
// CHECK: remark: func.func: one subgroup per work-group multiplies, not several: nvidia does not multiply f32 * f32 + f32 -> f32
// CHECK: func.func @strided
// CHECK-NEXT: linalg.matmul
// CHECK: func.func @wide
// CHECK-NEXT: linalg.matmul

// ALL: remark: coopmatrix.mul_add: nvidia does not multiply f32 * f32 + f32 -> f32: its lanes compute it, as vectors
// ALL: OpEntryPoint GLCompute %strided
// ALL: OpEntryPoint GLCompute %wide

func.func @strided(%a: memref<64x64xf16, strided<[1, 64]>>, %b: memref<64x64xf16>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x64xf16, strided<[1, 64]>>, memref<64x64xf16>) outs(%c : memref<64x64xf32>)
  func.return
}

func.func @wide(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x64xf32>, memref<64x64xf32>) outs(%c : memref<64x64xf32>)
  func.return
}
