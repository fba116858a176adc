// RUN: coopc-opt %s -p 'convert-convolution-to-coopmatrix{device=nvidia}' 2>&1 | filecheck %s
// RUN: coopc-opt %s -p 'convert-convolution-to-coopmatrix{device=nvidia precision=f16}' | filecheck %s --check-prefix=F16

// A row of the result is a product of matrices for each place of the window.

#image = affine_map<(n, y, x, f, i, j, c) -> (n, y * 2 + i, x * 3 + j * 2, c)>
#weights = affine_map<(n, y, x, f, i, j, c) -> (i, j, c, f)>
#by_filter = affine_map<(n, y, x, f, i, j, c) -> (f, i, j, c)>
#out = affine_map<(n, y, x, f, i, j, c) -> (n, y, x, f)>

// CHECK:       remark: linalg.generic: computed without matrices: 4 channels fill less than half of the K of 16 of a product of nvidia
// CHECK-LABEL: func.func @steps
// CHECK-SAME:  simt.grid = affine_map<() -> (1, 4, 2)>
func.func @steps(%a: memref<2x9x20x16xf16>, %b: memref<3x2x16x16xf16>, %d: memref<2x4x6x16xf32>) {
  // CHECK: %y = simt.workgroup_id y : index
  // CHECK: %batch = simt.workgroup_id z : index
  // CHECK: memref.subview %d[%batch, %y, 0, 0] [1, 1, 6, 16] [1, 1, 1, 1]
  // CHECK: coopmatrix.load {{.*}} row_major checked(rows) : memref<6x16xf32, strided<[16, 1], offset: ?>>
  // CHECK: scf.for %ky = %c0 to %c3 step %c1
  // CHECK: scf.for %kx = %c0 to %c2 step %c1
  // CHECK: %ix = arith.muli %kx, %c2 : index
  // CHECK: memref.subview %a[%batch, %iy, %ix, 0] [1, 1, 6, 16] [1, 1, 3, 1]
  // CHECK: memref.subview %b[%ky, %kx, 0, 0] [1, 1, 16, 16] [1, 1, 1, 1]
  // CHECK: scf.for %k = %c0 to %c16 step %c16
  // CHECK: coopmatrix.mul_add
  linalg.generic {indexing_maps = [#image, #weights, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : memref<2x9x20x16xf16>, memref<3x2x16x16xf16>) outs(%d : memref<2x4x6x16xf32>) {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %u = arith.extf %x : f16 to f32
    %v = arith.extf %y : f16 to f32
    %p = arith.mulf %u, %v : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  }
  func.return
}

// Weights by filter are a matrix by columns.

// CHECK-LABEL: func.func @by_filter
func.func @by_filter(%a: memref<2x9x20x16xf16>, %b: memref<16x3x2x16xf16>, %d: memref<2x4x6x16xf32>) {
  // CHECK: memref.subview %b[0, %ky, %kx, 0] [16, 1, 1, 16] [1, 1, 1, 1] : memref<16x3x2x16xf16> to memref<16x16xf16, strided<[96, 1], offset: ?>>
  // CHECK: coopmatrix.load {{.*}} col_major {{.*}}memref<16x16xf16, strided<[96, 1], offset: ?>>
  linalg.generic {indexing_maps = [#image, #by_filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : memref<2x9x20x16xf16>, memref<16x3x2x16xf16>) outs(%d : memref<2x4x6x16xf32>) {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %u = arith.extf %x : f16 to f32
    %v = arith.extf %y : f16 to f32
    %p = arith.mulf %u, %v : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  }
  func.return
}

// A window of one place is no loop. Sizes of the image may be known when it runs; tiles
// of the 40 filters are the innermost along x.

#one = affine_map<(n, y, x, f, i, j, c) -> (n, y + i, x + j, c)>

// CHECK-LABEL: func.func @one_place
// CHECK-SAME:  simt.grid = affine_map<(d0, d1, d2, d3, d4, d5) -> (((d5 ceildiv 32) * 2), d4, d3)>
// CHECK-SAME:  simt.equal_sizes = [array<i64: 2, 0, 0, 0>]
func.func @one_place(%a: memref<?x?x?x16xf16>, %b: memref<1x1x16x40xf16>, %d: memref<?x?x?x40xf32>) {
  // CHECK: %tile_row = arith.divui %group, %c2 : index
  // CHECK: %tile_col = arith.remui %group, %c2 : index
  // CHECK: %across = memref.dim %d, %c2
  // CHECK: memref.subview %d[%batch, %y, 0, 0] [1, 1, %across, 40]
  // CHECK: memref.subview %a[%batch, %y0, %c0, 0] [1, 1, %across, 16]
  // CHECK: memref.subview %b[0, 0, 0, 0] [1, 1, 16, 40]
  // CHECK: scf.for
  // CHECK-NOT: scf.for
  // CHECK: coopmatrix.store
  linalg.generic {indexing_maps = [#one, #weights, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : memref<?x?x?x16xf16>, memref<1x1x16x40xf16>) outs(%d : memref<?x?x?x40xf32>) {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %u = arith.extf %x : f16 to f32
    %v = arith.extf %y : f16 to f32
    %p = arith.mulf %u, %v : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  }
  func.return
}

// Few channels, and types that no matrix multiplies unasked, are left.

// CHECK-LABEL: func.func @few
func.func @few(%a: memref<2x9x20x4xf16>, %b: memref<3x2x4x16xf16>, %d: memref<2x4x6x16xf32>) {
  // CHECK: linalg.generic
  linalg.generic {indexing_maps = [#image, #weights, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : memref<2x9x20x4xf16>, memref<3x2x4x16xf16>) outs(%d : memref<2x4x6x16xf32>) {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %u = arith.extf %x : f16 to f32
    %v = arith.extf %y : f16 to f32
    %p = arith.mulf %u, %v : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  }
  func.return
}

// F16-LABEL:   func.func @f32
// F16:         coopmatrix.mul_add {{.*}} : !coopmatrix.matrix<16x16xf32, a>
// CHECK-LABEL: func.func @f32
func.func @f32(%a: memref<2x9x20x16xf32>, %b: memref<3x2x16x16xf32>, %d: memref<2x4x6x16xf32>) {
  // CHECK: linalg.generic
  linalg.generic {indexing_maps = [#image, #weights, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : memref<2x9x20x16xf32>, memref<3x2x16x16xf32>) outs(%d : memref<2x4x6x16xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  }
  func.return
}

// So is what is no convolution.

#id = affine_map<(n) -> (n)>

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%a: memref<8xf16>, %d: memref<8xf16>) {
  // CHECK: linalg.generic
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : memref<8xf16>) outs(%d : memref<8xf16>) {
  ^bb0(%x: f16, %y: f16):
    linalg.yield %x : f16
  }
  func.return
}
