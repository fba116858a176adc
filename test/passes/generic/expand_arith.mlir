// RUN: coopc-opt %s -p 'set-target{device=lavapipe},expand-arith' | filecheck %s
// RUN: coopc-opt %s -p 'expand-arith{device=amx}' | filecheck %s --check-prefix AMX

// Operations of arith that a target has no instruction for.

// A quotient is corrected by one where it is inexact and of the wrong sign; Vulkan,
// whose OpSRem is undefined of negative numbers, has no remainder either.
// CHECK-LABEL: @rounded_down
// CHECK: %[[Q:.*]] = arith.divsi %a, %b
// CHECK: %[[P:.*]] = arith.divsi %a, %b
// CHECK-NEXT: %[[W:.*]] = arith.muli %[[P]], %b
// CHECK-NEXT: %[[R:.*]] = arith.subi %a, %[[W]]
// CHECK: arith.cmpi ne, %[[R]]
// CHECK: %[[S:.*]] = arith.xori %[[R]], %b
// CHECK: arith.cmpi slt, %[[S]]
// CHECK: arith.subi %[[Q]], %{{.*}}
// AMX-LABEL: @rounded_down
// AMX: arith.remsi
func.func @rounded_down(%a: vector<4xi32>, %b: vector<4xi32>) -> vector<4xi32> {
  %q = arith.floordivsi %a, %b : vector<4xi32>
  func.return %q : vector<4xi32>
}

// An i1 is a bool in SPIR-V, and a number in LLVM IR.
// CHECK-LABEL: @less
// CHECK: %[[N:.*]] = arith.xori %b, %{{.*}} : i1
// CHECK-NEXT: arith.andi %a, %[[N]] : i1
// AMX-LABEL: @less
// AMX: arith.cmpi slt
func.func @less(%a: i1, %b: i1) -> i1 {
  %c = arith.cmpi slt, %a, %b : i1
  func.return %c : i1
}

// The zero of two that is greater is the one whose bits both have.
// CHECK-LABEL: @maximum
// CHECK: %[[BOTH:.*]] = arith.andi %{{.*}}, %{{.*}} : i32
// CHECK: %[[MERGED:.*]] = arith.bitcast %[[BOTH]] : i32 to f32
// CHECK: %[[EQUAL:.*]] = arith.cmpf oeq, %a, %b
// CHECK: arith.maxnumf
// CHECK: arith.select %[[EQUAL]], %[[MERGED]], %{{.*}} : f32
// CHECK: arith.cmpf uno
// AMX-LABEL: @maximum
// AMX: arith.maximumf
func.func @maximum(%a: f32, %b: f32) -> f32 {
  %c = arith.maximumf %a, %b : f32
  func.return %c : f32
}

// What fills a matrix is loaded and converted first.
// CHECK-LABEL: @fill
// CHECK: %[[X:.*]] = memref.load %a[] : memref<f32>
// CHECK: %[[Y:.*]] = arith.truncf %[[X]] : f32 to f16
// CHECK: coopmatrix.fill %[[Y]]
func.func @fill(%a: memref<f32>) -> !coopmatrix.matrix<8x8xf16, acc> {
  %m = coopmatrix.fill %a : memref<f32> -> !coopmatrix.matrix<8x8xf16, acc>
  func.return %m : !coopmatrix.matrix<8x8xf16, acc>
}
