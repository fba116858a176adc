// REQUIRES: ocloc, spirv-val
// RUN: coopc-isa %s -p 'coopc-lanes{device=bmg}' --device bmg --clean --expect simd=16 send=7 'total<=20'
// RUN: coopc-isa %s -p 'coopc-lanes{device=pvc}' --device pvc --clean --expect simd=16 send=8 'total<=24'

// Two messages of 8 components read 64 x 4 floats, two write them; Intel's compiler makes
// few sends of each, and needs hardly anything else.

func.func @copy(%m: memref<4x64xf32>, %o: memref<4x64xf32>) attributes {simt.kernel, simt.work_group_size = array<i32: 16>, simt.grid = affine_map<() -> (1)>} {
  %z = arith.constant 0 : index
  %x = coopmatrix.load %m[%z, %z] col_major : memref<4x64xf32> -> !coopmatrix.matrix<64x4xf32, acc>
  coopmatrix.store %x, %o[%z, %z] col_major alignment = 16 : !coopmatrix.matrix<64x4xf32, acc>, memref<4x64xf32>
  func.return
}
