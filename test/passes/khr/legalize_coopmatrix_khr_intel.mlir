// RUN: coopc-opt %s -p 'legalize-coopmatrix-khr{device=bmg}' | filecheck %s --check-prefixes CHECK,BMG
// RUN: coopc-opt %s -p 'legalize-coopmatrix-khr{device=intel-cpu}' | filecheck %s --check-prefixes CHECK,CPU

// Work-group memory holds a matrix in a layout that the device loads: B packed, where it
// has no other.  A device that takes no matrix of two branches always goes there.

// CHECK-LABEL: func.func @checked
// BMG:           %scratch = memref.alloca() : memref<1x16x16xf16, #simt.memory<workgroup>>
// BMG:           scf.if %{{.*}} -> (!coopmatrix.matrix<16x16xf16, b>) {
// BMG-NEXT:        coopmatrix.load %m[%i, %i] row_major : memref<?x?xf16>
// BMG:           } else {
// BMG:             coopmatrix.load %scratch[{{.*}}] row_major :
// CPU:           %scratch = memref.alloca() : memref<1x8x32xf16, #simt.memory<workgroup>>
// CPU-NOT:       -> (!coopmatrix.matrix
// CPU:           coopmatrix.load %scratch[{{.*}}] packed : memref<1x8x32xf16, #simt.memory<workgroup>> -> !coopmatrix.matrix<16x16xf16, b>
func.func @checked(%m: memref<?x?xf16>, %r: memref<16x16xf16>, %i: index) attributes {simt.kernel} {
  %x = coopmatrix.load %m[%i, %i] row_major checked(rows) : memref<?x?xf16> -> !coopmatrix.matrix<16x16xf16, b>
  coopmatrix.store %x, %r[%i, %i] row_major checked(cols) : !coopmatrix.matrix<16x16xf16, b>, memref<16x16xf16>
  func.return
}

// Elements are changed in a loop, or, where the device has no way to one, by the lanes in
// work-group memory.

// CHECK-LABEL: func.func @max
// BMG:           coopmatrix.length
// BMG:           scf.for
// BMG:             coopmatrix.extract
// BMG:             arith.maxnumf
// BMG:             coopmatrix.insert
// CPU:           coopmatrix.store %x, %scratch{{.*}}[
// CPU:           scf.for
// CPU:             memref.load
// CPU:             arith.maxnumf
// CPU:             memref.store
// CPU:           coopmatrix.load %scratch{{.*}}[
func.func @max(%x: !coopmatrix.matrix<8x16xf32, acc>, %y: !coopmatrix.matrix<8x16xf32, acc>) -> !coopmatrix.matrix<8x16xf32, acc> {
  %z = coopmatrix.max %x, %y : !coopmatrix.matrix<8x16xf32, acc>
  func.return %z : !coopmatrix.matrix<8x16xf32, acc>
}
