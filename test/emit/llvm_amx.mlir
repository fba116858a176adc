// RUN: coopc-opt %s -t 'llvm-ir{device=amx}' | filecheck %s
// RUN: coopc-opt %s -t 'llvm-ir{device=amx cpu=sapphirerapids}' | filecheck %s --check-prefix CPU

// Operations of amx are intrinsics on x86_amx, whose registers LLVM assigns; a function
// says what of AMX it needs.

// Rows, bytes of a row, and bytes from row to row; a loop carries tiles.
// CHECK-LABEL: define void @bytes(ptr %a, ptr %b, i64 %b_n0, i64 %b_n1, ptr %c, i64 %i, i64 %n)
// CHECK-SAME: nounwind "no-builtins" "target-features"="+amx-int8,+amx-tile" {
// CPU-LABEL: define void @bytes(
// CPU-SAME: nounwind "target-cpu"="sapphirerapids" "no-builtins" "target-features"="+amx-int8,+amx-tile" {
func.func @bytes(%a: memref<5x64xi8>, %b: memref<?x?xi8>, %c: memref<5x7xi32>, %i: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %z = call x86_amx @llvm.x86.tilezero.internal(i16 5, i16 28)
  %z = amx.tile_zero : !amx.tile<5x7xi32>
  // CHECK: %s = phi x86_amx [ %z, %entry ], [ %w, %again ]
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%s = %z) -> (!amx.tile<5x7xi32>) {
    // CHECK: %x = call x86_amx @llvm.x86.tileloadd64.internal(i16 5, i16 64, ptr %{{.*}}, i64 64)
    %x = amx.tile_load %a[%c0, %k] : memref<5x64xi8> into !amx.tile<5x64xi8>
    // CHECK: %y = call x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 28, ptr %{{.*}}, i64 %b_n1)
    %y = amx.tile_load %b[%k, %c0] : memref<?x?xi8> into !amx.tile<16x28xi8>
    // CHECK-NEXT: %t = call x86_amx @llvm.x86.tdpbssd.internal(i16 5, i16 28, i16 64, x86_amx %s, x86_amx %x, x86_amx %y)
    %t = amx.tile_muli %x, %y, %s : !amx.tile<5x64xi8>, !amx.tile<16x28xi8>, !amx.tile<5x7xi32>
    // CHECK-NEXT: %u = call x86_amx @llvm.x86.tdpbsud.internal(i16 5, i16 28, i16 64, x86_amx %t,
    %u = amx.tile_muli %x, %y zext, %t : !amx.tile<5x64xi8>, !amx.tile<16x28xi8>, !amx.tile<5x7xi32>
    // CHECK-NEXT: %v = call x86_amx @llvm.x86.tdpbusd.internal(i16 5, i16 28, i16 64, x86_amx %u,
    %v = amx.tile_muli %x zext, %y, %u : !amx.tile<5x64xi8>, !amx.tile<16x28xi8>, !amx.tile<5x7xi32>
    // CHECK-NEXT: %w = call x86_amx @llvm.x86.tdpbuud.internal(i16 5, i16 28, i16 64, x86_amx %v,
    %w = amx.tile_muli %x zext, %y zext, %v : !amx.tile<5x64xi8>, !amx.tile<16x28xi8>, !amx.tile<5x7xi32>
    scf.yield %w : !amx.tile<5x7xi32>
  }
  // CHECK: call void @llvm.x86.tilestored64.internal(i16 5, i16 28, ptr %c, i64 28, x86_amx %s)
  amx.tile_store %c[%c0, %c0], %r : memref<5x7xi32>, !amx.tile<5x7xi32>
  func.return
}

// A stride of its own is in elements, too.
// CHECK-LABEL: define void @halves(
// CHECK-SAME: "target-features"="+amx-bf16,+amx-fp16,+amx-tile" {
func.func @halves(%a: memref<?xf16>, %b: memref<16x32xbf16>, %c: memref<1x16x16xf32>, %s: index) {
  %c0 = arith.constant 0 : index
  // CHECK:      [[PITCH:%.*]] = mul i64 %s, 2
  // CHECK-NEXT: %x = call x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 64, ptr %a, i64 [[PITCH]])
  %x = amx.tile_load %a[%c0], %s : memref<?xf16> into !amx.tile<16x32xf16>
  // CHECK-NEXT: %y = call x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 64, ptr %b, i64 64)
  %y = amx.tile_load %b[%c0, %c0] : memref<16x32xbf16> into !amx.tile<16x32xbf16>
  // CHECK-NEXT: %z = call x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 64, ptr %c, i64 64)
  %z = amx.tile_load %c[%c0, %c0, %c0] : memref<1x16x16xf32> into !amx.tile<16x16xf32>
  // CHECK-NEXT: %p = call x86_amx @llvm.x86.tdpfp16ps.internal(i16 16, i16 64, i16 64, x86_amx %z, x86_amx %x, x86_amx %x)
  %p = amx.tile_mulf %x, %x, %z : !amx.tile<16x32xf16>, !amx.tile<16x32xf16>, !amx.tile<16x16xf32>
  // CHECK-NEXT: %q = call x86_amx @llvm.x86.tdpbf16ps.internal(i16 16, i16 64, i16 64, x86_amx %p, x86_amx %y, x86_amx %y)
  %q = amx.tile_mulf %y, %y, %p : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  amx.tile_store %c[%c0, %c0, %c0], %q : memref<1x16x16xf32>, !amx.tile<16x16xf32>
  func.return
}

// A function without tiles needs nothing of AMX.
// CHECK-LABEL: define void @plain() nounwind {
func.func @plain() {
  func.return
}

// What is read once passes caches.
// CHECK-LABEL: define void @streamed(
// CHECK: call x86_amx @llvm.x86.tileloaddt164.internal(i16 16, i16 64, ptr %a, i64 64)
func.func @streamed(%a: memref<16x32xbf16>, %b: memref<16x32xbf16>) {
  %c0 = arith.constant 0 : index
  %x = amx.tile_load %a[%c0, %c0] {nontemporal} : memref<16x32xbf16> into !amx.tile<16x32xbf16>
  amx.tile_store %b[%c0, %c0], %x : memref<16x32xbf16>, !amx.tile<16x32xbf16>
  func.return
}
