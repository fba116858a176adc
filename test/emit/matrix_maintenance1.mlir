// RUN: coopc-opt %s -p 'coopc-khr{device=any{subgroup-size=32 maintenance1=yes}}' -t spirv | filecheck %s
// RUN: coopc-opt %s -p 'coopc-khr{device=any{subgroup-size=32 maintenance1=yes}}' -t abi-json | filecheck %s --check-prefix NEEDS
// RUN: coopc-opt %s -p 'coopc-khr{device=any{subgroup-size=32}}' -t spirv | filecheck %s --check-prefix WITHOUT

// What SPV_EXT_cooperative_matrix_maintenance1 has instructions for, by its own names.

// CHECK-DAG: OpExtension "SPV_EXT_cooperative_matrix_maintenance1"
// CHECK-DAG: OpCapability CooperativeMatrixReductionsEXT
// CHECK-DAG: OpCapability CooperativeMatrixConversionsEXT
// CHECK-DAG: OpCapability CooperativeMatrixPerElementOperationsEXT
// CHECK-DAG: OpCapability CooperativeMatrixGetCoordinateEXT
// CHECK-DAG: %[[A:.*]] = OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_16 %uint_0{{$}}
// CHECK-DAG: %[[B:.*]] = OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_16 %uint_1{{$}}
// CHECK-DAG: %[[H:.*]] = OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_16 %uint_2{{$}}
// CHECK-DAG: %[[F:.*]] = OpTypeCooperativeMatrixKHR %float %uint_3 %uint_16 %uint_16 %uint_2{{$}}

// NEEDS:      "SPV_EXT_cooperative_matrix_maintenance1",
// NEEDS:      "cooperativeMatrixConversions",
// NEEDS-NEXT: "cooperativeMatrixReductions",
// NEEDS-NEXT: "cooperativeMatrixPerElementOperations",
// NEEDS-NEXT: "cooperativeMatrixGetCoordinate",

// WITHOUT-NOT: SPV_EXT_cooperative_matrix_maintenance1
// WITHOUT: OpControlBarrier

func.func @k(%a: memref<?x?xf32>, %r: memref<?x?xf32>, %h: memref<?x?xf16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %2 = arith.constant 2 : index
  %x = coopmatrix.load %a[%0, %0] row_major : memref<?x?xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  // CHECK: %y = OpCooperativeMatrixReduceEXT %[[F]] %{{.*}} Row %combine_max
  %y = coopmatrix.reduce max rows broadcast %x : !coopmatrix.matrix<16x16xf32, acc> -> !coopmatrix.matrix<16x16xf32, acc>
  // Of an accumulator, the element type and the use.
  // CHECK: %p = OpFConvert %[[A]] %y
  %p = coopmatrix.convert %y : !coopmatrix.matrix<16x16xf32, acc> -> !coopmatrix.matrix<16x16xf16, a>
  %q = coopmatrix.load %h[%0, %0] row_major : memref<?x?xf16> -> !coopmatrix.matrix<16x16xf16, b>
  // Of an operand, the use alone, and with the element type.
  // CHECK: %u = OpCooperativeMatrixConvertUseEXT %[[H]] %q
  %u = coopmatrix.convert %q : !coopmatrix.matrix<16x16xf16, b> -> !coopmatrix.matrix<16x16xf16, acc>
  // CHECK: %v = OpFConvert %[[F]] %q
  %v = coopmatrix.convert %q : !coopmatrix.matrix<16x16xf16, b> -> !coopmatrix.matrix<16x16xf32, acc>
  %g = coopmatrix.mul_add %p, %q, %u : !coopmatrix.matrix<16x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<16x16xf16, acc>
  coopmatrix.store %g, %h[%0, %0] row_major : !coopmatrix.matrix<16x16xf16, acc>, memref<?x?xf16>
  %s = coopmatrix.mul_add %p, %q, %v : !coopmatrix.matrix<16x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<16x16xf32, acc>
  // CHECK:      %[[PAIR:.*]] = OpCooperativeMatrixGetCoordinateEXT %v2uint %s %uint_2
  // CHECK:      OpCompositeExtract %uint %[[PAIR]] 1
  %row, %col = coopmatrix.coord %s[%2] : !coopmatrix.matrix<16x16xf32, acc>
  %n = arith.index_cast %col : index to i32
  %f = arith.sitofp %n : i32 to f32
  %t = coopmatrix.insert %f, %s[%2] : !coopmatrix.matrix<16x16xf32, acc>
  // CHECK: OpCooperativeMatrixPerElementOpEXT %[[F]] %t %element
  %z = coopmatrix.apply (%i, %j, %e) in %t : !coopmatrix.matrix<16x16xf32, acc> {
    %w = arith.addf %e, %e : f32
    coopmatrix.yield %w : f32
  }
  coopmatrix.store %z, %r[%0, %0] row_major : !coopmatrix.matrix<16x16xf32, acc>, memref<?x?xf32>
  func.return
}
