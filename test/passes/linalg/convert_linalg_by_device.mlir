// RUN: coopc-opt %s -p 'set-target{device=lavapipe},convert-linalg-to-coopmatrix' | filecheck %s --check-prefix LAVAPIPE
// RUN: coopc-opt %s -p 'set-target{device=intel-cpu},convert-linalg-to-coopmatrix' | filecheck %s --check-prefix CPU
// RUN: coopc-opt %s -p 'set-target{device=dg2},convert-linalg-to-coopmatrix' | filecheck %s --check-prefix DG2
// RUN: coopc-opt %s -p 'set-target{device=bmg},convert-linalg-to-coopmatrix{tile=8,16,16}' | filecheck %s --check-prefix TILE

// The device gives the tile: two of its largest matrices along M and N.

// LAVAPIPE-LABEL: func.func @plain
// LAVAPIPE-SAME:    simt.grid = affine_map<() -> (4, 4)>
// LAVAPIPE:         coopmatrix.load %a[%row, %k] row_major : memref<64x64xf16> -> !coopmatrix.matrix<16x8xf16, a>
// CPU-LABEL:      func.func @plain
// CPU-SAME:         simt.grid = affine_map<() -> (2, 2)>
// CPU:              coopmatrix.load %a[%row, %k] row_major : memref<64x64xf16> -> !coopmatrix.matrix<32x32xf16, a>
// CPU:              coopmatrix.load %b[%k, %col] row_major : memref<64x64xf16> -> !coopmatrix.matrix<32x32xf16, b>
// DG2-LABEL:      func.func @plain
// DG2:              coopmatrix.load %a[%row, %k] row_major : memref<64x64xf16> -> !coopmatrix.matrix<16x16xf16, a>
// TILE-LABEL:     func.func @plain
// TILE:             coopmatrix.load %a[%row, %k] row_major : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
func.func @plain(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x64xf16>, memref<64x64xf16>) outs(%c : memref<64x64xf32>)
  func.return
}

// A by columns: where the device loads no such matrix, the access is checked, and so it
// goes through work-group memory.

// LAVAPIPE-LABEL: func.func @strided
// LAVAPIPE:         coopmatrix.load %a[%row, %k] row_major : memref<64x64xf16, strided<[1, 64]>>
// CPU-LABEL:      func.func @strided
// CPU:              coopmatrix.load %a[%row, %k] row_major checked(rows, cols) : memref<64x64xf16, strided<[1, 64]>>
// DG2-LABEL:      func.func @strided
// DG2:              coopmatrix.load %a[%row, %k] row_major checked(rows, cols) : memref<64x64xf16, strided<[1, 64]>>
// TILE-LABEL:     func.func @strided
// TILE:             coopmatrix.load %a[%row, %k] row_major : memref<64x64xf16, strided<[1, 64]>>
func.func @strided(%a: memref<64x64xf16, strided<[1, 64]>>, %b: memref<64x64xf16>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x64xf16, strided<[1, 64]>>, memref<64x64xf16>) outs(%c : memref<64x64xf32>)
  func.return
}
