// RUN: coopc-opt %s -p expand-tt-math | filecheck %s
// RUN: coopc-opt %s -p 'set-target{device=ampere},expand-tt-math' | filecheck %s --check-prefix AMPERE
// RUN: coopc-opt %s -p 'set-target{device=rdna4},expand-tt-math' | filecheck %s --check-prefix RDNA4

// Triton's conversions to f8 saturate, and keep NaN; no f8E4M3FN is too great for f8E5M2.

// CHECK-LABEL: @saturates
// CHECK:      %[[LOW:.*]] = arith.maximumf %x, %{{.*}} : tensor<16xf32>
// CHECK:      %[[IN:.*]] = arith.minimumf %[[LOW]], %{{.*}} : tensor<16xf32>
// CHECK-NEXT: arith.truncf %[[IN]] : tensor<16xf32> to tensor<16xf8E4M3FN>
tt.func @saturates(%x: tensor<16xf32>) {
  %y = tt.fp_to_fp %x, rounding = rtne : tensor<16xf32> -> tensor<16xf8E4M3FN>
  tt.return
}

// CHECK-LABEL: @fits
// CHECK-NOT:   arith.minimumf
tt.func @fits(%x: tensor<16xf8E4M3FN>) {
  %y = tt.fp_to_fp %x, rounding = rtne : tensor<16xf8E4M3FN> -> tensor<16xf8E5M2>
  tt.return
}

// Products of f8 are of bf16, where the device has those alone; of f16 without bf16.

// CHECK-LABEL: @product
// CHECK-NEXT: %[[A:.*]] = arith.extf %a : tensor<16x32xf8E4M3FN> to tensor<16x32xbf16>
// CHECK-NEXT: %[[B:.*]] = arith.extf %b : tensor<32x16xf8E5M2> to tensor<32x16xbf16>
// CHECK-NEXT: tt.dot %[[A]], %[[B]], %c{{.*}} : tensor<16x32xbf16> * tensor<32x16xbf16> -> tensor<16x16xf32>
// AMPERE: tt.dot {{.*}} : tensor<16x32xf16> * tensor<32x16xf16>
// RDNA4: tt.dot {{.*}} : tensor<16x32xf8E4M3FN> * tensor<32x16xf8E5M2>
tt.func @product(%a: tensor<16x32xf8E4M3FN>, %b: tensor<32x16xf8E5M2>, %c: tensor<16x16xf32>) {
  %d = tt.dot %a, %b, %c, inputPrecision = tf32 {maxNumImpreciseAcc = 1073741824 : i32} : tensor<16x32xf8E4M3FN> * tensor<32x16xf8E5M2> -> tensor<16x16xf32>
  tt.return
}

// Buffers of bf16 would take more than the work-group memory of ampere.

// CHECK-LABEL: @large
// CHECK: tt.dot {{.*}} : tensor<128x128xbf16> * tensor<128x128xbf16>
// AMPERE-LABEL: @large
// AMPERE: tt.dot {{.*}} : tensor<128x128xf8E5M2> * tensor<128x128xf8E5M2>
tt.func @large(%a: tensor<128x128xf8E5M2>, %b: tensor<128x128xf8E5M2>, %c: tensor<128x128xf32>) {
  %d = tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<128x128xf8E5M2> * tensor<128x128xf8E5M2> -> tensor<128x128xf32>
  tt.return
}
