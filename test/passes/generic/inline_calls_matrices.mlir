// RUN: coopc-opt %s -p "inline-calls{matrices=true},check-dominance" | filecheck %s
// RUN: coopc-opt %s -p coopc-amx -t llvm-ir | filecheck %s --check-prefix AMX

// Functions on matrices go where they are called, through each other; others stay.
// CHECK-NOT:   @twice
// CHECK-NOT:   @same
// CHECK-LABEL: func.func private @number(
// CHECK-LABEL: func.func @k(
// CHECK:       %m = coopmatrix.load
// CHECK-NEXT:  %i = func.call @number(
// CHECK-NEXT:  %sum = coopmatrix.add %m, %m
// CHECK-NEXT:  %[[FOUR:.*]] = coopmatrix.add %sum, %sum
// CHECK:       scf.for {{.*}} iter_args(%it = %[[FOUR]])
// CHECK-NEXT:    %[[LAST:.*]] = coopmatrix.add %it, %it
// CHECK-NEXT:    scf.yield %[[LAST]]
// AMX-LABEL:   define void @k(
// AMX:         @llvm.x86.tileloadd64.internal(
func.func private @same(%m: !coopmatrix.matrix<8x8xf32, acc>) -> !coopmatrix.matrix<8x8xf32, acc> {
  func.return %m : !coopmatrix.matrix<8x8xf32, acc>
}
func.func @twice(%m: !coopmatrix.matrix<8x8xf32, acc>) -> !coopmatrix.matrix<8x8xf32, acc> {
  %sum = coopmatrix.add %m, %m : !coopmatrix.matrix<8x8xf32, acc>
  %n = func.call @same(%sum) : (!coopmatrix.matrix<8x8xf32, acc>) -> !coopmatrix.matrix<8x8xf32, acc>
  func.return %n : !coopmatrix.matrix<8x8xf32, acc>
}
func.func private @number(%i: index) -> index {
  func.return %i : index
}
func.func @k(%p: memref<8x8xf32>) attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.grid = affine_map<() -> (1)>} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %m = coopmatrix.load %p[%0, %0] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %i = func.call @number(%1) : (index) -> index
  %n = func.call @twice(%m) : (!coopmatrix.matrix<8x8xf32, acc>) -> !coopmatrix.matrix<8x8xf32, acc>
  %o = func.call @twice(%n) : (!coopmatrix.matrix<8x8xf32, acc>) -> !coopmatrix.matrix<8x8xf32, acc>
  %r = scf.for %j = %0 to %1 step %1 iter_args(%it = %o) -> (!coopmatrix.matrix<8x8xf32, acc>) {
    %s = func.call @twice(%it) : (!coopmatrix.matrix<8x8xf32, acc>) -> !coopmatrix.matrix<8x8xf32, acc>
    scf.yield %s : !coopmatrix.matrix<8x8xf32, acc>
  }
  coopmatrix.store %r, %p[%0, %0] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}
