// RUN: coopc-opt %s -p 'tile-matmul-khr{device=nvidia}' --verify-diagnostics --split-input-file | filecheck %s
// RUN: not coopc-opt %s -p 'tile-matmul-khr{device=nvidia group=32,32 subgroup=16,16 step=16}' --split-input-file 2>&1 | filecheck %s --check-prefix GIVEN
// RUN: not coopc-opt %s -p tile-matmul-khr 2>&1 | filecheck %s --check-prefix NONE
// RUN: not coopc-opt %s -p 'tile-matmul-khr{device=nvidea}' 2>&1 | filecheck %s --check-prefix DEVICE
// RUN: not coopc-opt %s -p 'tile-matmul-khr{device=nvidia group=64,64}' 2>&1 | filecheck %s --check-prefix HALF

// NONE: tile-matmul-khr: expected a device, tile-matmul-khr{device=..}, or simt.target on the module, got neither
// DEVICE: tile-matmul-khr: unknown device 'nvidea', did you mean 'nvidia'?
// HALF: expected group and subgroup of m and n, and a step, or none of them, got (64, 64), () and 0

// What is no multiplication alone.

func.func @two(%a: memref<64x64xf16>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %a : memref<64x64xf16>, memref<64x64xf16>) outs(%c : memref<64x64xf32>)
  linalg.matmul ins(%a, %a : memref<64x64xf16>, memref<64x64xf16>) outs(%c : memref<64x64xf32>)
  func.return
}
// CHECK: linalg.matmul: expected one multiplication in a function and no more

// -----

// Given tiles have to suit the device; its own do not have to suit each product.

func.func @wide(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x64xf32>, memref<64x64xf32>) outs(%c : memref<64x64xf32>)
  func.return
}
// CHECK: func.func @wide
// CHECK-NEXT: linalg.matmul
// GIVEN: linalg.matmul: nvidia does not multiply f32 * f32 + f32 -> f32
