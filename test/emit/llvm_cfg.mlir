// RUN: coopc-opt %s -t 'llvm-ir{device=amx}' | filecheck %s
// RUN: coopc-opt %s -t 'llvm-ir{device=bmg}' | filecheck %s --check-prefix GPU

// Blocks in an order in which what is used was emitted; arguments are phis.
// CHECK-LABEL: define i32 @power(i32 %x, i64 %n)
// CHECK-NEXT:  entry:
// CHECK-NEXT:  br label %block
// CHECK-NEXT:  block:
// CHECK-NEXT:  %i = phi i64 [ 0, %entry ], [ %j, %block.1 ]
// CHECK-NEXT:  %p = phi i32 [ 1, %entry ], [ %q, %block.1 ]
// CHECK-NEXT:  %more = icmp slt i64 %i, %n
// CHECK-NEXT:  br i1 %more, label %block.1, label %edge
// CHECK-NEXT:  edge:
// CHECK-NEXT:  br label %block.0
// CHECK-NEXT:  block.0:
// CHECK-NEXT:  %r = phi i32 [ %p, %edge ]
// CHECK-NEXT:  ret i32 %r
// CHECK-NEXT:  block.1:
// CHECK-NEXT:  %q = mul i32 %p, %x
// CHECK-NEXT:  %j = add i64 %i, 1
// CHECK-NEXT:  br label %block
func.func @power(%x: i32, %n: index) -> i32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %first = arith.constant 1 : i32
  cf.br ^loop(%zero, %first : index, i32)
^loop(%i: index, %p: i32):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^done(%p : i32)
^done(%r: i32):
  func.return %r : i32
^body:
  %q = arith.muli %p, %x : i32
  %j = arith.addi %i, %one : index
  cf.br ^loop(%j, %q : index, i32)
}

// Two branches to one block pass blocks of their own; so do those of a switch.
// CHECK-LABEL: define i32 @choose(
// CHECK:       br i1 %c, label %edge, label %edge.0
// CHECK:       phi i32 [ %x, %edge ], [ %y, %edge.0 ]
func.func @choose(%c: i1, %x: i32, %y: i32) -> i32 {
  cf.cond_br %c, ^join(%x : i32), ^join(%y : i32)
^join(%r: i32):
  func.return %r : i32
}

// CHECK-LABEL: define void @select(
// CHECK:       switch i32 %n, label %edge.1 [ i32 0, label %edge i32 7, label %edge.0 ]
// CHECK:       phi ptr [ %p, %edge ], [ %q, %edge.0 ], [ %p, %edge.1 ]
// CHECK:       store i32 %n, ptr %r
func.func @select(%n: i32, %p: memref<i32>, %q: memref<i32>) {
  cf.switch %n : i32, [
    default: ^store(%p : memref<i32>),
    0: ^store(%p : memref<i32>),
    7: ^store(%q : memref<i32>)
  ]
^store(%r: memref<i32>):
  memref.store %n, %r[] : memref<i32>
  func.return
}

// A kernel, too; what nothing reaches is left out.
// GPU-LABEL: define spir_kernel void @k(
// GPU:       br i1
// GPU-COUNT-2: ret void
// GPU-NOT:   ret void
func.func @k(%c: i1, %p: memref<i32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : i32
  cf.cond_br %c, ^store, ^end
^store:
  memref.store %0, %p[] : memref<i32>
  func.return
^nowhere:
  memref.store %0, %p[] : memref<i32>
  func.return
^end:
  func.return
}
