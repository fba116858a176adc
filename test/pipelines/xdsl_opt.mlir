// RUN: xdsl-opt %s -p coopc-amx | filecheck %s

// Pipelines take what the dialects of xDSL alone have read, with coopc's passes loaded,
// and write operations that these lack.

// CHECK-LABEL: func.func @product
// CHECK:         memref.prefetch
func.func @product(%a: tensor<64x64xi8>, %b: tensor<64x64xi8>) -> tensor<64x64xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64x64xi32>
  %init = linalg.fill ins(%zero : i32) outs(%e : tensor<64x64xi32>) -> tensor<64x64xi32>
  %c = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<64x64xi8>, tensor<64x64xi8>) outs(%init : tensor<64x64xi32>) {
  ^bb(%x: i8, %y: i8, %z: i32):
    %p = arith.extsi %x : i8 to i32
    %q = arith.extsi %y : i8 to i32
    %r = arith.muli %p, %q : i32
    %s = arith.addi %z, %r : i32
    linalg.yield %s : i32
  } -> tensor<64x64xi32>
  func.return %c : tensor<64x64xi32>
}
