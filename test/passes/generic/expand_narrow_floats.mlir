// RUN: coopc-opt %s -p 'set-target{device=bmg},expand-narrow-floats' | filecheck %s
// RUN: coopc-opt %s -p 'expand-narrow-floats{device=amx}' | filecheck %s --check-prefix BITS
// RUN: coopc-opt %s -p 'set-target{device=rdna4},expand-narrow-floats' | filecheck %s --check-prefix F8

// Arithmetic on bf16 is that on f32, rounded; what does not convert shifts its bits.

// CHECK-LABEL: @sum
// CHECK-NEXT: %[[A:.*]] = arith.extf %a : bf16 to f32
// CHECK-NEXT: %[[B:.*]] = arith.extf %b : bf16 to f32
// CHECK-NEXT: %[[C:.*]] = arith.addf %[[A]], %[[B]] fastmath<nnan> : f32
// CHECK-NEXT: arith.truncf %[[C]] : f32 to bf16
// BITS-LABEL: @sum
// BITS: arith.shli %{{.*}}, %{{.*}} : i32
// BITS: arith.addf %{{.*}}, %{{.*}} fastmath<nnan> : f32
// BITS: arith.shrui
// BITS: arith.cmpf uno
// BITS: arith.bitcast %{{.*}} : i16 to bf16
func.func @sum(%a: bf16, %b: bf16) -> bf16 {
  %c = arith.addf %a, %b fastmath<nnan> : bf16
  func.return %c : bf16
}

// Rounded to odd in f32, an f64 is rounded once.
// CHECK-LABEL: @from_f64
// CHECK: arith.cmpf one, %{{.*}}, %a : vector<4xf64>
// CHECK: %[[ODD:.*]] = arith.bitcast %{{.*}} : vector<4xi32> to vector<4xf32>
// CHECK-NEXT: arith.truncf %[[ODD]] : vector<4xf32> to vector<4xbf16>
func.func @from_f64(%a: vector<4xf64>) -> vector<4xbf16> {
  %c = arith.truncf %a : vector<4xf64> to vector<4xbf16>
  func.return %c : vector<4xbf16>
}

// An f8 is a type where the device has one, and becomes f16; else its bits are moved.
// F8-LABEL: @f8
// F8-NEXT:  %[[HALF:.*]] = arith.extf %a : f8E4M3FN to f16
// F8-NEXT:  arith.extf %[[HALF]] : f16 to f32
// BITS-LABEL: @f8
// BITS:     arith.shli %{{.*}}, %{{.*}} : i32
// BITS-NOT: arith.extf
func.func @f8(%a: f8E4M3FN) -> f32 {
  %c = arith.extf %a : f8E4M3FN to f32
  func.return %c : f32
}

// An f8E5M2 is the upper half of an f16.
// CHECK-LABEL: @upper_half
// CHECK:      arith.extui %{{.*}} : i8 to i16
// CHECK:      arith.shli %{{.*}}, %{{.*}} : i16
// CHECK-NEXT: arith.bitcast %{{.*}} : i16 to f16
func.func @upper_half(%a: f8E5M2) -> f16 {
  %c = arith.extf %a : f8E5M2 to f16
  func.return %c : f16
}

// Nothing converts to f8, so that subnormal numbers stay.
// F8-LABEL: @to_f8
// F8-NOT:   arith.truncf
// F8:       arith.bitcast %{{.*}} : i8 to f8E5M2
func.func @to_f8(%a: f32) -> f8E5M2 {
  %c = arith.truncf %a : f32 to f8E5M2
  func.return %c : f8E5M2
}

// A scale is the exponent of an f32, on all devices.
// F8-LABEL: @scale
// F8:       %[[WORD:.*]] = arith.extui %{{.*}} : i8 to i32
// F8-NEXT:  %[[BY:.*]] = arith.constant 23 : i32
// F8-NEXT:  arith.shli %[[WORD]], %[[BY]] : i32
// F8-NOT:   arith.extf
func.func @scale(%a: f8E8M0FNU) -> f32 {
  %c = arith.extf %a : f8E8M0FNU to f32
  func.return %c : f32
}
