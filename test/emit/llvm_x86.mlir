// RUN: coopc-opt %s -t 'llvm-ir{device=amx}' | filecheck %s
// RUN: coopc-opt %s -t 'llvm-ir{device=amx cpu=sapphirerapids}' | filecheck %s --check-prefix CPU

// How functions are called and what they declare; what they compute is tested by running
// them (test_llvm_x86.py).

// A memref is its pointer and what its type leaves open; a bool is C's.
// CHECK:      target triple = "x86_64-unknown-linux-gnu"
// CHECK:      define { float, ptr } @results(i1 zeroext %b, ptr %m, i64 %m_n0, i64 %m_n1, i64 %m_n2) nounwind {
// CPU:        @results({{.*}}) nounwind "target-cpu"="sapphirerapids" {
func.func @results(%b: i1, %m: memref<?x4xf32, strided<[?, 1], offset: ?>>) -> (f32, memref<4xbf16>) {
  // CHECK-NEXT: entry:
  // CHECK-NEXT: %own = alloca [4 x i16], align 64
  // CHECK-NEXT: %[[AT:.*]] = add i64 %m_n0, 2
  // CHECK-NEXT: getelementptr inbounds float, ptr %m, i64 %[[AT]]
  // CHECK-NEXT: %x = load float, ptr %{{.*}}, align 4, !nontemporal !0
  %own = memref.alloca() : memref<4xbf16>
  %0 = arith.constant 0 : index
  %2 = arith.constant 2 : index
  %x = memref.load %m[%0, %2] {nontemporal = true} : memref<?x4xf32, strided<[?, 1], offset: ?>>
  // CHECK-NEXT: %fast = fmul fast float %x, %x
  // CHECK-NEXT: %some = fadd nnan contract float %fast, %x
  %fast = arith.mulf %x, %x fastmath<fast> : f32
  %some = arith.addf %fast, %x fastmath<nnan,contract> : f32
  func.return %some, %own : f32, memref<4xbf16>
}

// CHECK: define internal void @hidden() nounwind {
func.func private @hidden() {
  func.return
}

// Of loads, LLVM takes only some widths as nontemporal, and aborts at others.
// CHECK: define void @narrow
func.func @narrow(%m: memref<4xi8>, %n: memref<4xi8>) {
  // CHECK: load i8, ptr %m, align 1{{$}}
  // CHECK: store i8 %{{.*}}, ptr %n, align 1, !nontemporal !0
  // Such stores are ordered with no others: they are done before a function returns.
  // CHECK-NEXT: call void @llvm.x86.sse.sfence()
  // CHECK-NEXT: ret void
  %0 = arith.constant 0 : index
  %x = memref.load %m[%0] {nontemporal = true} : memref<4xi8>
  memref.store %x, %n[%0] {nontemporal = true} : memref<4xi8>
  func.return
}

// Loops that say whether they are unrolled have a node each.
// CHECK: define void @loops
func.func @loops(%m: memref<4xi8>, %n: index) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %x = arith.constant 3 : i8
  scf.for %i = %0 to %n step %1 {
    scf.for %j = %0 to %n step %1 {
      memref.store %x, %m[%i] : memref<4xi8>
    // CHECK: br label %[[INNER:for.*]], !llvm.loop ![[ON:[0-9]+]]
    } {simt.unroll = true}
    scf.for %j = %0 to %n step %1 {
      memref.store %x, %m[%j] : memref<4xi8>
    // CHECK: br label %{{for.*[^0-9]?[0-9]*}}{{$}}
    }
  // CHECK: br label %for, !llvm.loop ![[OFF:[0-9]+]]
  } {simt.unroll = false}
  func.return
}

// CHECK: declare double @elsewhere(ptr, double) nounwind
func.func private @elsewhere(%m: memref<4xf64>, %x: f64) -> f64

func.func @call(%m: memref<4xf64>, %x: f64) -> f64 {
  %r = func.call @elsewhere(%m, %x) : (memref<4xf64>, f64) -> f64
  func.return %r : f64
}
// CHECK: !0 = !{i32 1}
// CHECK: ![[OFF]] = distinct !{![[OFF]], !{{[0-9]+}}}
// CHECK: ![[ON]] = distinct !{![[ON]], !{{[0-9]+}}}
