// RUN: coopc-opt %s -p 'set-target{device=lavapipe},convert-linalg-to-coopmatrix,convert-linalg-to-simt' | filecheck %s --check-prefix LAVAPIPE
// RUN: coopc-opt %s -p 'set-target{device=intel-cpu},convert-linalg-to-coopmatrix' | filecheck %s --check-prefix CPU
// RUN: coopc-opt %s -p 'set-target{device=dg2},convert-linalg-to-coopmatrix' | filecheck %s --check-prefix DG2
// RUN: coopc-opt %s -p 'set-target{device=bmg},convert-linalg-to-coopmatrix{tile=8,16,16}' | filecheck %s --check-prefix TILE
// RUN: coopc-opt %s -p 'convert-linalg-to-coopmatrix{tile=16,16,16 amx=true}' 2>&1 | filecheck %s --check-prefix AMX
// RUN: coopc-opt %s -p 'set-target{device=bmg},convert-linalg-to-coopmatrix' 2>&1 | filecheck %s --check-prefix XE
// RUN: coopc-opt %s -p 'tile-matmul-khr{device=nvidia},convert-linalg-to-simt{device=nvidia}' | filecheck %s --check-prefix STAGED

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

// What a device with a matrix engine does not multiply is left as a generic operation,
// with a remark.

// AMX:       remark: linalg.matmul: each row by vectors: AMX does not multiply f32, f32, f32
// AMX-LABEL: func.func @f32
// AMX-NOT:     linalg.matmul
// AMX:         linalg.generic
// XE:        remark: linalg.matmul: each element by a work-item: DPAS does not multiply f32, f32, f32
// XE-LABEL:  func.func @f32
// XE-NOT:      linalg.matmul
// XE:          linalg.generic
func.func @f32(%a: memref<4x4xf32>, %b: memref<4x4xf32>, %c: memref<4x4xf32>) {
  linalg.matmul ins(%a, %b : memref<4x4xf32>, memref<4x4xf32>) outs(%c : memref<4x4xf32>)
  func.return
}

// Under Vulkan, a product of one row or one column is computed by lanes, which read B
// once. Xe has DPAS of one row.

// LAVAPIPE-LABEL: func.func @vector
// LAVAPIPE-SAME:    simt.grid = affine_map<() -> (64)>
// LAVAPIPE-NOT:     coopmatrix
// LAVAPIPE:         vector.load %b[{{.*}}] {alignment = 16 : i64} : memref<512x2048xf16>, vector<8xf16>
// STAGED-LABEL:   func.func @vector
// STAGED-SAME:      simt.work_group_size = array<i32: 512>
// STAGED-NOT:       coopmatrix
// STAGED:           vector.load %b[
// DG2-LABEL:      func.func @vector
// DG2:              coopmatrix.load %a[%row, %k] row_major checked(rows) : memref<1x512xf16> -> !coopmatrix.matrix<
func.func @vector(%a: memref<1x512xf16>, %b: memref<512x2048xf16>, %c: memref<1x2048xf32>) {
  linalg.matmul ins(%a, %b : memref<1x512xf16>, memref<512x2048xf16>) outs(%c : memref<1x2048xf32>)
  func.return
}
