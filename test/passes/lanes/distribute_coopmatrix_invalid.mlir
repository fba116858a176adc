// RUN: not coopc-opt %s -p 'distribute-coopmatrix{subgroup-size=16}' 2>&1 | filecheck %s

// Sizes that are fixed late cannot be spread over lanes.

coopmatrix.spec_constant @M = 16 : i32
func.func @late(%v: f32) {
  %x = coopmatrix.fill %v : f32 -> !coopmatrix.matrix<@M x 8 x f32, acc>
  func.return
}
// CHECK: coopmatrix.fill: expected sizes that are numbers, as lanes need
