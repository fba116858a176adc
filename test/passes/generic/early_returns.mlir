// RUN: coopc-opt %s -p inline-calls --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// A condition that returns in the middle is an scf.if around what follows.
// CHECK-LABEL: tt.func public @middle(
// CHECK:         scf.if %c {
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tt.store %p, %n
// CHECK-NEXT:      scf.if %d {
// CHECK-NEXT:        tt.store %p, %m
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %s = arith.addi %n, %m : i32
// CHECK-NEXT:        tt.store %p, %s
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tt.return
tt.func public @middle(%p: !tt.ptr<i32>, %n: i32, %m: i32, %c: i1, %d: i1) {
  cf.cond_br %c, ^end, ^rest
^end:
  tt.return
^rest:
  tt.store %p, %n : !tt.ptr<i32>
  cf.cond_br %d, ^other, ^last
^other:
  tt.store %p, %m : !tt.ptr<i32>
  tt.return
^last:
  %s = arith.addi %n, %m : i32
  tt.store %p, %s : !tt.ptr<i32>
  tt.return
}

// -----

// What is behind two branches is in both; values that a block takes are those of the
// branch, and those that a function returns are the results of the condition.
// CHECK-LABEL: tt.func public @both(
// CHECK:         %{{.*}} = scf.if %c -> (i32) {
// CHECK-NEXT:      %{{.*}} = scf.if %d -> (i32) {
// CHECK-NEXT:        scf.yield %m : i32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        [[T:%.*]] = arith.addi %m, %m : i32
// CHECK-NEXT:        scf.yield [[T]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield
// CHECK-NEXT:    } else {
// CHECK-NEXT:      [[U:%.*]] = arith.addi %n, %n : i32
// CHECK-NEXT:      scf.yield [[U]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tt.store %p
tt.func private @either(%n: i32, %m: i32, %c: i1, %d: i1) -> i32 {
  cf.cond_br %c, ^first, ^merged(%n : i32)
^first:
  cf.cond_br %d, ^end, ^merged(%m : i32)
^end:
  tt.return %m : i32
^merged(%x: i32):
  %t = arith.addi %x, %x : i32
  tt.return %t : i32
}
tt.func public @both(%p: !tt.ptr<i32>, %n: i32, %m: i32, %c: i1, %d: i1) {
  %r = tt.call @either(%n, %m, %c, %d) : (i32, i32, i1, i1) -> i32
  tt.store %p, %r : !tt.ptr<i32>
  tt.return
}

// -----

// CHECK: early_returns.mlir:{{[0-9]+}}:3: error: cf.cond_br: expected branches without loops, got one to a block before
tt.func public @loop(%p: !tt.ptr<i32>, %n: i32, %c: i1) {
  cf.br ^again
^again:
  tt.store %p, %n : !tt.ptr<i32>
  cf.cond_br %c, ^again, ^end
^end:
  tt.return
}
