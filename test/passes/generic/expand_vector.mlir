// RUN: coopc-opt %s -p 'set-target{device=lavapipe},expand-vector' | filecheck %s
// RUN: coopc-opt %s -p 'expand-vector{device=amx}' | filecheck %s --check-prefix AMX

// A reduction goes component by component, after what it starts from.

// CHECK-LABEL: @sum
// CHECK-NEXT: %[[A:.*]] = vector.extract %v[0]
// CHECK-NEXT: %[[B:.*]] = arith.addf %x, %[[A]] fastmath<reassoc> : f32
// CHECK-NEXT: %[[C:.*]] = vector.extract %v[1]
// CHECK-NEXT: %[[D:.*]] = arith.addf %[[B]], %[[C]] fastmath<reassoc> : f32
// CHECK-NEXT: func.return %[[D]]
// AMX-LABEL: @sum
// AMX: vector.reduction
func.func @sum(%v: vector<2xf32>, %x: f32) -> f32 {
  %s = vector.reduction <add>, %v, %x fastmath<reassoc> : vector<2xf32> into f32
  func.return %s : f32
}
