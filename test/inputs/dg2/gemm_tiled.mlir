// C = A * B, f16 x f16 -> f32, for 8 lanes: 32 x 16 of C a subgroup and 32 of K a step, which
// are 16 DPAS.  A lies in tiles of 8 x 16, B in packed tiles of 16 x 8.  Sizes that are no
// multiples of the work-group's tile, 32 x 64, or of the step are filled up: A and B with
// zeros.  The four subgroups of a work-group are in a row: they multiply the same rows of A.

#grid = affine_map<(a_m, a_k, b_k, b_n, c_m, c_n) -> (b_n floordiv 8, a_m floordiv 4)>

func.func @gemm(%a: memref<?x?x8x16xf16>, %b: memref<?x?x8x16xf16>, %c: memref<?x?xf32>)
    attributes {simt.kernel, simt.grid = #grid, simt.subgroup_size = 8 : i32,
                simt.work_group_size = array<i32: 32>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c8 = arith.constant 8 : i32
  %zero = arith.constant 0.0 : f32
  %origin = arith.constant 0 : index
  %one = arith.constant 1 : index
  %subgroup = simt.subgroup_id : index
  %group_n = simt.workgroup_id x : index
  %group_m = simt.workgroup_id y : index
  %s = arith.index_cast %subgroup : index to i32
  %x = arith.index_cast %group_n : index to i32
  %y = arith.index_cast %group_m : index to i32
  // Tiles: four of M, and two of N.
  %m0 = arith.muli %y, %c4 : i32
  %m1 = arith.addi %m0, %c1 : i32
  %m2 = arith.addi %m0, %c2 : i32
  %m3 = arith.addi %m0, %c3 : i32
  %first = arith.muli %x, %c4 : i32
  %pair = arith.addi %first, %s : i32
  %n0 = arith.muli %pair, %c2 : i32
  %n1 = arith.addi %n0, %c1 : i32
  %row0 = arith.muli %m0, %c8 : i32
  %row1 = arith.muli %m1, %c8 : i32
  %row2 = arith.muli %m2, %c8 : i32
  %row3 = arith.muli %m3, %c8 : i32
  %col0 = arith.muli %n0, %c8 : i32
  %col1 = arith.muli %n1, %c8 : i32
  %r0 = arith.index_cast %row0 : i32 to index
  %tm0 = arith.index_cast %m0 : i32 to index
  %r1 = arith.index_cast %row1 : i32 to index
  %tm1 = arith.index_cast %m1 : i32 to index
  %r2 = arith.index_cast %row2 : i32 to index
  %tm2 = arith.index_cast %m2 : i32 to index
  %r3 = arith.index_cast %row3 : i32 to index
  %tm3 = arith.index_cast %m3 : i32 to index
  %q0 = arith.index_cast %col0 : i32 to index
  %tn0 = arith.index_cast %n0 : i32 to index
  %q1 = arith.index_cast %col1 : i32 to index
  %tn1 = arith.index_cast %n1 : i32 to index
  %tiles = memref.dim %a, %one : memref<?x?x8x16xf16>
  %end = arith.index_cast %tiles : index to i32
  %step = arith.constant 2 : i32
  %half = arith.constant 1 : i32
  %init = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<8x8xf32, acc>
  %sum:8 = scf.for %k0 = %c0 to %end step %step
      iter_args(%s00 = %init, %s01 = %init, %s10 = %init, %s11 = %init,
                %s20 = %init, %s21 = %init, %s30 = %init, %s31 = %init)
      -> (!coopmatrix.matrix<8x8xf32, acc>,
          !coopmatrix.matrix<8x8xf32, acc>,
          !coopmatrix.matrix<8x8xf32, acc>,
          !coopmatrix.matrix<8x8xf32, acc>,
          !coopmatrix.matrix<8x8xf32, acc>,
          !coopmatrix.matrix<8x8xf32, acc>,
          !coopmatrix.matrix<8x8xf32, acc>,
          !coopmatrix.matrix<8x8xf32, acc>) : i32 {
    %k1 = arith.addi %k0, %half : i32
    %kk0 = arith.index_cast %k0 : i32 to index
    %kk1 = arith.index_cast %k1 : i32 to index
    %a00 = coopmatrix.load %a[%tm0, %kk0, %origin, %origin] row_major
        : memref<?x?x8x16xf16> -> !coopmatrix.matrix<8x16xf16, a>
    %a10 = coopmatrix.load %a[%tm1, %kk0, %origin, %origin] row_major
        : memref<?x?x8x16xf16> -> !coopmatrix.matrix<8x16xf16, a>
    %a20 = coopmatrix.load %a[%tm2, %kk0, %origin, %origin] row_major
        : memref<?x?x8x16xf16> -> !coopmatrix.matrix<8x16xf16, a>
    %a30 = coopmatrix.load %a[%tm3, %kk0, %origin, %origin] row_major
        : memref<?x?x8x16xf16> -> !coopmatrix.matrix<8x16xf16, a>
    %b00 = coopmatrix.load %b[%kk0, %tn0, %origin, %origin] packed
        : memref<?x?x8x16xf16> -> !coopmatrix.matrix<16x8xf16, b>
    %b01 = coopmatrix.load %b[%kk0, %tn1, %origin, %origin] packed
        : memref<?x?x8x16xf16> -> !coopmatrix.matrix<16x8xf16, b>
    %a01 = coopmatrix.load %a[%tm0, %kk1, %origin, %origin] row_major
        : memref<?x?x8x16xf16> -> !coopmatrix.matrix<8x16xf16, a>
    %a11 = coopmatrix.load %a[%tm1, %kk1, %origin, %origin] row_major
        : memref<?x?x8x16xf16> -> !coopmatrix.matrix<8x16xf16, a>
    %a21 = coopmatrix.load %a[%tm2, %kk1, %origin, %origin] row_major
        : memref<?x?x8x16xf16> -> !coopmatrix.matrix<8x16xf16, a>
    %a31 = coopmatrix.load %a[%tm3, %kk1, %origin, %origin] row_major
        : memref<?x?x8x16xf16> -> !coopmatrix.matrix<8x16xf16, a>
    %b10 = coopmatrix.load %b[%kk1, %tn0, %origin, %origin] packed
        : memref<?x?x8x16xf16> -> !coopmatrix.matrix<16x8xf16, b>
    %b11 = coopmatrix.load %b[%kk1, %tn1, %origin, %origin] packed
        : memref<?x?x8x16xf16> -> !coopmatrix.matrix<16x8xf16, b>
    %d000 = coopmatrix.mul_add %a00, %b00, %s00
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %d010 = coopmatrix.mul_add %a10, %b00, %s10
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %d020 = coopmatrix.mul_add %a20, %b00, %s20
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %d030 = coopmatrix.mul_add %a30, %b00, %s30
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %d001 = coopmatrix.mul_add %a00, %b01, %s01
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %d011 = coopmatrix.mul_add %a10, %b01, %s11
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %d021 = coopmatrix.mul_add %a20, %b01, %s21
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %d031 = coopmatrix.mul_add %a30, %b01, %s31
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %d100 = coopmatrix.mul_add %a01, %b10, %d000
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %d110 = coopmatrix.mul_add %a11, %b10, %d010
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %d120 = coopmatrix.mul_add %a21, %b10, %d020
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %d130 = coopmatrix.mul_add %a31, %b10, %d030
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %d101 = coopmatrix.mul_add %a01, %b11, %d001
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %d111 = coopmatrix.mul_add %a11, %b11, %d011
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %d121 = coopmatrix.mul_add %a21, %b11, %d021
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %d131 = coopmatrix.mul_add %a31, %b11, %d031
        : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    scf.yield %d100, %d101, %d110, %d111,
              %d120, %d121, %d130, %d131
        : !coopmatrix.matrix<8x8xf32, acc>,
          !coopmatrix.matrix<8x8xf32, acc>,
          !coopmatrix.matrix<8x8xf32, acc>,
          !coopmatrix.matrix<8x8xf32, acc>,
          !coopmatrix.matrix<8x8xf32, acc>,
          !coopmatrix.matrix<8x8xf32, acc>,
          !coopmatrix.matrix<8x8xf32, acc>,
          !coopmatrix.matrix<8x8xf32, acc>
  }
  coopmatrix.store %sum#0, %c[%r0, %q0] row_major
      : !coopmatrix.matrix<8x8xf32, acc>, memref<?x?xf32>
  coopmatrix.store %sum#1, %c[%r0, %q1] row_major
      : !coopmatrix.matrix<8x8xf32, acc>, memref<?x?xf32>
  coopmatrix.store %sum#2, %c[%r1, %q0] row_major
      : !coopmatrix.matrix<8x8xf32, acc>, memref<?x?xf32>
  coopmatrix.store %sum#3, %c[%r1, %q1] row_major
      : !coopmatrix.matrix<8x8xf32, acc>, memref<?x?xf32>
  coopmatrix.store %sum#4, %c[%r2, %q0] row_major
      : !coopmatrix.matrix<8x8xf32, acc>, memref<?x?xf32>
  coopmatrix.store %sum#5, %c[%r2, %q1] row_major
      : !coopmatrix.matrix<8x8xf32, acc>, memref<?x?xf32>
  coopmatrix.store %sum#6, %c[%r3, %q0] row_major
      : !coopmatrix.matrix<8x8xf32, acc>, memref<?x?xf32>
  coopmatrix.store %sum#7, %c[%r3, %q1] row_major
      : !coopmatrix.matrix<8x8xf32, acc>, memref<?x?xf32>
  func.return
}
