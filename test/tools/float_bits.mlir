// RUN: %roundtrip

// Bits of floats mean floats, and come back as they were; plain xDSL reads integers.

// CHECK: func.func @infinity()
func.func @infinity() -> vector<4xf32> {
  // CHECK-NEXT: dense<0xff800000> : vector<4xf32>
  %min = arith.constant dense<0xFF800000> : vector<4xf32>
  func.return %min : vector<4xf32>
}

// CHECK: func.func @elements()
func.func @elements() -> vector<3xf16> {
  // CHECK-NEXT: dense<[0x7c00, 1.000000e+00, -2.000000e+00]> : vector<3xf16>
  %three = arith.constant dense<[0x7C00, 0x3C00, 0xC000]> : vector<3xf16>
  func.return %three : vector<3xf16>
}

// CHECK: func.func @integers()
func.func @integers() -> vector<2xi32> {
  // CHECK-NEXT: dense<[255, 16]> : vector<2xi32>
  %two = arith.constant dense<[0xFF, 16]> : vector<2xi32>
  func.return %two : vector<2xi32>
}
