// RUN: coopc-opt %s -p 'split-coopmatrix{device=lavapipe},check-dominance' | filecheck %s
// RUN: coopc-opt %s -p 'split-coopmatrix{device=nvidia},check-dominance' | filecheck %s --check-prefix NVIDIA

// Slots of a matrix are those of its tiles, in row-major order of the tiles.

// The length is that of all tiles.
// CHECK-LABEL: func.func @length(
// CHECK:       %[[ONE:.*]] = coopmatrix.length !coopmatrix.matrix<8x8xf16, acc> : index
// CHECK:       %n = arith.muli %[[ONE]], %c2 : index
func.func @length(%x: !coopmatrix.matrix<8x16xf16, acc>) -> (index, f16) {
  %n = coopmatrix.length !coopmatrix.matrix<8x16xf16, acc> : index
  %e = coopmatrix.extract %x[%n] : !coopmatrix.matrix<8x16xf16, acc>
  func.return %n, %e : index, f16
}

// Each tile gives an element, and its number chooses: lanes may look at other tiles.
// CHECK-LABEL: func.func @extract(
// CHECK:       %[[LENGTH:.*]] = coopmatrix.length !coopmatrix.matrix<8x8xf16, acc> : index
// CHECK-NEXT:  %[[TILE:.*]] = arith.divui %i, %[[LENGTH]] : index
// CHECK-NEXT:  %[[SLOT:.*]] = arith.remui %i, %[[LENGTH]] : index
// CHECK-NEXT:  %[[NONE:.*]] = arith.constant 0.000000e+00 : f16
// CHECK-NEXT:  %[[FIRST:.*]] = coopmatrix.extract %x_0x0[%[[SLOT]]] : !coopmatrix.matrix<8x8xf16, acc>
// CHECK:       %[[IN_FIRST:.*]] = arith.cmpi eq, %[[TILE]], %c0 : index
// CHECK-NEXT:  %[[SO_FAR:.*]] = arith.select %[[IN_FIRST]], %[[FIRST]], %[[NONE]] : f16
// CHECK-NEXT:  %[[SECOND:.*]] = coopmatrix.extract %x_0x1[%[[SLOT]]]
// CHECK:       %[[IN_SECOND:.*]] = arith.cmpi eq, %[[TILE]], %c1 : index
// CHECK-NEXT:  arith.select %[[IN_SECOND]], %[[SECOND]], %[[SO_FAR]] : f16
// CHECK-NOT:   scf
func.func @extract(%x: !coopmatrix.matrix<8x16xf16, acc>, %i: index) -> f16 {
  %e = coopmatrix.extract %x[%i] : !coopmatrix.matrix<8x16xf16, acc>
  func.return %e : f16
}

// The other tiles get the element that they have.
// CHECK-LABEL: func.func @insert(
// CHECK:       %[[OLD:.*]] = coopmatrix.extract %x_0x0[%[[SLOT:.*]]]
// CHECK:       %[[NEW:.*]] = arith.select %{{.*}}, %v, %[[OLD]] : f16
// CHECK-NEXT:  %y_0x0 = coopmatrix.insert %[[NEW]], %x_0x0[%[[SLOT]]]
// CHECK:       %y_0x1 = coopmatrix.insert %{{.*}}, %x_0x1[%[[SLOT]]]
func.func @insert(%x: !coopmatrix.matrix<8x16xf16, acc>, %i: index, %v: f16) -> !coopmatrix.matrix<8x16xf16, acc> {
  %y = coopmatrix.insert %v, %x[%i] : !coopmatrix.matrix<8x16xf16, acc>
  func.return %y : !coopmatrix.matrix<8x16xf16, acc>
}

// Tiles of one type have their elements alike; what is outside of a tile is outside of
// the matrix.
// CHECK-LABEL: func.func @coord(
// CHECK:       %[[TILE:.*]] = arith.divui %i
// CHECK:       %[[ROW:.*]], %[[COL:.*]] = coopmatrix.coord %x_0x0[%{{.*}}] : !coopmatrix.matrix<8x8xf16, acc>
// CHECK-NOT:   coopmatrix.coord
// CHECK:       %[[KNOWN:.*]] = arith.cmpi ult, %[[TILE]], %c4 : index
// CHECK:       %[[THERE:.*]] = arith.cmpi ult, %[[ROW]], %c8 : index
// CHECK:       %[[INSIDE:.*]] = arith.andi %[[KNOWN]], %[[THERE]] : i1
// CHECK:       arith.divui %[[TILE]], %c2 : index
// CHECK:       arith.remui %[[TILE]], %c2 : index
// CHECK:       arith.select %[[INSIDE]], %{{.*}}, %c16 : index
// CHECK:       arith.select %[[INSIDE]], %{{.*}}, %c16 : index
func.func @coord(%x: !coopmatrix.matrix<16x16xf16, acc>, %i: index) -> (index, index) {
  %row, %col = coopmatrix.coord %x[%i] : !coopmatrix.matrix<16x16xf16, acc>
  func.return %row, %col : index, index
}

// `length` is that of a type, so that all matrices of a type whose slots are used are
// cut alike: nvidia has matrices of 16 x 16, but multiplies 16 x 8 where K is 8.
// NVIDIA-LABEL: func.func @one_tiling(
// NVIDIA-COUNT-2: coopmatrix.mul_add {{.*}}!coopmatrix.matrix<16x8xf16, acc>
// NVIDIA:       coopmatrix.extract %x_0x0[{{.*}} : !coopmatrix.matrix<16x8xf16, acc>
// NVIDIA:       coopmatrix.extract %y_0x0[{{.*}} : !coopmatrix.matrix<16x8xf16, acc>
func.func @one_tiling(%a: !coopmatrix.matrix<16x8xf16, a>, %b: !coopmatrix.matrix<8x16xf16, b>, %x: !coopmatrix.matrix<16x16xf16, acc>, %z: !coopmatrix.matrix<16x16xf16, acc>, %i: index) -> (f16, f16) {
  %y = coopmatrix.mul_add %a, %b, %z : !coopmatrix.matrix<16x8xf16, a>, !coopmatrix.matrix<8x16xf16, b>, !coopmatrix.matrix<16x16xf16, acc>
  %e = coopmatrix.extract %x[%i] : !coopmatrix.matrix<16x16xf16, acc>
  %f = coopmatrix.extract %y[%i] : !coopmatrix.matrix<16x16xf16, acc>
  func.return %e, %f : f16, f16
}
