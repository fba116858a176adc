// RUN: coopc-opt %s --split-input-file -p convert-coopmatrix-to-amx,normalize,check-dominance | filecheck %s

// Matrices become tiles of at most 16 rows of 64 bytes; each function is one case.

!a = !coopmatrix.matrix<16x64xbf16, a>
!b = !coopmatrix.matrix<64x32xbf16, b>
!c = !coopmatrix.matrix<16x32xf32, acc>

// One tile of zeros for each accumulator, which stays in its register; packed B is read
// as it is.  Products that wait for each other are apart.
// CHECK-LABEL: func.func @gemm(
func.func @gemm(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %c: memref<?x?xf32>, %i: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  // CHECK-NOT:  memref.alloca
  // CHECK:      %acc_0x0 = amx.tile_zero : !amx.tile<16x16xf32>
  // CHECK-NEXT: %acc_0x1 = amx.tile_zero : !amx.tile<16x16xf32>
  %acc = coopmatrix.fill %zero : f32 -> !c
  // CHECK:      scf.for %k = {{.*}} iter_args(%s_0x0 = %acc_0x0, %s_0x1 = %acc_0x1)
  %r = scf.for %k = %c0 to %n step %c64 iter_args(%s = %acc) -> (!c) {
    // CHECK:      %x_0x0 = amx.tile_load %a[%i, %k] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
    // CHECK-NEXT: %x_0x1 = amx.tile_load %a[%i, %k_plus32]
    %x = coopmatrix.load %a[%i, %k] row_major : memref<?x?xbf16> -> !a
    // CHECK:      %y_0x0 = amx.tile_load %b[%k, %i] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
    // CHECK-NEXT: %y_0x1 = amx.tile_load %b[%k, %i_plus32]
    // CHECK-NEXT: %y_1x0 = amx.tile_load %b[%k_plus16, %i]
    // CHECK-NEXT: %y_1x1 = amx.tile_load %b[%k_plus16, %i_plus32]
    %y = coopmatrix.load %b[%k, %i] packed : memref<?x?xbf16> -> !b
    // CHECK-NEXT: [[P:%.*]] = amx.tile_mulf %x_0x0, %y_0x0, %s_0x0 : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
    // CHECK-NEXT: [[Q:%.*]] = amx.tile_mulf %x_0x0, %y_0x1, %s_0x1
    // CHECK-NEXT: %t_0x0 = amx.tile_mulf %x_0x1, %y_1x0, [[P]]
    // CHECK-NEXT: %t_0x1 = amx.tile_mulf %x_0x1, %y_1x1, [[Q]]
    %t = coopmatrix.mul_add %x, %y, %s : !a, !b, !c
    // CHECK-NEXT: scf.yield %t_0x0, %t_0x1
    scf.yield %t : !c
  }
  // CHECK:      amx.tile_store %c[%i, %i], %r_0x0 : memref<?x?xf32>, !amx.tile<16x16xf32>
  // CHECK-NEXT: amx.tile_store %c[%i, %i_plus16], %r_0x1
  coopmatrix.store %r, %c[%i, %i] row_major : !c, memref<?x?xf32>
  func.return
}

// Signed operands are extended by their sign, the others by zeros.
// CHECK-LABEL: func.func @signs(
func.func @signs(%x: memref<1x?x?xi8>, %y: memref<?x?xi8>, %c: memref<?x?xi32>) {
  %c0 = arith.constant 0 : index
  %a = coopmatrix.load %x[%c0, %c0, %c0] row_major : memref<1x?x?xi8> -> !coopmatrix.matrix<3x8xi8, a>
  %b = coopmatrix.load %y[%c0, %c0] packed : memref<?x?xi8> -> !coopmatrix.matrix<8x5xi8, b>
  %s = coopmatrix.load %c[%c0, %c0] row_major : memref<?x?xi32> -> !coopmatrix.matrix<3x5xi32, acc>
  // CHECK:      %p = amx.tile_muli %a, %b, %s : !amx.tile<3x8xi8>, !amx.tile<2x20xi8>, !amx.tile<3x5xi32>
  %p = coopmatrix.mul_add %a, %b, %s signed(a, b, c, result) : !coopmatrix.matrix<3x8xi8, a>, !coopmatrix.matrix<8x5xi8, b>, !coopmatrix.matrix<3x5xi32, acc>
  // CHECK-NEXT: %q = amx.tile_muli %a, %b zext, %p :
  %q = coopmatrix.mul_add %a, %b, %p signed(a, c, result) : !coopmatrix.matrix<3x8xi8, a>, !coopmatrix.matrix<8x5xi8, b>, !coopmatrix.matrix<3x5xi32, acc>
  // CHECK-NEXT: %r = amx.tile_muli %a zext, %b, %q :
  %r = coopmatrix.mul_add %a, %b, %q signed(b, c, result) : !coopmatrix.matrix<3x8xi8, a>, !coopmatrix.matrix<8x5xi8, b>, !coopmatrix.matrix<3x5xi32, acc>
  // CHECK-NEXT: %t = amx.tile_muli %a zext, %b zext, %r :
  %t = coopmatrix.mul_add %a, %b, %r : !coopmatrix.matrix<3x8xi8, a>, !coopmatrix.matrix<8x5xi8, b>, !coopmatrix.matrix<3x5xi32, acc>
  coopmatrix.store %t, %c[%c0, %c0] row_major : !coopmatrix.matrix<3x5xi32, acc>, memref<?x?xi32>
  func.return
}

// B as it is in memory is packed on the way in, into scratch memory of the function.
// CHECK-LABEL: func.func @packing(
func.func @packing(%b: memref<32x16xf16>, %o: memref<16x32xf16>) {
  // CHECK:      %scratch = memref.alloca() {alignment = 64 : i64} : memref<16x32xf16>
  %c0 = arith.constant 0 : index
  // CHECK:      scf.for %row = %c0 to %c32 step %c1 {
  // CHECK:        [[W:%.*]] = arith.remui %row, %c2 : index
  // CHECK-NEXT:   [[R:%.*]] = arith.divui %row, %c2 : index
  // CHECK-NEXT:   scf.for %col = %c0 to %c16 step %c1 {
  // CHECK:          [[X:%.*]] = memref.load %b
  // CHECK-NEXT:     [[P:%.*]] = arith.muli %col, %c2 : index
  // CHECK-NEXT:     [[C:%.*]] = arith.addi [[W]], [[P]] : index
  // CHECK-NEXT:     memref.store [[X]], %scratch[[[R]], [[C]]] : memref<16x32xf16>
  // CHECK:      %x = amx.tile_load %scratch[%c0, %c0] : memref<16x32xf16> into !amx.tile<16x32xf16>
  %x = coopmatrix.load %b[%c0, %c0] row_major : memref<32x16xf16> -> !coopmatrix.matrix<32x16xf16, b>
  // CHECK-NEXT: amx.tile_store %o[%{{.*}}, %{{.*}}], %x : memref<16x32xf16>, !amx.tile<16x32xf16>
  coopmatrix.store %x, %o[%c0, %c0] packed : !coopmatrix.matrix<32x16xf16, b>, memref<16x32xf16>
  func.return
}

// A matrix of which a loop takes row slices is in memory while it runs.
// CHECK-LABEL: func.func @slices(
func.func @slices(%m: memref<12x12xi32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c144 = arith.constant 144 : index
  // CHECK:      %x = amx.tile_load %m
  %x = coopmatrix.load %m[%c0, %c0] row_major : memref<12x12xi32> -> !coopmatrix.matrix<12x12xi32, none>
  // CHECK-NEXT: amx.tile_store %scratch[%{{.*}}, %{{.*}}], %x
  // CHECK-NEXT: memref.reinterpret_cast %scratch
  // CHECK:      scf.for %k = {{.*}} {
  // CHECK-NOT:    amx.
  // CHECK:        vector.maskedload
  // CHECK:        vector.maskedstore
  // CHECK-NOT:    amx.
  // CHECK:      }
  // CHECK-NEXT: %r = amx.tile_load %scratch
  // CHECK-NEXT: amx.tile_store %m[%{{.*}}, %{{.*}}], %r
  %r = scf.for %k = %c0 to %c144 step %c16 iter_args(%t = %x) -> (!coopmatrix.matrix<12x12xi32, none>) {
    %s = coopmatrix.extract_row_slice %t[%k] : !coopmatrix.matrix<12x12xi32, none> -> vector<16xi32>
    %d = arith.addi %s, %s : vector<16xi32>
    %u = coopmatrix.insert_row_slice %d, %t[%k] : vector<16xi32>, !coopmatrix.matrix<12x12xi32, none>
    scf.yield %u : !coopmatrix.matrix<12x12xi32, none>
  }
  coopmatrix.store %r, %m[%c0, %c0] row_major : !coopmatrix.matrix<12x12xi32, none>, memref<12x12xi32>
  func.return
}

// A slice that is known to be inside needs no mask; a matrix is stored once for all.
// CHECK-LABEL: func.func @known_slices(
func.func @known_slices(%m: memref<2x4xf32>) -> (vector<4xf32>, vector<4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // CHECK:      amx.tile_store
  // CHECK-NEXT: memref.reinterpret_cast %scratch
  // CHECK-NEXT: vector.load %{{.*}}[%c0{{.*}}] : memref<8xf32>, vector<4xf32>
  // CHECK-NEXT: vector.load %{{.*}}[%c4{{.*}}] : memref<8xf32>, vector<4xf32>
  %x = coopmatrix.load %m[%c0, %c0] row_major : memref<2x4xf32> -> !coopmatrix.matrix<2x4xf32, none>
  %s = coopmatrix.extract_row_slice %x[%c0] : !coopmatrix.matrix<2x4xf32, none> -> vector<4xf32>
  %t = coopmatrix.extract_row_slice %x[%c4] : !coopmatrix.matrix<2x4xf32, none> -> vector<4xf32>
  func.return %s, %t : vector<4xf32>, vector<4xf32>
}

// A hint is one for each row of a tile, and dropped where memory has no such rows.
// CHECK-LABEL: func.func @prefetch(
// CHECK-NOT:  coopmatrix
// CHECK:         memref.prefetch %m[%i, %i], read, locality<3>, data : memref<8x8xf32>
// CHECK-COUNT-7: memref.prefetch %m[%{{.*}}, %i], read, locality<3>, data : memref<8x8xf32>
// CHECK-NEXT:    memref.prefetch %m[%i, %i], read, locality<2>, data : memref<8x8xf32>
// CHECK-NEXT:    func.return
func.func @prefetch(%m: memref<8x8xf32>, %i: index) {
  coopmatrix.prefetch %m[%i, %i] row_major : memref<8x8xf32>, !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.prefetch %m[%i, %i] row_major level = 2 : memref<8x8xf32>, !coopmatrix.matrix<1x8xf32, acc>
  coopmatrix.prefetch %m[%i, %i] col_major : memref<8x8xf32>, !coopmatrix.matrix<8x8xf32, acc>
  func.return
}

// Arithmetic is done on a row at a time, a vector in memory; a row is reduced half by
// half, and each element becomes the result.
// CHECK-LABEL: func.func @rows(
func.func @rows(%m: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %x = coopmatrix.load %m[%c0, %c0] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  // CHECK:      scf.for %row = {{.*}} {
  // CHECK:        [[X:%.*]] = vector.load %scratch[%row, {{.*}}] : memref<8x8xf32>, vector<8xf32>
  // CHECK-NEXT:   [[L:%.*]] = vector.shuffle [[X]], [[X]] [0, 1, 2, 3]
  // CHECK-NEXT:   [[H:%.*]] = vector.shuffle [[X]], [[X]] [4, 5, 6, 7]
  // CHECK-NEXT:   arith.maxnumf [[L]], [[H]] : vector<4xf32>
  // CHECK:        vector.broadcast {{.*}} : f32 to vector<8xf32>
  // CHECK-NEXT:   vector.store
  %most = coopmatrix.reduce max rows broadcast %x : !coopmatrix.matrix<8x8xf32, acc> -> !coopmatrix.matrix<8x8xf32, acc>
  // CHECK:      scf.for %row{{.*}} = {{.*}} {
  // CHECK:        [[B:%.*]] = arith.cmpi ult, {{.*}} : vector<8xindex>
  // CHECK:        arith.select [[B]], {{.*}} : vector<8xi1>, vector<8xf32>
  %y = coopmatrix.apply (%i, %j, %e) in %most : !coopmatrix.matrix<8x8xf32, acc> {
    %zero = arith.constant 0.0 : f32
    %below = arith.cmpi ult, %j, %i : index
    %f = arith.select %below, %e, %zero : f32
    coopmatrix.yield %f : f32
  }
  // CHECK:      scf.for %row{{.*}} = {{.*}} {
  // CHECK:        scf.for %col = {{.*}} {
  // CHECK:          memref.load %m
  %z = coopmatrix.apply (%i, %j, %e) in %y : !coopmatrix.matrix<8x8xf32, acc> {
    %g = memref.load %m[%j, %i] : memref<8x8xf32>
    %f = arith.addf %e, %g : f32
    coopmatrix.yield %f : f32
  }
  coopmatrix.store %z, %m[%c0, %c0] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}
