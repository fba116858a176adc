// RUN: coopc-opt %s --validate -p 'tile-matmul-khr{device=nvidia group=32,32 subgroup=16,16 step=64 stages=1 ahead=2},canonicalize' | filecheck %s

// Rows begin where pieces of 16 bytes may, and end within one: in what is left of K, it
// is copied element by element.

// CHECK-LABEL: func.func @pitch
// CHECK:       vector.load %a
// CHECK:       scf.for %k = %{{.*}} to %c512 step %c128
// CHECK:       vector.maskedload %a
// CHECK-NOT:   vector.maskedload %b
func.func @pitch(%a: memref<70x596xf16, strided<[600, 1]>>, %b: memref<596x96xf16>, %c: memref<70x96xf32>) {
  linalg.matmul ins(%a, %b : memref<70x596xf16, strided<[600, 1]>>, memref<596x96xf16>) outs(%c : memref<70x96xf32>)
  func.return
}
