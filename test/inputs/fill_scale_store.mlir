func.func @fill_scale_store(%out: memref<7x9xi32>, %value: i32, %alpha: i32) attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.grid = affine_map<() -> (1)>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = coopmatrix.fill %value : i32 -> !coopmatrix.matrix<7x9xi32, acc>
  %length = coopmatrix.length !coopmatrix.matrix<7x9xi32, acc> : index
  %scaled = scf.for %i = %c0 to %length step %c1 iter_args(%it = %m) -> (!coopmatrix.matrix<7x9xi32, acc>) {
    %e = coopmatrix.extract %it[%i] : !coopmatrix.matrix<7x9xi32, acc>
    %s = arith.muli %e, %alpha : i32
    %n = coopmatrix.insert %s, %it[%i] : !coopmatrix.matrix<7x9xi32, acc>
    scf.yield %n : !coopmatrix.matrix<7x9xi32, acc>
  }
  coopmatrix.store %scaled, %out[%c0, %c0] row_major : !coopmatrix.matrix<7x9xi32, acc>, memref<7x9xi32>
  func.return
}
