// RUN: %roundtrip

// Products and reductions, plain and with encodings.

#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [4, 2], A = [32, 16], B = [16, 32], C = [32, 32]}>
#dot = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#dot1 = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
#slice = #ttg.slice<{dim = 1, parent = #dpas}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // CHECK-LABEL: tt.func @dots(%a: tensor<64x32xf16>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>, %i: tensor<8x16xi8>, %j: tensor<16x8xi8>, %k: tensor<8x8xi32>, %x: tensor<2x8x16xf32>, %y: tensor<2x16x8xf32>, %z: tensor<2x8x8xf32>)
  tt.func @dots(%a: tensor<64x32xf16>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>, %i: tensor<8x16xi8>, %j: tensor<16x8xi8>, %k: tensor<8x8xi32>, %x: tensor<2x8x16xf32>, %y: tensor<2x16x8xf32>, %z: tensor<2x8x8xf32>) {
    // CHECK-NEXT: %0 = tt.dot %a, %b, %c : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<64x64xf32>
    %0 = tt.dot %a, %b, %c : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<64x64xf32>
    // CHECK-NEXT: %1 = tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<64x64xf32>
    %1 = tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<64x64xf32>
    // CHECK-NEXT: %2 = tt.dot %i, %j, %k {note, maxNumImpreciseAcc = 32 : i32} : tensor<8x16xi8> * tensor<16x8xi8> -> tensor<8x8xi32>
    %2 = tt.dot %i, %j, %k {note, maxNumImpreciseAcc = 32 : i32} : tensor<8x16xi8> * tensor<16x8xi8> -> tensor<8x8xi32>
    // CHECK-NEXT: %3 = tt.dot %x, %y, %z, inputPrecision = tf32x3 : tensor<2x8x16xf32> * tensor<2x16x8xf32> -> tensor<2x8x8xf32>
    %3 = tt.dot %x, %y, %z, inputPrecision = tf32x3 : tensor<2x8x16xf32> * tensor<2x16x8xf32> -> tensor<2x8x8xf32>
    // CHECK-NEXT: %4 = tt.dot %x, %y, %z : tensor<2x8x16xf32> * tensor<2x16x8xf32> -> tensor<2x8x8xf32>
    %4 = tt.dot %x, %y, %z, inputPrecision = ieee : tensor<2x8x16xf32> * tensor<2x16x8xf32> -> tensor<2x8x8xf32>
    // CHECK-NEXT: tt.return
    tt.return
  }
  // CHECK-LABEL: tt.func @encoded(%a: tensor<64x32xf16, #dot>, %b: tensor<32x64xf16, #dot1>, %c: tensor<64x64xf32, #dpas>, %e: tensor<64x32xf8E4M3FN, #dot>)
  tt.func @encoded(%a: tensor<64x32xf16, #dot>, %b: tensor<32x64xf16, #dot1>, %c: tensor<64x64xf32, #dpas>, %e: tensor<64x32xf8E4M3FN, #dot>) {
    // CHECK-NEXT: %d = tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<64x32xf16, #dot> * tensor<32x64xf16, #dot1> -> tensor<64x64xf32, #dpas>
    %d = tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<64x32xf16, #dot> * tensor<32x64xf16, #dot1> -> tensor<64x64xf32, #dpas>
    // CHECK-NEXT: tt.return
    tt.return
  }
  // CHECK-LABEL: tt.func @reductions(%x: tensor<64x64xf32, #dpas>, %r: tensor<16xi32>)
  tt.func @reductions(%x: tensor<64x64xf32, #dpas>, %r: tensor<16xi32>) {
    // CHECK-NEXT: %0 = "tt.reduce"(%x) <{axis = 1 : i32}> ({
    %0 = "tt.reduce"(%x) <{axis = 1 : i32}> ({
    // CHECK-NEXT: ^bb0(%a: f32, %b: f32):
    ^bb0(%a: f32, %b: f32):
      // CHECK-NEXT: %c = arith.maxnumf %a, %b : f32
      %c = arith.maxnumf %a, %b : f32
      // CHECK-NEXT: tt.reduce.return %c : f32
      tt.reduce.return %c : f32
    // CHECK-NEXT: }) : (tensor<64x64xf32, #dpas>) -> tensor<64xf32, #slice>
    }) : (tensor<64x64xf32, #dpas>) -> tensor<64xf32, #slice>
    // CHECK-NEXT: %1, %2 = "tt.reduce"(%r, %r) <{axis = 0 : i32, reduction_ordering = "unordered"}> ({
    %1, %2 = "tt.reduce"(%r, %r) <{axis = 0 : i32, reduction_ordering = "unordered"}> ({
    // CHECK-NEXT: ^bb0(%d: i32, %e: i32, %f: i32, %g: i32):
    ^bb0(%d: i32, %e: i32, %f: i32, %g: i32):
      // CHECK-NEXT: %h = arith.addi %d, %f : i32
      %h = arith.addi %d, %f : i32
      // CHECK-NEXT: %i = arith.maxsi %e, %g : i32
      %i = arith.maxsi %e, %g : i32
      // CHECK-NEXT: tt.reduce.return %h, %i {note} : i32, i32
      tt.reduce.return %h, %i {note} : i32, i32
    // CHECK-NEXT: }) : (tensor<16xi32>, tensor<16xi32>) -> (i32, i32)
    }) : (tensor<16xi32>, tensor<16xi32>) -> (i32, i32)
    // CHECK-NEXT: tt.return
    tt.return
  }
}

// CHECK-LABEL: tt.func @scaled(
tt.func @scaled(%a: tensor<64x32xi8>, %b: tensor<32x64xi8>, %s: tensor<64x1xi8>, %c: tensor<64x64xf32>, %w: tensor<64x128xf32>) {
  // CHECK-NEXT: %d = tt.dot_scaled %a scale %s, %b scale %s, %c lhs = e4m3 rhs = e5m2 {fastMath = false} : tensor<64x32xi8>, tensor<64x1xi8> * tensor<32x64xi8>, tensor<64x1xi8> -> tensor<64x64xf32>
  %d = tt.dot_scaled %a scale %s, %b scale %s, %c lhs = e4m3 rhs = e5m2 {fastMath = false} : tensor<64x32xi8>, tensor<64x1xi8> * tensor<32x64xi8>, tensor<64x1xi8> -> tensor<64x64xf32>
  // CHECK-NEXT: %e = tt.dot_scaled %a, %b scale %s, %w lhs = bf16 rhs = e2m1 {fastMath = true, rhs_k_pack = false} : tensor<64x32xi8> * tensor<32x64xi8>, tensor<64x1xi8> -> tensor<64x128xf32>
  %e = tt.dot_scaled %a, %b scale %s, %w lhs = bf16 rhs = e2m1 {fastMath = true, rhs_k_pack = false} : tensor<64x32xi8> * tensor<32x64xi8>, tensor<64x1xi8> -> tensor<64x128xf32>
  // CHECK-NEXT: tt.return
  tt.return
}
