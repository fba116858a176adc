// RUN: coopc-opt %s -p 'coopc-xe{device=bmg}' | filecheck %s

// Atomic accesses are lane by lane, each element by the one lane that has it; they have
// no conditions, so there is no second entry point.

// CHECK-LABEL: func.func @atomics
func.func @atomics(%c: memref<?x?xf32>, %r: index, %n: i32) attributes {simt.kernel} {
  // CHECK-COUNT-8: memref.load %c[{{.*}}] {simt.ordering = "acquire", simt.ordering_scope = "device"}
  // CHECK-NOT:     memref.load
  %x = coopmatrix.atomic_load %c[%r, %r] row_major acquire : memref<?x?xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  // CHECK-COUNT-8: "memref.atomic_rmw"({{.*}}kind = 0 : i64
  %y = coopmatrix.atomic_add %x, %c[%r, %r] row_major relaxed : !coopmatrix.matrix<8x16xf32, acc>, memref<?x?xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  // Those of two rows more, where they are inside.
  // CHECK-COUNT-2: scf.if
  // CHECK:         "memref.atomic_rmw"({{.*}}kind = 14 : i64
  %w = coopmatrix.fill %n : i32 -> !coopmatrix.matrix<2x16xf32, acc>
  %v = coopmatrix.atomic_min %w, %c[%r, %r] row_major checked(rows) relaxed : !coopmatrix.matrix<2x16xf32, acc>, memref<?x?xf32> -> !coopmatrix.matrix<2x16xf32, acc>
  // CHECK-COUNT-4: memref.store {{.*}}simt.ordering = "release"
  // CHECK-NOT:     func.func
  %z = coopmatrix.fill %n : i32 -> !coopmatrix.matrix<4x16xi32, acc>
  %m = memref.alloca() : memref<4x16xi32, #simt.memory<workgroup>>
  %c0 = arith.constant 0 : index
  coopmatrix.atomic_store %z, %m[%c0, %c0] row_major release : !coopmatrix.matrix<4x16xi32, acc>, memref<4x16xi32, #simt.memory<workgroup>>
  func.return
}
