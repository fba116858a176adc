// RUN: coopc-opt %s -p 'coopc-khr{device="%S/Inputs/rows.toml"}' -t spirv | filecheck %s
// RUN: coopc-opt %s -p 'coopc-khr{device="%S/Inputs/rows.toml"}' -t abi-json | filecheck %s --check-prefix NEEDS
// RUN: coopc-opt %s -p 'coopc-khr{device=any{subgroup-size=64}}' -t spirv | filecheck %s --check-prefix WITHOUT

// SPV_QCOM_cooperative_matrix_conversion: lane i gets row i of a matrix, of b column i.

// CHECK-DAG: OpCapability CooperativeMatrixConversionQCOM
// CHECK-DAG: OpExtension "SPV_QCOM_cooperative_matrix_conversion"
// CHECK-DAG: %[[A:.*]] = OpTypeCooperativeMatrixKHR %half %uint_3 %uint_64 %uint_16 %uint_0{{$}}
// CHECK-DAG: %[[B:.*]] = OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_64 %uint_1{{$}}
// CHECK-DAG: %[[H:.*]] = OpTypeCooperativeMatrixKHR %half %uint_3 %uint_64 %uint_16 %uint_2{{$}}
// CHECK-DAG: %[[I:.*]] = OpTypeCooperativeMatrixKHR %uint %uint_3 %uint_64 %uint_16 %uint_2{{$}}
// CHECK-DAG: %[[HALVES:.*]] = OpTypeArray %half %uint_16
// CHECK-DAG: %[[FLOATS:.*]] = OpTypeArray %float %uint_16
// CHECK-DAG: %[[WORDS:.*]] = OpTypeArray %uint %uint_16

// NEEDS: "cooperativeMatrixConversion",

// WITHOUT-NOT: SPV_QCOM_cooperative_matrix_conversion
// WITHOUT: OpControlBarrier

// CHECK-NOT: OpControlBarrier
func.func @k(%a: memref<?x?xf32>, %r: memref<?x?xf32>, %n: memref<?x?xi32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major : memref<?x?xf32> -> !coopmatrix.matrix<64x16xf32, acc>
  // Elements are converted before rows move.
  // CHECK:      %[[S:.*]] = OpFConvert %[[H]] %x
  // CHECK-NEXT: %[[ROW:.*]] = OpCompositeExtractCoopMatQCOM %[[HALVES]] %[[S]]
  // CHECK-NEXT: %p = OpCompositeConstructCoopMatQCOM %[[A]] %[[ROW]]
  %p = coopmatrix.convert %x : !coopmatrix.matrix<64x16xf32, acc> -> !coopmatrix.matrix<64x16xf16, a>
  // Row i becomes column i.
  // CHECK-NEXT: %[[T:.*]] = OpCompositeExtractCoopMatQCOM %[[HALVES]] %p
  // CHECK-NEXT: %t = OpCompositeConstructCoopMatQCOM %[[B]] %[[T]]
  %t = coopmatrix.transpose %p : !coopmatrix.matrix<64x16xf16, a> -> !coopmatrix.matrix<16x64xf16, b>
  %zero = arith.constant 0.0 : f32
  %c = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<64x64xf32, acc>
  %d = coopmatrix.mul_add %p, %t, %c : !coopmatrix.matrix<64x16xf16, a>, !coopmatrix.matrix<16x64xf16, b>, !coopmatrix.matrix<64x64xf32, acc>
  coopmatrix.store %d, %r[%0, %0] row_major : !coopmatrix.matrix<64x64xf32, acc>, memref<?x?xf32>
  // CHECK:      %[[F:.*]] = OpCompositeExtractCoopMatQCOM %[[FLOATS]] %x
  // CHECK-NEXT: %[[W:.*]] = OpBitCastArrayQCOM %[[WORDS]] %[[F]]
  // CHECK-NEXT: %i = OpCompositeConstructCoopMatQCOM %[[I]] %[[W]]
  %i = coopmatrix.bitcast %x : !coopmatrix.matrix<64x16xf32, acc> -> !coopmatrix.matrix<64x16xi32, acc>
  coopmatrix.store %i, %n[%0, %0] row_major : !coopmatrix.matrix<64x16xi32, acc>, memref<?x?xi32>
  func.return
}
