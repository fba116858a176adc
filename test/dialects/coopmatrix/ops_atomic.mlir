// RUN: %roundtrip

// Atomic accesses: each kind, ordering, scope and check.

// CHECK-LABEL: func.func @load(
func.func @load(%m: memref<64x64xf32>, %i: index) {
  // CHECK:      %0 = coopmatrix.atomic_load %m[%i, %i] row_major relaxed : memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  %0 = coopmatrix.atomic_load %m[%i, %i] row_major relaxed : memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  // CHECK-NEXT: %1 = coopmatrix.atomic_load %m[%i, %i] col_major acquire scope = workgroup : memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  %1 = coopmatrix.atomic_load %m[%i, %i] col_major acquire scope = workgroup : memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  // CHECK-NEXT: %2 = coopmatrix.atomic_load %m[%i, %i] row_major checked(rows, cols) sequentially_consistent scope = subgroup {note} : memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  %2 = coopmatrix.atomic_load %m[%i, %i] row_major checked(rows, cols) sequentially_consistent scope = subgroup {note} : memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  func.return
}

// CHECK-LABEL: func.func @store(
func.func @store(%c: !coopmatrix.matrix<8x16xf32, acc>, %m: memref<64x64xf32>, %i: index) {
  // CHECK:      coopmatrix.atomic_store %c, %m[%i, %i] row_major relaxed : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
  coopmatrix.atomic_store %c, %m[%i, %i] row_major relaxed : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
  // CHECK-NEXT: coopmatrix.atomic_store %c, %m[%i, %i] col_major checked(rows) release scope = device {note} : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
  coopmatrix.atomic_store %c, %m[%i, %i] col_major checked(rows) release scope = device {note} : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
  func.return
}

// CHECK-LABEL: func.func @add(
func.func @add(%c: !coopmatrix.matrix<8x16xf32, acc>, %m: memref<64x64xf32>, %i: index) {
  // CHECK:      %0 = coopmatrix.atomic_add %c, %m[%i, %i] row_major relaxed : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  %0 = coopmatrix.atomic_add %c, %m[%i, %i] row_major relaxed : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  // CHECK-NEXT: %1 = coopmatrix.atomic_add %c, %m[%i, %i] row_major checked(cols) acquire_release scope = cross_device {note} : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  %1 = coopmatrix.atomic_add %c, %m[%i, %i] row_major checked(cols) acquire_release scope = cross_device {note} : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  func.return
}

// CHECK-LABEL: func.func @max_and_min(
func.func @max_and_min(%c: !coopmatrix.matrix<8x16xi32, acc>, %m: memref<64x64xi32>, %i: index) {
  // CHECK:      %0 = coopmatrix.atomic_max %c, %m[%i, %i] row_major relaxed : !coopmatrix.matrix<8x16xi32, acc>, memref<64x64xi32> -> !coopmatrix.matrix<8x16xi32, acc>
  %0 = coopmatrix.atomic_max %c, %m[%i, %i] row_major relaxed : !coopmatrix.matrix<8x16xi32, acc>, memref<64x64xi32> -> !coopmatrix.matrix<8x16xi32, acc>
  // CHECK-NEXT: %1 = coopmatrix.atomic_max signed %c, %m[%i, %i] row_major checked(rows) relaxed scope = queue_family : !coopmatrix.matrix<8x16xi32, acc>, memref<64x64xi32> -> !coopmatrix.matrix<8x16xi32, acc>
  %1 = coopmatrix.atomic_max signed %c, %m[%i, %i] row_major checked(rows) relaxed scope = queue_family : !coopmatrix.matrix<8x16xi32, acc>, memref<64x64xi32> -> !coopmatrix.matrix<8x16xi32, acc>
  // CHECK-NEXT: %2 = coopmatrix.atomic_min %c, %m[%i, %i] col_major relaxed : !coopmatrix.matrix<8x16xi32, acc>, memref<64x64xi32> -> !coopmatrix.matrix<8x16xi32, acc>
  %2 = coopmatrix.atomic_min %c, %m[%i, %i] col_major relaxed : !coopmatrix.matrix<8x16xi32, acc>, memref<64x64xi32> -> !coopmatrix.matrix<8x16xi32, acc>
  // CHECK-NEXT: %3 = coopmatrix.atomic_min signed %c, %m[%i, %i] row_major relaxed scope = invocation {note} : !coopmatrix.matrix<8x16xi32, acc>, memref<64x64xi32> -> !coopmatrix.matrix<8x16xi32, acc>
  %3 = coopmatrix.atomic_min signed %c, %m[%i, %i] row_major relaxed scope = invocation {note} : !coopmatrix.matrix<8x16xi32, acc>, memref<64x64xi32> -> !coopmatrix.matrix<8x16xi32, acc>
  func.return
}

// CHECK-LABEL: func.func @max_of_floats(
func.func @max_of_floats(%c: !coopmatrix.matrix<8x16xf16, acc>, %m: memref<64x64xf16>, %i: index) {
  // CHECK:      %0 = coopmatrix.atomic_max %c, %m[%i, %i] row_major relaxed : !coopmatrix.matrix<8x16xf16, acc>, memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, acc>
  %0 = coopmatrix.atomic_max %c, %m[%i, %i] row_major relaxed : !coopmatrix.matrix<8x16xf16, acc>, memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, acc>
  func.return
}
