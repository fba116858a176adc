// RUN: coopc-opt %s -p canonicalize | filecheck %s --check-prefix=DEAD
// RUN: coopc-opt %s -p cse | filecheck %s --check-prefix=SAME
// RUN: coopc-opt %s -p licm,control-flow-hoist | filecheck %s --check-prefix=MOVE

// What vanishes when nothing uses it, what is done once for twice, and what moves out
// of loops and branches.

!a = !coopmatrix.matrix<8x4xf32, a>
!acc = !coopmatrix.matrix<8x4xf32, acc>
!i32 = !coopmatrix.matrix<8x4xi32, acc>

// DEAD-LABEL: func.func @unused(
// DEAD-NEXT:  coopmatrix.load %m[%i, %i] row_major volatile
// DEAD-NEXT:  coopmatrix.prefetch
// DEAD-NEXT:  coopmatrix.atomic_load
// DEAD-NEXT:  coopmatrix.atomic_add
// DEAD-NEXT:  coopmatrix.store
// DEAD-NEXT:  func.return
func.func @unused(%m: memref<64x64xf32>, %p: memref<f32>, %x: !acc, %i: index, %f: f32) {
  %0 = coopmatrix.load %m[%i, %i] row_major : memref<64x64xf32> -> !a
  %1 = coopmatrix.load %m[%i, %i] row_major volatile : memref<64x64xf32> -> !a
  coopmatrix.prefetch %m[%i, %i] row_major : memref<64x64xf32>, !a
  %2 = coopmatrix.atomic_load %m[%i, %i] row_major relaxed : memref<64x64xf32> -> !acc
  %3 = coopmatrix.atomic_add %x, %m[%i, %i] row_major relaxed : !acc, memref<64x64xf32> -> !acc
  %4 = coopmatrix.fill %p : memref<f32> -> !acc
  %5 = coopmatrix.fill %f : f32 -> !acc
  %6 = coopmatrix.div %5, %x : !acc
  %7 = coopmatrix.extract %x[%i] : !acc
  %8 = coopmatrix.insert %f, %x[%i] : !acc
  %9 = coopmatrix.reduce add rows %x : !acc -> !coopmatrix.matrix<8x1xf32, acc>
  %10 = coopmatrix.apply (%row, %col, %v) in %x : !acc {
    %w = arith.addf %v, %v : f32
    coopmatrix.yield %w : f32
  }
  coopmatrix.store %x, %m[%i, %i] row_major : !acc, memref<64x64xf32>
  func.return
}

// A region that writes is not dead.
// DEAD-LABEL: func.func @unused_apply_that_writes(
// DEAD-NEXT:  coopmatrix.apply
func.func @unused_apply_that_writes(%m: memref<64x64xf32>, %x: !acc) {
  %0 = coopmatrix.apply (%row, %col, %v) in %x : !acc {
    memref.store %v, %m[%row, %col] : memref<64x64xf32>
    coopmatrix.yield %v : f32
  }
  func.return
}

// Loads are one until something is written; a prefetch writes nothing, and is kept.
// SAME-LABEL: func.func @twice(
// SAME-NEXT:  %a = coopmatrix.load
// SAME-NEXT:  coopmatrix.prefetch
// SAME-NEXT:  coopmatrix.prefetch
// SAME-NEXT:  "test.op"(%a, %a)
// SAME-NEXT:  %c = coopmatrix.load
func.func @twice(%m: memref<64x64xf32>, %i: index) {
  %a = coopmatrix.load %m[%i, %i] row_major : memref<64x64xf32> -> !a
  coopmatrix.prefetch %m[%i, %i] row_major : memref<64x64xf32>, !a
  coopmatrix.prefetch %m[%i, %i] row_major : memref<64x64xf32>, !a
  %b = coopmatrix.load %m[%i, %i] row_major : memref<64x64xf32> -> !a
  "test.op"(%a, %b) : (!a, !a) -> ()
  %c = coopmatrix.load %m[%i, %i] row_major : memref<64x64xf32> -> !a
  "test.op"(%c) : (!a) -> ()
  func.return
}

// SAME-LABEL: func.func @twice_but_stored(
// SAME-NEXT:  %a = coopmatrix.load
// SAME-NEXT:  coopmatrix.store
// SAME-NEXT:  %b = coopmatrix.load
func.func @twice_but_stored(%m: memref<64x64xf32>, %x: !acc, %i: index) {
  %a = coopmatrix.load %m[%i, %i] row_major : memref<64x64xf32> -> !a
  coopmatrix.store %x, %m[%i, %i] row_major : !acc, memref<64x64xf32>
  %b = coopmatrix.load %m[%i, %i] row_major : memref<64x64xf32> -> !a
  "test.op"(%a, %b) : (!a, !a) -> ()
  func.return
}

// Options make a difference: layout, checks, signs.
// SAME-LABEL: func.func @unlike(
// SAME-NEXT:  coopmatrix.load
// SAME-NEXT:  coopmatrix.load
// SAME-NEXT:  coopmatrix.load
// SAME-NEXT:  coopmatrix.div signed
// SAME-NEXT:  coopmatrix.div %y
func.func @unlike(%m: memref<64x64xf32>, %y: !i32, %i: index) {
  %0 = coopmatrix.load %m[%i, %i] row_major : memref<64x64xf32> -> !a
  %1 = coopmatrix.load %m[%i, %i] col_major : memref<64x64xf32> -> !a
  %2 = coopmatrix.load %m[%i, %i] row_major checked(rows) : memref<64x64xf32> -> !a
  %3 = coopmatrix.div signed %y, %y : !i32
  %4 = coopmatrix.div %y, %y : !i32
  "test.op"(%0, %1, %2, %3, %4) : (!a, !a, !a, !i32, !i32) -> ()
  func.return
}

// SAME-LABEL: func.func @twice_computed(
// SAME-NEXT:  %a = coopmatrix.neg
// SAME-NEXT:  %c = coopmatrix.extract
// SAME-NEXT:  %e = coopmatrix.apply
// SAME:       "test.op"(%a, %a, %c, %c, %e, %e)
func.func @twice_computed(%x: !acc, %i: index) {
  %a = coopmatrix.neg %x : !acc
  %b = coopmatrix.neg %x : !acc
  %c = coopmatrix.extract %x[%i] : !acc
  %d = coopmatrix.extract %x[%i] : !acc
  %e = coopmatrix.apply (%row, %col, %v) in %x : !acc {
    %w = arith.addf %v, %v : f32
    coopmatrix.yield %w : f32
  }
  %f = coopmatrix.apply (%row, %col, %v) in %x : !acc {
    %w = arith.addf %v, %v : f32
    coopmatrix.yield %w : f32
  }
  "test.op"(%a, %b, %c, %d, %e, %f) : (!acc, !acc, f32, f32, !acc, !acc) -> ()
  func.return
}

// Each atomic access happens.
// SAME-LABEL: func.func @twice_atomic(
// SAME-NEXT:  coopmatrix.atomic_load
// SAME-NEXT:  coopmatrix.atomic_load
// SAME-NEXT:  coopmatrix.load %m[%i, %i] row_major volatile
// SAME-NEXT:  coopmatrix.load %m[%i, %i] row_major volatile
func.func @twice_atomic(%m: memref<64x64xf32>, %i: index) {
  %0 = coopmatrix.atomic_load %m[%i, %i] row_major relaxed : memref<64x64xf32> -> !acc
  %1 = coopmatrix.atomic_load %m[%i, %i] row_major relaxed : memref<64x64xf32> -> !acc
  %2 = coopmatrix.load %m[%i, %i] row_major volatile : memref<64x64xf32> -> !acc
  %3 = coopmatrix.load %m[%i, %i] row_major volatile : memref<64x64xf32> -> !acc
  "test.op"(%0, %1, %2, %3) : (!acc, !acc, !acc, !acc) -> ()
  func.return
}

// Arithmetic leaves loops; what reads memory stays, and so does a division whose divisor
// may be 0, and a slot that may not exist.
// MOVE-LABEL: func.func @invariant(
// MOVE-NEXT:  %fill = coopmatrix.fill %f
// MOVE-NEXT:  %neg = coopmatrix.neg %x
// MOVE-NEXT:  %quotient = coopmatrix.div %x, %x
// MOVE-NEXT:  %apply = coopmatrix.apply
// MOVE:       scf.for
// MOVE-NEXT:    coopmatrix.load
// MOVE-NEXT:    coopmatrix.fill %p
// MOVE-NEXT:    coopmatrix.div %y, %y
// MOVE-NEXT:    coopmatrix.extract
func.func @invariant(%m: memref<64x64xf32>, %p: memref<f32>, %x: !acc, %y: !i32, %i: index, %f: f32) {
  scf.for %k = %i to %i step %i {
    %load = coopmatrix.load %m[%i, %i] row_major : memref<64x64xf32> -> !acc
    %pointer = coopmatrix.fill %p : memref<f32> -> !acc
    %fill = coopmatrix.fill %f : f32 -> !acc
    %neg = coopmatrix.neg %x : !acc
    %quotient = coopmatrix.div %x, %x : !acc
    %integers = coopmatrix.div %y, %y : !i32
    %slot = coopmatrix.extract %x[%i] : !acc
    %apply = coopmatrix.apply (%row, %col, %v) in %x : !acc {
      %w = arith.addf %v, %v : f32
      coopmatrix.yield %w : f32
    }
    "test.op"(%load, %pointer, %fill, %neg, %quotient, %integers, %slot, %apply) : (!acc, !acc, !acc, !acc, !acc, !i32, f32, !acc) -> ()
    scf.yield
  }
  func.return
}

// A divisor that is known not to be 0, nor -1 where it is signed.
// MOVE-LABEL: func.func @known_divisor(
// MOVE:       %a = coopmatrix.div signed %y, %three
// MOVE-NEXT:  %b = coopmatrix.rem %y, %minus
// MOVE-NEXT:  scf.for
// MOVE-NEXT:    %c = coopmatrix.div signed %y, %minus
// MOVE-NEXT:    %d = coopmatrix.div %y, %zero
func.func @known_divisor(%y: !i32, %i: index) {
  %c0 = arith.constant 0 : i32
  %c3 = arith.constant 3 : i32
  %m1 = arith.constant -1 : i32
  %zero = coopmatrix.fill %c0 : i32 -> !i32
  %three = coopmatrix.fill %c3 : i32 -> !i32
  %minus = coopmatrix.fill %m1 : i32 -> !i32
  scf.for %k = %i to %i step %i {
    %a = coopmatrix.div signed %y, %three : !i32
    %b = coopmatrix.rem %y, %minus : !i32
    %c = coopmatrix.div signed %y, %minus : !i32
    %d = coopmatrix.div %y, %zero : !i32
    "test.op"(%a, %b, %c, %d) : (!i32, !i32, !i32, !i32) -> ()
    scf.yield
  }
  func.return
}
