// RUN: coopc-opt %s -p 'set-target{device=bmg},expand-bf16' | filecheck %s
// RUN: coopc-opt %s -p 'expand-bf16{device=amx}' | filecheck %s --check-prefix BITS

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
