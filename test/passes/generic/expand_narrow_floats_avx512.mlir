// RUN: coopc-opt %s -p 'expand-narrow-floats{device=amx features=avx512bf16}' | filecheck %s

// Whole registers of f32 are rounded by an instruction, whatever is computed in f32;
// parts of registers, and other types, are not.

// CHECK-LABEL: func.func @registers
// CHECK:         %{{.*}} = arith.addf %{{.*}}, %{{.*}} : vector<32xf32>
// CHECK-NEXT:    %{{.*}} = avx512.truncf %{{.*}} : vector<32xf32> -> vector<32xbf16>
// CHECK-NEXT:    func.return
func.func @registers(%a: vector<32xbf16>) -> vector<32xbf16> {
  %c = arith.addf %a, %a : vector<32xbf16>
  func.return %c : vector<32xbf16>
}

// CHECK-LABEL: func.func @others
// CHECK-NOT:     avx512
func.func @others(%a: vector<8xf32>, %b: f32, %c: vector<8xf64>)
    -> (vector<8xbf16>, bf16, vector<8xbf16>) {
  %x = arith.truncf %a : vector<8xf32> to vector<8xbf16>
  %y = arith.truncf %b : f32 to bf16
  %z = arith.truncf %c : vector<8xf64> to vector<8xbf16>
  func.return %x, %y, %z : vector<8xbf16>, bf16, vector<8xbf16>
}
