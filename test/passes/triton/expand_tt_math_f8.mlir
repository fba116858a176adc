// RUN: coopc-opt %s -p expand-tt-math | filecheck %s

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
