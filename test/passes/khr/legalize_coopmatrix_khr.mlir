// RUN: coopc-opt %s -p 'legalize-coopmatrix-khr{device=lavapipe}' | filecheck %s

// The forms that operations take, one a function.

// CHECK-LABEL: func.func @element_loop
func.func @element_loop(%x: !coopmatrix.matrix<8x8xf32, acc>) -> !coopmatrix.matrix<8x8xf32, acc> {
  // CHECK:      coopmatrix.length !coopmatrix.matrix<8x8xf32, acc> : index
  // CHECK:      scf.for %{{.*}} iter_args(%[[M:.*]] = %x) -> (!coopmatrix.matrix<8x8xf32, acc>) {
  // CHECK-NEXT:   %[[A:.*]] = coopmatrix.extract %x[%[[I:.*]]]
  // CHECK-NEXT:   %[[C:.*]] = arith.maxnumf %[[A]], %[[A]]
  // CHECK-NEXT:   coopmatrix.insert %[[C]], %[[M]][%[[I]]]
  %y = coopmatrix.max %x, %x : !coopmatrix.matrix<8x8xf32, acc>
  func.return %y : !coopmatrix.matrix<8x8xf32, acc>
}

// CHECK-LABEL: func.func @native
func.func @native(%x: !coopmatrix.matrix<8x8xi32, acc>) -> !coopmatrix.matrix<8x8xi32, acc> {
  // CHECK-NEXT: coopmatrix.add
  // CHECK-NEXT: func.return
  %y = coopmatrix.add %x, %x : !coopmatrix.matrix<8x8xi32, acc>
  func.return %y : !coopmatrix.matrix<8x8xi32, acc>
}

// A tile that is inside is loaded as it is; an edge goes through work-group memory.

// CHECK-LABEL: func.func @checked_load
func.func @checked_load(%m: memref<?x?xf32>, %i: index) -> !coopmatrix.matrix<8x8xf32, acc> {
  // CHECK:      %scratch = memref.alloca() : memref<1x8x8xf32, #simt.memory<workgroup>>
  // CHECK:      scf.if %{{.*}} -> (!coopmatrix.matrix<8x8xf32, acc>) {
  // CHECK-NEXT:   coopmatrix.load %m[%i, %i] row_major : memref<?x?xf32>
  // CHECK:      } else {
  // CHECK-NEXT:   simt.barrier subgroup
  // CHECK:        memref.load %m
  // CHECK:        memref.store %{{.*}}, %scratch
  // CHECK:        simt.barrier subgroup
  // CHECK:        coopmatrix.load %scratch
  %y = coopmatrix.load %m[%i, %i] row_major checked(rows, cols) : memref<?x?xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  func.return %y : !coopmatrix.matrix<8x8xf32, acc>
}

// CHECK-LABEL: func.func @use
func.func @use(%x: !coopmatrix.matrix<8x8xf16, a>) -> !coopmatrix.matrix<8x8xf16, b> {
  // CHECK:      simt.barrier subgroup
  // CHECK:      coopmatrix.store %x, %scratch
  // CHECK:      simt.barrier subgroup
  // CHECK:      coopmatrix.load %scratch{{.*}} -> !coopmatrix.matrix<8x8xf16, b>
  %y = coopmatrix.convert %x : !coopmatrix.matrix<8x8xf16, a> -> !coopmatrix.matrix<8x8xf16, b>
  func.return %y : !coopmatrix.matrix<8x8xf16, b>
}

// SPV_NV_cooperative_matrix2 has instructions for these, but not for a body that stores.

// CHECK-LABEL: func.func @matrix2
func.func @matrix2(%x: !coopmatrix.matrix<8x8xf32, acc>, %m: memref<8x8xf32>, %h: memref<8x8xf16>, %0: index, %s: f32) -> !coopmatrix.matrix<8x8xf32, acc> {
  // CHECK:      %sums = coopmatrix.reduce add rows broadcast %x
  %sums = coopmatrix.reduce add rows broadcast %x : !coopmatrix.matrix<8x8xf32, acc> -> !coopmatrix.matrix<8x8xf32, acc>
  // CHECK-NEXT: %scaled = coopmatrix.apply
  %scaled = coopmatrix.apply (%i, %j, %v) in %sums : !coopmatrix.matrix<8x8xf32, acc> {
    %bias = memref.load %m[%i, %j] : memref<8x8xf32>
    %w = arith.mulf %bias, %s : f32
    %z = arith.addf %w, %v : f32
    coopmatrix.yield %z : f32
  }
  // CHECK:      %b = coopmatrix.convert %scaled
  // CHECK-NEXT: coopmatrix.store %b, %h
  %b = coopmatrix.convert %scaled : !coopmatrix.matrix<8x8xf32, acc> -> !coopmatrix.matrix<8x8xf16, b>
  coopmatrix.store %b, %h[%0, %0] row_major : !coopmatrix.matrix<8x8xf16, b>, memref<8x8xf16>
  // CHECK:      simt.barrier subgroup
  // CHECK-NOT:  coopmatrix.apply
  // CHECK:      memref.store {{.*}}, %m
  %stored = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x8xf32, acc> {
    memref.store %v, %m[%i, %j] : memref<8x8xf32>
    coopmatrix.yield %s : f32
  }
  func.return %stored : !coopmatrix.matrix<8x8xf32, acc>
}

// lavapipe drops a rounding, unless the result is only stored: this one goes through memory.

// CHECK-LABEL: func.func @rounded
func.func @rounded(%x: !coopmatrix.matrix<8x8xf32, acc>) -> !coopmatrix.matrix<8x8xf16, acc> {
  // CHECK-NOT:  coopmatrix.convert
  // CHECK:      arith.truncf %{{.+}} : f32 to f16
  // CHECK:      %y = coopmatrix.load %scratch
  %y = coopmatrix.convert %x : !coopmatrix.matrix<8x8xf32, acc> -> !coopmatrix.matrix<8x8xf16, acc>
  func.return %y : !coopmatrix.matrix<8x8xf16, acc>
}

// The lanes that share the work are written down.

// CHECK-LABEL: func.func @subgroups
// CHECK-SAME:  simt.subgroup_size = 8 : i32
func.func @subgroups(%m: memref<8x8xf32, strided<[32, 2]>>, %n: memref<8x8xf32>)
    attributes {simt.kernel, simt.work_group_size = array<i32: 8>} {
  %0 = arith.constant 0 : index
  // CHECK-NOT: coopmatrix.load %m
  %y = coopmatrix.load %m[%0, %0] row_major : memref<8x8xf32, strided<[32, 2]>> -> !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %y, %n[%0, %0] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}

// Which element a lane holds: a matrix of rows and one of columns say so, made once, at the
// entry, so that any lane may ask anywhere.

// CHECK-LABEL: func.func @coordinates
// CHECK:         %rows = coopmatrix.load %scratch
// CHECK:         %cols = coopmatrix.load %scratch
// CHECK-NOT:     coopmatrix.load
// CHECK:         scf.if
// CHECK:           coopmatrix.extract %rows[%i] : !coopmatrix.matrix<8x8xf32, acc>
// CHECK:           arith.fptoui
// CHECK:           coopmatrix.extract %cols[%i] : !coopmatrix.matrix<8x8xf32, acc>
// CHECK-NOT:       coopmatrix.coord
// CHECK:           coopmatrix.extract %rows[%i]
func.func @coordinates(%x: !coopmatrix.matrix<8x8xf32, acc>, %i: index, %r: memref<8x8xf32>, %c: i1) attributes {simt.kernel} {
  scf.if %c {
    %p, %q = coopmatrix.coord %x[%i] : !coopmatrix.matrix<8x8xf32, acc>
    %s, %t = coopmatrix.coord %x[%i] : !coopmatrix.matrix<8x8xf32, acc>
    %e = coopmatrix.extract %x[%i] : !coopmatrix.matrix<8x8xf32, acc>
    memref.store %e, %r[%p, %t] : memref<8x8xf32>
    memref.store %e, %r[%s, %q] : memref<8x8xf32>
  }
  func.return
}

// An atomic access goes through work-group memory, of any element type; the device has
// no matrix of f64, which stays there.

// CHECK-LABEL: func.func @atomics
func.func @atomics(%x: !coopmatrix.matrix<8x8xf16, acc>, %h: memref<?x?xf16>, %d: memref<?x?xf64>, %i: index) attributes {simt.kernel} {
  // CHECK:         coopmatrix.store %x, %[[S:.*]][%{{.*}}] row_major
  // CHECK:         scf.for
  // CHECK:           %[[E:.*]] = memref.load %[[S]]
  // CHECK:           memref.atomic_rmw"{{.*}}kind = 0 : i64{{.*}}simt.ordering = "relaxed"
  %y = coopmatrix.atomic_add %x, %h[%i, %i] row_major relaxed : !coopmatrix.matrix<8x8xf16, acc>, memref<?x?xf16> -> !coopmatrix.matrix<8x8xf16, acc>
  // CHECK:         scf.for
  // CHECK:           %[[L:.*]] = memref.load %d[%{{.*}}] {simt.ordering = "acquire"
  // CHECK:           memref.store %[[L]], %[[D:.*]][
  // CHECK:         scf.for
  // CHECK:           %[[V:.*]] = memref.load %[[D]]
  // CHECK:           memref.atomic_rmw"{{.*}}kind = 13 : i64
  // CHECK-NOT:     coopmatrix
  %a = coopmatrix.atomic_load %d[%i, %i] row_major acquire : memref<?x?xf64> -> !coopmatrix.matrix<8x8xf64, acc>
  %b = coopmatrix.atomic_max %a, %d[%i, %i] row_major relaxed : !coopmatrix.matrix<8x8xf64, acc>, memref<?x?xf64> -> !coopmatrix.matrix<8x8xf64, acc>
  func.return
}

// A row slice is read by all lanes from work-group memory, where it is inside of the
// matrix; one lane writes it.

// CHECK-LABEL: func.func @row_slices
// CHECK:         %[[LANE:.*]] = simt.lane_id
func.func @row_slices(%x: !coopmatrix.matrix<8x8xf32, acc>, %i: index, %mask: vector<2xi1>) -> (vector<2xf32>, !coopmatrix.matrix<8x8xf32, acc>) {
  // CHECK:         simt.barrier subgroup
  // CHECK-NEXT:    coopmatrix.store %x, %[[S:.*]][%{{.*}}] row_major
  // CHECK-NEXT:    simt.barrier subgroup
  // CHECK:         %[[IN:.*]] = arith.cmpi ult, %i, %{{.*}} : index
  // CHECK:         scf.if %[[IN]] -> (f32)
  // CHECK-NEXT:      memref.load %[[S]]
  // CHECK:         vector.insert {{.*}} [0]
  // CHECK:         vector.insert {{.*}} [1]
  %v = coopmatrix.extract_row_slice %x[%i] : !coopmatrix.matrix<8x8xf32, acc> -> vector<2xf32>
  // CHECK:         coopmatrix.store %x, %[[S]]
  // CHECK-NEXT:    simt.barrier subgroup
  // CHECK-NEXT:    %[[FIRST:.*]] = arith.cmpi eq, %[[LANE]]
  // CHECK-NEXT:    scf.if %[[FIRST]] {
  // CHECK:           %[[BIT:.*]] = vector.extract %mask[0]
  // CHECK-NEXT:      arith.andi %{{.*}}, %[[BIT]] : i1
  // CHECK-NEXT:      scf.if
  // CHECK:             memref.store
  // CHECK:         simt.barrier subgroup
  // CHECK:         coopmatrix.load %[[S]]
  %y = coopmatrix.insert_row_slice %v, %x[%i] mask %mask : vector<2xi1> : vector<2xf32>, !coopmatrix.matrix<8x8xf32, acc>
  func.return %v, %y : vector<2xf32>, !coopmatrix.matrix<8x8xf32, acc>
}

// A size that the device need not have: memory of this size holds the matrix, whatever it is set to.

coopmatrix.spec_constant @M = 5 : i32

// CHECK-LABEL: func.func @named
func.func @named(%m: memref<64x8xf32>, %i: index) {
  // CHECK:      %m_{{.*}} = coopmatrix.spec_value @M
  // CHECK:      memref.alloca(%{{.*}}) : memref<1x?x8xf32, #simt.memory<workgroup>>
  // CHECK-NOT:  coopmatrix.load
  // CHECK:      scf.for
  // CHECK:      func.return
  %x = coopmatrix.load %m[%i, %i] row_major : memref<64x8xf32> -> !coopmatrix.matrix<@M x 8 x f32, acc>
  coopmatrix.store %x, %m[%i, %i] col_major : !coopmatrix.matrix<@M x 8 x f32, acc>, memref<64x8xf32>
  func.return
}
