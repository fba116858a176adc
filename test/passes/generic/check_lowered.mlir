// RUN: coopc-opt %s -p 'check-lowered{matrices=true}' | filecheck %s

// Matrices may be left for emission; what is not of coopc is nobody's to lower.

// CHECK: func.func @fill
func.func @fill(%v: f32) {
  %x = coopmatrix.fill %v : f32 -> !coopmatrix.matrix<8x8xf32, acc>
  "test.op"(%x) : (!coopmatrix.matrix<8x8xf32, acc>) -> ()
  func.return
}
