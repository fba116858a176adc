// RUN: coopc-opt %s -p 'pack-coopmatrix-b{device=intel-cpu}' | filecheck %s
// RUN: coopc-opt %s -p 'pack-coopmatrix-b{device=intel-cpu kernel=true}' | filecheck %s --check-prefix KERNEL
// RUN: coopc-opt %s -p 'pack-coopmatrix-b{device=bmg}' | filecheck %s --check-prefix NONE
// RUN: coopc-opt %s -p 'pack-coopmatrix-b{device=intel-cpu kernel=true}' --validate -o %t 2>&1 | filecheck %s --check-prefix VALIDATE --allow-empty

// The kernels are compared on the same B: it is packed before they run.
// VALIDATE-NOT: not compared

// A device that multiplies B packed only gets it so: through work-group memory, where
// the lanes bring it, or by a kernel that packs all of it before.

// CHECK-LABEL: func.func @rows
// CHECK:         %scratch = memref.alloca() : memref<1x16x32xf16, #simt.memory<workgroup>>
// CHECK:         scf.for
// CHECK:           memref.load %b[
// CHECK:           memref.store {{.*}}, %scratch[
// CHECK:         simt.barrier subgroup
// CHECK:         coopmatrix.load %scratch[{{.*}}] packed : memref<1x16x32xf16, #simt.memory<workgroup>> -> !coopmatrix.matrix<32x16xf16, b>

// Two rows share a channel; 70 columns take five subgroups of 16 lanes.
// KERNEL-LABEL: func.func @rows.pack_b(%b: memref<40x70xf16>, %b_packed: memref<20x140xf16>)
// KERNEL-SAME:    simt.grid = affine_map<() -> (5, 20)>
// KERNEL:         memref.load %b[
// KERNEL:         memref.store {{.*}}, %b_packed[
// KERNEL:       func.func @rows(%b: memref<20x140xf16>, %n: index)
// KERNEL:         %channel = arith.divui %k, %{{.*}} : index
// KERNEL:         %place = arith.muli %n, %{{.*}} : index
// KERNEL-NEXT:    coopmatrix.load %b[%channel, %place] packed checked(rows) : memref<20x140xf16> -> !coopmatrix.matrix<32x16xf16, b>

// NONE-LABEL: func.func @rows
// NONE:         coopmatrix.load %b[%k, %n] row_major checked(rows) : memref<40x70xf16>
func.func @rows(%b: memref<40x70xf16>, %n: index) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %32 = arith.constant 32 : index
  %40 = arith.constant 40 : index
  scf.for %k = %0 to %40 step %32 {
    %x = coopmatrix.load %b[%k, %n] row_major checked(rows) : memref<40x70xf16> -> !coopmatrix.matrix<32x16xf16, b>
  }
  func.return
}

// Transposed, in a batch, with sizes that are known when it runs.

// CHECK-LABEL: func.func @cols
// CHECK:         coopmatrix.load %{{.*}} packed :
// KERNEL-LABEL: func.func @cols.pack_b(%b: memref<?x?x64xi8>, %b_packed: memref<?x16x?xi8>)
// KERNEL-SAME:    simt.grid = affine_map<(d0, d1, d2, d3) -> ((d1 ceildiv 16), 16, d0)>
// KERNEL:       func.func @cols(%b: memref<?x16x?xi8>
func.func @cols(%b: memref<?x?x64xi8>, %n: index, %batch: index) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %b[%batch, %n, %0] col_major : memref<?x?x64xi8> -> !coopmatrix.matrix<64x16xi8, b>
  func.return
}

// Of what the device does not multiply, nothing is packed.
// CHECK-LABEL:  func.func @not_multiplied
// CHECK:          coopmatrix.load %b[%0, %0] row_major : memref<40x70xi64> -> !coopmatrix.matrix<32x16xi64, b>
// CHECK:          coopmatrix.load %c[%0, %0] row_major : memref<40x70xf32> -> !coopmatrix.matrix<32x16xf32, b>
// KERNEL-LABEL: func.func @not_multiplied(%b: memref<40x70xi64>, %c: memref<40x70xf32>)
// NONE-LABEL:   func.func @not_multiplied
func.func @not_multiplied(%b: memref<40x70xi64>, %c: memref<40x70xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %b[%0, %0] row_major : memref<40x70xi64> -> !coopmatrix.matrix<32x16xi64, b>
  %y = coopmatrix.load %c[%0, %0] row_major : memref<40x70xf32> -> !coopmatrix.matrix<32x16xf32, b>
  func.return
}

// What the device has no matrices of stays: lanes take it from where it is.
// CHECK-LABEL: func.func @spilled(
// CHECK-NOT:     memref.alloca
// CHECK:         coopmatrix.load %b[%0, %0] row_major : memref<32x32xf16> -> !coopmatrix.matrix<32x32xf16, b>
func.func @spilled(%b: memref<32x32xf16>, %c: memref<32x32xf16>) {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %b[%0, %0] row_major : memref<32x32xf16> -> !coopmatrix.matrix<32x32xf16, b>
  coopmatrix.store %x, %c[%0, %0] row_major : !coopmatrix.matrix<32x32xf16, b>, memref<32x32xf16>
  func.return
}
