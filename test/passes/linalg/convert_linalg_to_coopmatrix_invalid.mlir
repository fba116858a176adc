// RUN: coopc-opt %s -p convert-linalg-to-coopmatrix --verify-diagnostics --split-input-file | filecheck %s

// Two multiplications would be two kernels.

func.func @two(%a: memref<8x8xf16>, %c: memref<8x8xf16>) {
  linalg.matmul ins(%a, %a : memref<8x8xf16>, memref<8x8xf16>) outs(%c : memref<8x8xf16>)
  linalg.matmul ins(%a, %c : memref<8x8xf16>, memref<8x8xf16>) outs(%c : memref<8x8xf16>)
  func.return
}
// CHECK: linalg.matmul: expected one multiplication in a function and no more

// -----

// A kernel's memory comes from outside.

func.func @local(%a: memref<8x8xf16>) {
  %c = memref.alloc() : memref<8x8xf16>
  linalg.matmul ins(%a, %a : memref<8x8xf16>, memref<8x8xf16>) outs(%c : memref<8x8xf16>)
  func.return
}
// CHECK: memref.alloc: expected an operation behind the product, which uses it

// -----

// What is no product may be rows, for convert-linalg-to-simt; else that pass's reason.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @body(%a: memref<8x8xf16>, %c: memref<8x8xf16>) {
  linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %c : memref<8x8xf16>, memref<8x8xf16>) outs(%c : memref<8x8xf16>) {
  ^bb0(%x: f16, %y: f16, %z: f16):
    %s = arith.addf %x, %y : f16
    linalg.yield %s : f16
  }
  func.return
}
// CHECK: linalg.generic: expected memory that is written to be read before, at the same index

// -----

func.func @other_filled(%a: memref<8x8xf16>, %c: memref<8x8xf16>) {
  %zero = arith.constant 0.0 : f16
  linalg.fill ins(%zero : f16) outs(%a : memref<8x8xf16>)
  linalg.matmul ins(%a, %a : memref<8x8xf16>, memref<8x8xf16>) outs(%c : memref<8x8xf16>)
  func.return
}
// CHECK: linalg.fill: expected a fill of the output of the multiplication
