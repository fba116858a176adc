// RUN: not coopc-opt %s -p 'coopc-lanes{device=lavapipe}' 2>&1 | filecheck %s

// A kernel of subgroups that the device lacks is named.

// CHECK: device_invalid.mlir:6:1: error: func.func: expected subgroups of 8 lanes, as lavapipe has them, got 16
func.func @k(%c: memref<8x8xf32>, %v: f32) attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.grid = affine_map<() -> (1)>} {
  %c0 = arith.constant 0 : index
  %x = coopmatrix.fill %v : f32 -> !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %x, %c[%c0, %c0] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}
