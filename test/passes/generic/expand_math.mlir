// RUN: coopc-opt %s -p 'set-target{device=lavapipe},expand-math' | filecheck %s
// RUN: coopc-opt %s -p 'expand-math{device=amx}' | filecheck %s --check-prefix AMX

// Functions that GLSL.std.450 or x86-64 lacks.

// CHECK-LABEL: @log10
// CHECK: %[[L:.*]] = math.log2 %a : f16
// CHECK: arith.mulf %[[L]], %{{.*}} fastmath<contract> : f16
// AMX-LABEL: @log10
// AMX-NEXT: %[[X:.*]] = arith.extf %a : f16 to f32
// AMX-NEXT: %[[L:.*]] = math.log10 %[[X]] : f32
// AMX-NEXT: arith.truncf %[[L]] : f32 to f16
func.func @log10(%a: f16) -> f16 {
  %c = math.log10 %a : f16
  func.return %c : f16
}

// Vulkan counts bits of 32-bit integers.
// CHECK-LABEL: @zeros
// CHECK: %[[HIGH:.*]] = math.ctlz %{{.*}} : i32
// CHECK: %[[LOW:.*]] = math.ctlz %{{.*}} : i32
// CHECK: %[[EMPTY:.*]] = arith.cmpi eq
// CHECK: arith.select %[[EMPTY]]
// AMX-LABEL: @zeros
// AMX: math.ctlz %a : i64
func.func @zeros(%a: i64) -> i64 {
  %c = math.ctlz %a : i64
  func.return %c : i64
}
