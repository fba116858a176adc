// RUN: %roundtrip

// Products of neighbours, added to sums: pairs of bf16, fours of bytes; roundings.

// CHECK-LABEL: func.func @dot
func.func @dot(%a: vector<32xbf16>, %b: vector<16xi8>, %c: vector<16xf32>, %d: vector<4xi32>) {
  // CHECK-NEXT: %{{.*}} = avx512.dot %a, %a, %c : vector<32xbf16>, vector<16xf32>
  %x = avx512.dot %a, %a, %c : vector<32xbf16>, vector<16xf32>
  // CHECK-NEXT: %{{.*}} = avx512.dot %b, %b, %d {note} : vector<16xi8>, vector<4xi32>
  %y = avx512.dot %b, %b, %d {note} : vector<16xi8>, vector<4xi32>
  func.return
}

// CHECK-LABEL: func.func @round
func.func @round(%a: vector<48xf32>) {
  // CHECK-NEXT: %{{.*}} = avx512.truncf %a : vector<48xf32> -> vector<48xbf16>
  %x = avx512.truncf %a : vector<48xf32> -> vector<48xbf16>
  func.return
}
