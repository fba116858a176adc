// RUN: coopc-opt %s -p 'split-coopmatrix{device=lavapipe by-lanes=true},check-dominance' | filecheck %s
// RUN: coopc-opt %s -p 'split-coopmatrix{device=nvidia by-lanes=true}' | filecheck %s --check-prefix NVIDIA

// What no tiles suit stays whole; what it shares no matrices with is cut all the same.

// A product of a size that no tile divides, beside one of tiles.
// CHECK-LABEL: func.func @product(
// CHECK:       coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<20x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<20x16xf32, acc>
// CHECK-COUNT-4: coopmatrix.mul_add {{.*}} : !coopmatrix.matrix<8x8xf16, a>, !coopmatrix.matrix<8x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
// CHECK-NOT:   mul_add
func.func @product(%a: !coopmatrix.matrix<20x16xf16, a>, %b: !coopmatrix.matrix<16x16xf16, b>, %c: !coopmatrix.matrix<20x16xf32, acc>, %x: !coopmatrix.matrix<16x8xf16, a>, %y: !coopmatrix.matrix<8x16xf16, b>, %z: !coopmatrix.matrix<16x16xf32, acc>) {
  %r = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<20x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<20x16xf32, acc>
  %s = coopmatrix.mul_add %x, %y, %z : !coopmatrix.matrix<16x8xf16, a>, !coopmatrix.matrix<8x16xf16, b>, !coopmatrix.matrix<16x16xf32, acc>
  func.return
}

// A row slice goes through several tiles.
// CHECK-LABEL: func.func @row_slice(
// CHECK-NEXT:  coopmatrix.extract_row_slice %x[%i] : !coopmatrix.matrix<16x8xf16, acc> -> vector<8xf16>
func.func @row_slice(%x: !coopmatrix.matrix<16x8xf16, acc>, %i: index) {
  %e = coopmatrix.extract_row_slice %x[%i] : !coopmatrix.matrix<16x8xf16, acc> -> vector<8xf16>
  func.return
}

// Tiles of the product may be none that the device has for a matrix which shares axes:
// that one is for lanes, the product is not.
// NVIDIA-LABEL: func.func @held(
// NVIDIA:       coopmatrix.mul_add {{.*}} : !coopmatrix.matrix<16x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<16x16xf16, acc>
// NVIDIA:       coopmatrix.convert {{.*}} -> !coopmatrix.matrix<16x16xi8, b>
func.func @held(%a: !coopmatrix.matrix<32x16xf16, a>, %b: !coopmatrix.matrix<16x16xf16, b>, %c: !coopmatrix.matrix<32x16xf16, acc>) {
  %x = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<32x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<32x16xf16, acc>
  %y = coopmatrix.convert %x : !coopmatrix.matrix<32x16xf16, acc> -> !coopmatrix.matrix<32x16xi8, b>
  func.return
}
