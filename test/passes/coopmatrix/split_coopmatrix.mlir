// RUN: coopc-opt %s --split-input-file -p split-coopmatrix,check-dominance | filecheck %s
// RUN: coopc-opt %s --split-input-file -p split-coopmatrix,normalize | filecheck %s --check-prefix FOLDED

// Each module says what it is cut for; each function is one case.

// CHECK: simt.target<vulkan, lavapipe>
module attributes {simt.target = #simt.target<vulkan, lavapipe>} {

// One load for each tile, in row-major order; element (i, j) is at [i, j].
// CHECK-LABEL: func.func @load_row_major
func.func @load_row_major(%m: memref<?x?xf32>, %i: index, %j: index) {
  // CHECK-DAG:  %c8 = arith.constant 8 : index
  // CHECK-DAG:  %c16 = arith.constant 16 : index
  // CHECK-DAG:  %i_plus8 = arith.addi %i, %c8 : index
  // CHECK-DAG:  %j_plus8 = arith.addi %j, %c8 : index
  // CHECK-DAG:  %j_plus16 = arith.addi %j, %c16 : index
  // CHECK:      %x_0x0 = coopmatrix.load %m[%i, %j] row_major : memref<?x?xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  // CHECK-NEXT: %x_0x1 = coopmatrix.load %m[%i, %j_plus8]
  // CHECK-NEXT: %x_0x2 = coopmatrix.load %m[%i, %j_plus16]
  // CHECK-NEXT: %x_1x0 = coopmatrix.load %m[%i_plus8, %j]
  // CHECK-NEXT: %x_1x1 = coopmatrix.load %m[%i_plus8, %j_plus8]
  // CHECK-NEXT: %x_1x2 = coopmatrix.load %m[%i_plus8, %j_plus16]
  // CHECK-NEXT: func.return
  %x = coopmatrix.load %m[%i, %j] row_major : memref<?x?xf32> -> !coopmatrix.matrix<16x24xf32, acc>
  func.return
}

// Any matrix is each of its tiles.
// CHECK-LABEL: func.func @poison
func.func @poison(%m: memref<?x?xf32>, %i: index) {
  // CHECK:      %x = ub.poison : !coopmatrix.matrix<8x8xf32, acc>
  // CHECK:      coopmatrix.store %x, %m[%i, %i] row_major
  // CHECK-NEXT: coopmatrix.store %x, %m[%i, %i_plus8] row_major
  %x = ub.poison : !coopmatrix.matrix<8x16xf32, acc>
  coopmatrix.store %x, %m[%i, %i] row_major : !coopmatrix.matrix<8x16xf32, acc>, memref<?x?xf32>
  func.return
}

// Element (i, j) is at [j, i]: the offsets change places.
// CHECK-LABEL: func.func @load_column_major
func.func @load_column_major(%m: memref<?x?xf32>, %i: index, %j: index) {
  // CHECK:      %x_0x0 = coopmatrix.load %m[%i, %j] col_major checked(rows)
  // CHECK-NEXT: %x_0x1 = coopmatrix.load %m[%i_plus8, %j] col_major checked(rows)
  // CHECK-NEXT: %x_1x0 = coopmatrix.load %m[%i, %j_plus8] col_major checked(rows)
  // CHECK-NEXT: %x_1x1 = coopmatrix.load %m[%i_plus8, %j_plus8] col_major checked(rows)
  // CHECK-NEXT: func.return
  %x = coopmatrix.load %m[%i, %j] col_major checked(rows) : memref<?x?xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  func.return
}

// Two rows of f16 are one row of memory, and a column is two wide.
// CHECK-LABEL: func.func @load_packed
func.func @load_packed(%m: memref<?x?xf16>, %i: index, %j: index) {
  // CHECK:      %x_0x0 = coopmatrix.load %m[%i, %j] packed
  // CHECK-NEXT: %x_0x1 = coopmatrix.load %m[%i, %j_plus16] packed
  // CHECK-NEXT: %x_1x0 = coopmatrix.load %m[%i_plus4, %j] packed
  // CHECK-NEXT: %x_1x1 = coopmatrix.load %m[%i_plus4, %j_plus16] packed
  // CHECK-NEXT: func.return
  %x = coopmatrix.load %m[%i, %j] packed : memref<?x?xf16> -> !coopmatrix.matrix<16x16xf16, b>
  func.return
}

// Sums of constants are constants, and `normalize` adds up constants in sums; the leading
// positions of a memref stay.
// CHECK-LABEL: func.func @positions_are_folded
// FOLDED-LABEL: func.func @positions_are_folded
func.func @positions_are_folded(%m: memref<4x?x?xf32>, %i: index) {
  // CHECK:      %c40 = arith.constant 40 : index
  // CHECK:      %i_plus4_plus8 = arith.addi %i_plus4, %c8 : index
  // CHECK:      coopmatrix.load %m[%c3, %i_plus4, %c32]
  // CHECK-NEXT: coopmatrix.load %m[%c3, %i_plus4, %c40]
  // CHECK-NEXT: coopmatrix.load %m[%c3, %i_plus4_plus8, %c32]
  // CHECK-NEXT: coopmatrix.load %m[%c3, %i_plus4_plus8, %c40]
  // FOLDED:      %c40 = arith.constant 40 : index
  // FOLDED:      [[AT:%.*]] = arith.addi %i, %c12 : index
  // FOLDED:      coopmatrix.load %m[%c3, %i_plus4, %c32]
  // FOLDED-NEXT: coopmatrix.load %m[%c3, %i_plus4, %c40]
  // FOLDED-NEXT: coopmatrix.load %m[%c3, [[AT]], %c32]
  // FOLDED-NEXT: coopmatrix.load %m[%c3, [[AT]], %c40]
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %i_plus4 = arith.addi %i, %c4 : index
  %x = coopmatrix.load %m[%c3, %i_plus4, %c32] row_major volatile : memref<4x?x?xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  func.return
}

// An offset that leads back to the value itself is the value.
// CHECK-LABEL: func.func @no_sum_with_zero
// FOLDED-LABEL: func.func @no_sum_with_zero
func.func @no_sum_with_zero(%m: memref<?x?xf32>, %i: index) {
  // CHECK:      coopmatrix.load %m[%before, %i] row_major
  // CHECK-NEXT: coopmatrix.load %m[%before_plus8, %i] row_major
  // CHECK-NEXT: func.return
  // FOLDED:      coopmatrix.load %m[%before, %i] row_major
  // FOLDED-NEXT: coopmatrix.load %m[%i, %i] row_major
  // FOLDED-NEXT: func.return
  %cm8 = arith.constant -8 : index
  %before = arith.addi %i, %cm8 : index
  %x = coopmatrix.load %m[%before, %i] row_major volatile : memref<?x?xf32> -> !coopmatrix.matrix<16x8xf32, acc>
  func.return
}

// What is sure of the alignment: all of it for the first tile, 8 elements of 4 bytes
// along a row, rows of 64 elements, and 8 rows of an unknown number of elements.
// CHECK-LABEL: func.func @alignment
func.func @alignment(%m: memref<64x64xf32>, %n: memref<?x?xf32>, %i: index, %j: index) {
  // CHECK:      coopmatrix.load %m{{.*}} row_major volatile alignment = 64 :
  // CHECK-NEXT: coopmatrix.load %m{{.*}} row_major volatile alignment = 32 :
  // CHECK-NEXT: coopmatrix.load %m{{.*}} row_major volatile alignment = 64 :
  // CHECK-NEXT: coopmatrix.load %m{{.*}} row_major volatile alignment = 32 :
  %x = coopmatrix.load %m[%i, %j] row_major volatile alignment = 64 : memref<64x64xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  // CHECK-NEXT: coopmatrix.store %x_0x0, %n{{.*}} row_major nontemporal alignment = 128 :
  // CHECK-NEXT: coopmatrix.store %x_0x1, %n{{.*}} row_major nontemporal alignment = 32 :
  // CHECK-NEXT: coopmatrix.store %x_1x0, %n{{.*}} row_major nontemporal alignment = 32 :
  // CHECK-NEXT: coopmatrix.store %x_1x1, %n{{.*}} row_major nontemporal alignment = 32 :
  coopmatrix.store %x, %n[%i, %j] row_major nontemporal alignment = 128 : !coopmatrix.matrix<16x16xf32, acc>, memref<?x?xf32>
  func.return
}

// K in ascending order; each tile of a and b is loaded once.
// CHECK-LABEL: func.func @steps_along_k
func.func @steps_along_k(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %i: index, %c: !coopmatrix.matrix<8x16xf32, acc>) -> !coopmatrix.matrix<8x16xf32, acc> {
  // CHECK-COUNT-2: -> !coopmatrix.matrix<8x8xf16, a>
  // CHECK-COUNT-4: -> !coopmatrix.matrix<8x8xf16, b>
  // CHECK-NEXT: %0 = coopmatrix.mul_add %x_0x0, %y_0x0, %c_0x0 :
  // CHECK-NEXT: %r_0x0 = coopmatrix.mul_add %x_0x1, %y_1x0, %0 :
  // CHECK-NEXT: %1 = coopmatrix.mul_add %x_0x0, %y_0x1, %c_0x1 :
  // CHECK-NEXT: %r_0x1 = coopmatrix.mul_add %x_0x1, %y_1x1, %1 :
  // CHECK-NEXT: func.return %r_0x0, %r_0x1 : !coopmatrix.matrix<8x8xf32, acc>, !coopmatrix.matrix<8x8xf32, acc>
  %x = coopmatrix.load %a[%i, %i] row_major : memref<?x?xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %y = coopmatrix.load %b[%i, %i] row_major : memref<?x?xf16> -> !coopmatrix.matrix<16x16xf16, b>
  %r = coopmatrix.mul_add %x, %y, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<8x16xf32, acc>
  func.return %r : !coopmatrix.matrix<8x16xf32, acc>
}

// Signs are those of the whole; after the first step, c has the sign of the result.
// CHECK-LABEL: func.func @signs
func.func @signs(%a: !coopmatrix.matrix<8x16xi8, a>, %b: !coopmatrix.matrix<16x8xi8, b>, %c: !coopmatrix.matrix<8x8xi32, acc>) {
  // CHECK:      %0 = coopmatrix.mul_add %a_0x0, %b_0x0, %c signed(a, b, result) {test.x} :
  // CHECK-NEXT: coopmatrix.mul_add %a_0x1, %b_1x0, %0 signed(a, b, c, result) {test.x} :
  %r = coopmatrix.mul_add %a, %b, %c signed(a, b, result) {test.x} : !coopmatrix.matrix<8x16xi8, a>, !coopmatrix.matrix<16x8xi8, b>, !coopmatrix.matrix<8x8xi32, acc>
  func.return
}

// One fill is all tiles, and what is done to all of them alike is done once.
// CHECK-LABEL: func.func @fill
func.func @fill(%v: f32, %s: f32) -> !coopmatrix.matrix<16x16xf32, acc> {
  // CHECK-NEXT: %x = coopmatrix.fill %v : f32 -> !coopmatrix.matrix<8x8xf32, acc>
  // CHECK-NEXT: %y = coopmatrix.scale %x, %s : !coopmatrix.matrix<8x8xf32, acc>, f32
  // CHECK-NEXT: func.return %y, %y, %y, %y
  %x = coopmatrix.fill %v : f32 -> !coopmatrix.matrix<16x16xf32, acc>
  %y = coopmatrix.scale %x, %s : !coopmatrix.matrix<16x16xf32, acc>, f32
  func.return %y : !coopmatrix.matrix<16x16xf32, acc>
}

// CHECK-LABEL: func.func @element_by_element
// CHECK-SAME: (%x_0x0: !coopmatrix.matrix<8x8xf32, acc>, %x_0x1: !coopmatrix.matrix<8x8xf32, acc>, %y_0x0: !coopmatrix.matrix<8x8xf32, acc>, %y_0x1: !coopmatrix.matrix<8x8xf32, acc>)
func.func @element_by_element(%x: !coopmatrix.matrix<8x16xf32, acc>, %y: !coopmatrix.matrix<8x16xf32, acc>) -> !coopmatrix.matrix<8x16xi32, acc> {
  // CHECK-NEXT: %s_0x0 = coopmatrix.add %x_0x0, %y_0x0
  // CHECK-NEXT: %s_0x1 = coopmatrix.add %x_0x1, %y_0x1
  // CHECK-NEXT: %i_0x0 = coopmatrix.convert signed %s_0x0
  // CHECK-NEXT: %i_0x1 = coopmatrix.convert signed %s_0x1
  // CHECK-NEXT: %m_0x0 = coopmatrix.max signed %i_0x0, %i_0x0
  // CHECK-NEXT: %m_0x1 = coopmatrix.max signed %i_0x1, %i_0x1
  // CHECK-NEXT: %f_0x0 = coopmatrix.bitcast %m_0x0
  // CHECK-NEXT: %f_0x1 = coopmatrix.bitcast %m_0x1
  // CHECK-NEXT: coopmatrix.neg %f_0x0
  // CHECK-NEXT: coopmatrix.neg %f_0x1
  // CHECK-NEXT: func.return %m_0x0, %m_0x1
  %s = coopmatrix.add %x, %y : !coopmatrix.matrix<8x16xf32, acc>
  %i = coopmatrix.convert signed %s : !coopmatrix.matrix<8x16xf32, acc> -> !coopmatrix.matrix<8x16xi32, acc>
  %m = coopmatrix.max signed %i, %i : !coopmatrix.matrix<8x16xi32, acc>
  %f = coopmatrix.bitcast %m : !coopmatrix.matrix<8x16xi32, acc> -> !coopmatrix.matrix<8x16xf32, acc>
  %n = coopmatrix.neg %f : !coopmatrix.matrix<8x16xf32, acc>
  func.return %m : !coopmatrix.matrix<8x16xi32, acc>
}

// Tiles are combined first: one reduction for each row of tiles.
// CHECK-LABEL: func.func @reduce_rows
func.func @reduce_rows(%x: !coopmatrix.matrix<16x24xf32, acc>) -> !coopmatrix.matrix<16x1xf32, acc> {
  // CHECK-NEXT: %0 = coopmatrix.add %x_0x0, %x_0x1
  // CHECK-NEXT: %1 = coopmatrix.add %0, %x_0x2
  // CHECK-NEXT: %r_0x0 = coopmatrix.reduce add rows %1 : !coopmatrix.matrix<8x8xf32, acc> -> !coopmatrix.matrix<8x1xf32, acc>
  // CHECK-NEXT: %2 = coopmatrix.add %x_1x0, %x_1x1
  // CHECK-NEXT: %3 = coopmatrix.add %2, %x_1x2
  // CHECK-NEXT: %r_1x0 = coopmatrix.reduce add rows %3
  // CHECK-NEXT: func.return %r_0x0, %r_1x0
  %r = coopmatrix.reduce add rows %x : !coopmatrix.matrix<16x24xf32, acc> -> !coopmatrix.matrix<16x1xf32, acc>
  func.return %r : !coopmatrix.matrix<16x1xf32, acc>
}

// The one row of the result is cut as the columns are.
// CHECK-LABEL: func.func @reduce_columns
func.func @reduce_columns(%x: !coopmatrix.matrix<16x16xi32, acc>) -> !coopmatrix.matrix<1x16xi32, acc> {
  // CHECK-NEXT: %0 = coopmatrix.max signed %x_0x0, %x_1x0
  // CHECK-NEXT: %r_0x0 = coopmatrix.reduce max cols signed %0 : !coopmatrix.matrix<8x8xi32, acc> -> !coopmatrix.matrix<1x8xi32, acc>
  // CHECK-NEXT: %1 = coopmatrix.max signed %x_0x1, %x_1x1
  // CHECK-NEXT: %r_0x1 = coopmatrix.reduce max cols signed %1
  // CHECK-NEXT: func.return %r_0x0, %r_0x1
  %r = coopmatrix.reduce max cols signed %x : !coopmatrix.matrix<16x16xi32, acc> -> !coopmatrix.matrix<1x16xi32, acc>
  func.return %r : !coopmatrix.matrix<1x16xi32, acc>
}

// A result that needs no cut stays one matrix.
// CHECK-LABEL: func.func @reduce_to_one_tile
func.func @reduce_to_one_tile(%x: !coopmatrix.matrix<16x8xi32, acc>) -> !coopmatrix.matrix<1x8xi32, acc> {
  // CHECK-NEXT: %0 = coopmatrix.min signed %x_0x0, %x_1x0
  // CHECK-NEXT: %r = coopmatrix.reduce min cols signed %0
  // CHECK-NEXT: func.return %r
  %r = coopmatrix.reduce min cols signed %x : !coopmatrix.matrix<16x8xi32, acc> -> !coopmatrix.matrix<1x8xi32, acc>
  func.return %r : !coopmatrix.matrix<1x8xi32, acc>
}

// All tiles are combined, and each tile of the result is the same.
// CHECK-LABEL: func.func @reduce_all
func.func @reduce_all(%x: !coopmatrix.matrix<16x8xi32, acc>) -> !coopmatrix.matrix<16x8xi32, acc> {
  // CHECK-NEXT: %0 = coopmatrix.add %x_0x0, %x_1x0
  // CHECK-NEXT: %[[R:.*]] = coopmatrix.reduce add all broadcast %0 : !coopmatrix.matrix<8x8xi32, acc> -> !coopmatrix.matrix<8x8xi32, acc>
  // CHECK-NEXT: func.return %[[R]], %[[R]]
  %r = coopmatrix.reduce add all broadcast %x : !coopmatrix.matrix<16x8xi32, acc> -> !coopmatrix.matrix<16x8xi32, acc>
  func.return %r : !coopmatrix.matrix<16x8xi32, acc>
}

// Tiles swap places, too.
// CHECK-LABEL: func.func @transpose
func.func @transpose(%x: !coopmatrix.matrix<16x24xf32, acc>) -> !coopmatrix.matrix<24x16xf32, acc> {
  // CHECK-NEXT: coopmatrix.transpose %x_0x0
  // CHECK-NEXT: coopmatrix.transpose %x_1x0
  // CHECK-NEXT: coopmatrix.transpose %x_0x1
  // CHECK-NEXT: coopmatrix.transpose %x_1x1
  // CHECK-NEXT: coopmatrix.transpose %x_0x2
  // CHECK-NEXT: coopmatrix.transpose %x_1x2
  %r = coopmatrix.transpose %x : !coopmatrix.matrix<16x24xf32, acc> -> !coopmatrix.matrix<24x16xf32, acc>
  func.return %r : !coopmatrix.matrix<24x16xf32, acc>
}

// Rows and columns count from the origin of the whole matrix.
// CHECK-LABEL: func.func @apply
func.func @apply(%x: !coopmatrix.matrix<16x8xf32, acc>, %zero: f32) {
  // CHECK-NEXT: %y_0x0 = coopmatrix.apply (%i, %j, %v) in %x_0x0
  // CHECK-NEXT:   %below = arith.cmpi ugt, %i, %j
  // CHECK:      %y_1x0 = coopmatrix.apply (%i_1, %j_1, %v_1) in %x_1x0
  // CHECK-NEXT:   %c8 = arith.constant 8 : index
  // CHECK-NEXT:   %i_plus8 = arith.addi %i_1, %c8 : index
  // CHECK-NEXT:   arith.cmpi ugt, %i_plus8, %j_1
  // CHECK-NEXT:   arith.select %{{.*}}, %v_1, %zero
  %y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<16x8xf32, acc> {
    %below = arith.cmpi ugt, %i, %j : index
    %w = arith.select %below, %v, %zero : f32
    coopmatrix.yield %w : f32
  }
  func.return
}

// CHECK-LABEL: func.func @prefetch
func.func @prefetch(%m: memref<?x?xf16>, %i: index) {
  // CHECK:      coopmatrix.prefetch %m[%i, %i] row_major level = 1 : memref<?x?xf16>, !coopmatrix.matrix<8x8xf16, a>
  // CHECK-NEXT: coopmatrix.prefetch %m[%i, %i_plus8] row_major level = 1
  // CHECK-NEXT: func.return
  coopmatrix.prefetch %m[%i, %i] row_major level = 1 : memref<?x?xf16>, !coopmatrix.matrix<8x16xf16, a>
  func.return
}

// It has sums of its own, as it may stand in front of what else is cut.
// CHECK-LABEL: func.func @prefetch_first
func.func @prefetch_first(%m: memref<?x?xf16>, %i: index) {
  // CHECK:      [[AT:%.*]] = arith.addi %i, %{{.*}} : index
  // CHECK-NEXT: coopmatrix.prefetch %m[%i, %i]
  // CHECK-NEXT: coopmatrix.prefetch %m[%i, [[AT]]]
  // CHECK:      coopmatrix.load %m[%i, %i]
  coopmatrix.prefetch %m[%i, %i] row_major : memref<?x?xf16>, !coopmatrix.matrix<8x16xf16, a>
  %x = coopmatrix.load %m[%i, %i] row_major : memref<?x?xf16> -> !coopmatrix.matrix<8x16xf16, a>
  func.return
}

// CHECK-LABEL: func.func @atomics
func.func @atomics(%m: memref<?x?xf32>, %i: index) {
  // CHECK:      %x_0x0 = coopmatrix.atomic_load %m[%i, %i] row_major acquire scope = workgroup
  // CHECK-NEXT: %x_0x1 = coopmatrix.atomic_load %m[%i, %i_plus8] row_major acquire scope = workgroup
  // CHECK-NEXT: %y_0x0 = coopmatrix.atomic_add %x_0x0, %m[%i, %i] row_major checked(cols) relaxed
  // CHECK-NEXT: %y_0x1 = coopmatrix.atomic_add %x_0x1, %m[%i, %i_plus8] row_major checked(cols) relaxed
  // CHECK-NEXT: coopmatrix.atomic_store %y_0x0, %m[%i, %i] row_major release
  // CHECK-NEXT: coopmatrix.atomic_store %y_0x1, %m[%i, %i_plus8] row_major release
  %x = coopmatrix.atomic_load %m[%i, %i] row_major acquire scope = workgroup : memref<?x?xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  %y = coopmatrix.atomic_add %x, %m[%i, %i] row_major checked(cols) relaxed : !coopmatrix.matrix<8x16xf32, acc>, memref<?x?xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  coopmatrix.atomic_store %y, %m[%i, %i] row_major release : !coopmatrix.matrix<8x16xf32, acc>, memref<?x?xf32>
  func.return
}

// Loops and branches carry tiles; what is no matrix stays where it is.
// CHECK-LABEL: func.func @control_flow
func.func @control_flow(%x: !coopmatrix.matrix<8x16xf32, acc>, %n: index, %t: i1) -> (!coopmatrix.matrix<8x16xf32, acc>, index) {
  // CHECK:      %r_0x0, %r_0x1, %last = scf.for %k = %c0 to %n step %c1 iter_args(%y_0x0 = %x_0x0, %y_0x1 = %x_0x1, %p = %c0)
  // CHECK-NEXT:   %z_0x0, %z_0x1 = scf.if %t
  // CHECK-NEXT:     coopmatrix.neg %y_0x0
  // CHECK-NEXT:     coopmatrix.neg %y_0x1
  // CHECK-NEXT:     scf.yield
  // CHECK-NEXT:   } else {
  // CHECK-NEXT:     scf.yield %y_0x0, %y_0x1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %s_0x0 = arith.select %t, %z_0x0, %y_0x0
  // CHECK-NEXT:   %s_0x1 = arith.select %t, %z_0x1, %y_0x1
  // CHECK-NEXT:   scf.yield %s_0x0, %s_0x1, %k
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %r_0x0, %r_0x1, %last
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r, %last = scf.for %k = %c0 to %n step %c1 iter_args(%y = %x, %p = %c0) -> (!coopmatrix.matrix<8x16xf32, acc>, index) {
    %z = scf.if %t -> (!coopmatrix.matrix<8x16xf32, acc>) {
      %w = coopmatrix.neg %y : !coopmatrix.matrix<8x16xf32, acc>
      scf.yield %w : !coopmatrix.matrix<8x16xf32, acc>
    } else {
      scf.yield %y : !coopmatrix.matrix<8x16xf32, acc>
    }
    %s = arith.select %t, %z, %y : !coopmatrix.matrix<8x16xf32, acc>
    scf.yield %s, %k : !coopmatrix.matrix<8x16xf32, acc>, index
  }
  func.return %r, %last : !coopmatrix.matrix<8x16xf32, acc>, index
}

// CHECK-LABEL: func.func @while
func.func @while(%x: !coopmatrix.matrix<8x16xf32, acc>, %t: i1) {
  // CHECK-NEXT: %r_0x0, %r_0x1 = scf.while (%y_0x0 = %x_0x0, %y_0x1 = %x_0x1)
  // CHECK-NEXT:   scf.condition(%t) %y_0x0, %y_0x1
  // CHECK-NEXT: } do {
  // CHECK-NEXT: ^{{.*}}(%z_0x0: !coopmatrix.matrix<8x8xf32, acc>, %z_0x1: !coopmatrix.matrix<8x8xf32, acc>):
  // CHECK-NEXT:   scf.yield %z_0x0, %z_0x1
  %r = scf.while (%y = %x) : (!coopmatrix.matrix<8x16xf32, acc>) -> !coopmatrix.matrix<8x16xf32, acc> {
    scf.condition(%t) %y : !coopmatrix.matrix<8x16xf32, acc>
  } do {
  ^bb0(%z: !coopmatrix.matrix<8x16xf32, acc>):
    scf.yield %z : !coopmatrix.matrix<8x16xf32, acc>
  }
  func.return
}

// CHECK-LABEL: func.func @call
func.func @call(%x: !coopmatrix.matrix<8x16xf32, acc>) {
  // CHECK-NEXT: %y_0x0, %y_0x1 = func.call @callee(%x_0x0, %x_0x1)
  %y = func.call @callee(%x) : (!coopmatrix.matrix<8x16xf32, acc>) -> !coopmatrix.matrix<8x16xf32, acc>
  func.return
}

// CHECK-LABEL: func.func @callee
// CHECK-SAME: -> (!coopmatrix.matrix<8x8xf32, acc>, !coopmatrix.matrix<8x8xf32, acc>)
func.func @callee(%x: !coopmatrix.matrix<8x16xf32, acc>) -> !coopmatrix.matrix<8x16xf32, acc> {
  func.return %x : !coopmatrix.matrix<8x16xf32, acc>
}

// Nothing to cut: lengths and slots stay.
// CHECK-LABEL: func.func @fits
func.func @fits(%x: !coopmatrix.matrix<8x8xf32, acc>, %i: index) {
  // CHECK-NEXT: coopmatrix.length !coopmatrix.matrix<8x8xf32, acc>
  // CHECK-NEXT: coopmatrix.extract %x[%i]
  %n = coopmatrix.length !coopmatrix.matrix<8x8xf32, acc> : index
  %e = coopmatrix.extract %x[%i] : !coopmatrix.matrix<8x8xf32, acc>
  func.return
}

// Sizes that are known only when the module is specialised are left alone, and so are
// matrices of a work-group, and kinds that the device does not have.
// CHECK-LABEL: func.func @left_alone
func.func @left_alone(%v: f32, %m: memref<?x?xf32>, %i: index) {
  // CHECK-NEXT: coopmatrix.fill %v : f32 -> !coopmatrix.matrix<@M x 16 x f32, acc>
  // CHECK-NEXT: coopmatrix.fill %v : f32 -> !coopmatrix.matrix<16x16xf32, acc, scope = workgroup>
  // CHECK-NEXT: coopmatrix.fill %v : f32 -> !coopmatrix.matrix<16x16xf32, a>
  // CHECK-NEXT: coopmatrix.fill %v : f32 -> !coopmatrix.matrix<7x9xf32, none>
  %x = coopmatrix.fill %v : f32 -> !coopmatrix.matrix<@M x 16 x f32, acc>
  %y = coopmatrix.fill %v : f32 -> !coopmatrix.matrix<16x16xf32, acc, scope = workgroup>
  %z = coopmatrix.fill %v : f32 -> !coopmatrix.matrix<16x16xf32, a>
  %w = coopmatrix.fill %v : f32 -> !coopmatrix.matrix<7x9xf32, none>
  func.return
}

coopmatrix.spec_constant @M = 16 : i32
}

// -----

// CHECK: simt.target<vulkan, nvidia>
module attributes {simt.target = #simt.target<vulkan, nvidia>} {

// Of 16x16x16, 16x8x16 and 16x8x8, the one with the fewest multiplications.
// CHECK-LABEL: func.func @fewest_multiplications
func.func @fewest_multiplications(%a: !coopmatrix.matrix<16x32xf16, a>, %b: !coopmatrix.matrix<32x16xf16, b>, %c: !coopmatrix.matrix<16x16xf32, acc>) {
  // CHECK-NEXT: coopmatrix.mul_add {{.*}}matrix<16x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>
  // CHECK-NEXT: coopmatrix.mul_add {{.*}}matrix<16x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>
  // CHECK-NEXT: func.return
  %r = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<16x32xf16, a>, !coopmatrix.matrix<32x16xf16, b>, !coopmatrix.matrix<16x16xf32, acc>
  func.return
}

// 24 columns are three times 8, and K = 8 leaves only 16x8x8.
// CHECK-LABEL: func.func @sizes_that_divide
func.func @sizes_that_divide(%a: !coopmatrix.matrix<16x8xf16, a>, %b: !coopmatrix.matrix<8x24xf16, b>, %c: !coopmatrix.matrix<16x24xf32, acc>) {
  // CHECK-COUNT-3: matrix<16x8xf16, a>, !coopmatrix.matrix<8x8xf16, b>, !coopmatrix.matrix<16x8xf32, acc>
  // CHECK-NEXT: func.return
  %r = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<16x8xf16, a>, !coopmatrix.matrix<8x24xf16, b>, !coopmatrix.matrix<16x24xf32, acc>
  func.return
}

// The 16 columns of the first result are K of the second: 16x8x16 would not do for the
// first, although its 8 columns are enough for b.
// CHECK-LABEL: func.func @result_as_operand
func.func @result_as_operand(%q: !coopmatrix.matrix<16x16xf16, a>, %k: !coopmatrix.matrix<16x32xf16, b>, %v: !coopmatrix.matrix<32x8xf16, b>, %s: !coopmatrix.matrix<16x32xf32, acc>, %o: !coopmatrix.matrix<16x8xf32, acc>) {
  // CHECK-NEXT: %p_0x0 = coopmatrix.mul_add %q, %k_0x0, %s_0x0
  // CHECK-NEXT: %p_0x1 = coopmatrix.mul_add %q, %k_0x1, %s_0x1
  // CHECK-NEXT: %h_0x0 = coopmatrix.convert %p_0x0 : !coopmatrix.matrix<16x16xf32, acc> -> !coopmatrix.matrix<16x16xf16, a>
  // CHECK-NEXT: %h_0x1 = coopmatrix.convert %p_0x1
  // CHECK-NEXT: %0 = coopmatrix.mul_add %h_0x0, %v_0x0, %o : !coopmatrix.matrix<16x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>
  // CHECK-NEXT: coopmatrix.mul_add %h_0x1, %v_1x0, %0
  %p = coopmatrix.mul_add %q, %k, %s : !coopmatrix.matrix<16x16xf16, a>, !coopmatrix.matrix<16x32xf16, b>, !coopmatrix.matrix<16x32xf32, acc>
  %h = coopmatrix.convert %p : !coopmatrix.matrix<16x32xf32, acc> -> !coopmatrix.matrix<16x32xf16, a>
  %r = coopmatrix.mul_add %h, %v, %o : !coopmatrix.matrix<16x32xf16, a>, !coopmatrix.matrix<32x8xf16, b>, !coopmatrix.matrix<16x8xf32, acc>
  func.return
}
}

// -----

// CHECK: simt.target<opencl, bmg>
module attributes {simt.target = #simt.target<opencl, bmg>} {

// 16 rows at once is fewest, but a column-major a has 8.
// CHECK-LABEL: func.func @layouts_of_a
func.func @layouts_of_a(%m: memref<?x?xf16>, %i: index, %b: !coopmatrix.matrix<16x16xf16, b>, %c: !coopmatrix.matrix<16x16xf32, acc>, %d: !coopmatrix.matrix<16x16xf32, acc>) {
  // CHECK:     %x = coopmatrix.load {{.*}} row_major : memref<?x?xf16> -> !coopmatrix.matrix<16x16xf16, a>
  // CHECK:     coopmatrix.load {{.*}} col_major : memref<?x?xf16> -> !coopmatrix.matrix<8x16xf16, a>
  // CHECK:     coopmatrix.mul_add %x, %b, %c
  // CHECK:     coopmatrix.mul_add %y_0x0, %b, %d_0x0
  // CHECK:     coopmatrix.mul_add %y_1x0, %b, %d_1x0
  %x = coopmatrix.load %m[%i, %i] row_major : memref<?x?xf16> -> !coopmatrix.matrix<16x16xf16, a>
  %y = coopmatrix.load %m[%i, %i] col_major : memref<?x?xf16> -> !coopmatrix.matrix<16x16xf16, a>
  %r = coopmatrix.mul_add %x, %b, %c : !coopmatrix.matrix<16x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<16x16xf32, acc>
  %s = coopmatrix.mul_add %y, %b, %d : !coopmatrix.matrix<16x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<16x16xf32, acc>
  func.return
}
}

// -----

// CHECK: simt.target<opencl, intel-cpu>
module attributes {simt.target = #simt.target<opencl, intel-cpu>} {

// Tiles of AMX have up to 16 rows: 24 are two times 12.
// CHECK-LABEL: func.func @rows_of_tiles
func.func @rows_of_tiles(%a: !coopmatrix.matrix<24x64xi8, a>, %b: !coopmatrix.matrix<64x16xi8, b>, %c: !coopmatrix.matrix<24x16xi32, acc>) {
  // CHECK-COUNT-2: signed(a) : !coopmatrix.matrix<12x64xi8, a>, !coopmatrix.matrix<64x16xi8, b>, !coopmatrix.matrix<12x16xi32, acc>
  // CHECK-NEXT: func.return
  %r = coopmatrix.mul_add %a, %b, %c signed(a) : !coopmatrix.matrix<24x64xi8, a>, !coopmatrix.matrix<64x16xi8, b>, !coopmatrix.matrix<24x16xi32, acc>
  func.return
}
}

// -----

// Rows of tiles that begin where vectors do need not end there.
module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
// CHECK-LABEL: func.func @half_a_vector
// CHECK: coopmatrix.load %m[%{{.*}}, %z] row_major : memref<16x1xvector<8xf32>> -> !coopmatrix.matrix<8x8xf16, a>
// CHECK: coopmatrix.load %m[%{{.*}}, %z] row_major : memref<16x1xvector<8xf32>> -> !coopmatrix.matrix<8x8xf16, a>
func.func @half_a_vector(%m: memref<16x1xvector<8xf32>>, %o: memref<16x8xf16>) {
  %z = arith.constant 0 : index
  %x = coopmatrix.load %m[%z, %z] row_major : memref<16x1xvector<8xf32>> -> !coopmatrix.matrix<16x8xf16, a>
  coopmatrix.store %x, %o[%z, %z] row_major : !coopmatrix.matrix<16x8xf16, a>, memref<16x8xf16>
  func.return
}
}
