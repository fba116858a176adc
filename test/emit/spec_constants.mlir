// RUN: coopc-opt %s -t 'spirv{device=nvidia}' | filecheck %s
// RUN: coopc-opt %s -t 'abi-json{device=nvidia}' | filecheck %s --check-prefix ABI
// VALID: nvidia

// Sizes, scopes, uses and layouts that are set when the module is loaded; ids that are not given are
// the first free ones.

// CHECK-DAG: OpDecorate %M SpecId 0
// CHECK-DAG: OpDecorate %N SpecId 1
// CHECK-DAG: OpDecorate %S SpecId 2
// CHECK-DAG: %M = OpSpecConstant %uint 16
// CHECK-DAG: %S = OpSpecConstant %uint 3
// CHECK: %[[A:.*]] = OpTypeCooperativeMatrixKHR %half %S %M %N %uint_0

// CHECK: %[[B:.*]] = OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_16 %U

// ABI:      "spec_constants": [
// ABI:      "name": "M"
// ABI-NEXT: "id": 0
// ABI-NEXT: "default": 16
// ABI:      "name": "S"
// ABI-NEXT: "id": 2

module {
coopmatrix.spec_constant @M = 16 : i32
coopmatrix.spec_constant @N = 16 : i32 id = 1
coopmatrix.spec_constant @S = 3 : i32

// CHECK: OpCooperativeMatrixLoadKHR %[[A]]
func.func @k(%m: memref<64x64xf16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %a = coopmatrix.load %m[%0, %0] row_major
    : memref<64x64xf16> -> !coopmatrix.matrix<@M x @N x f16, a, scope = @S>
  coopmatrix.store %a, %m[%0, %0] row_major
    : !coopmatrix.matrix<@M x @N x f16, a, scope = @S>, memref<64x64xf16>
  func.return
}

coopmatrix.spec_constant @U = 1 : i32
coopmatrix.spec_constant @L = 0 : i32

// CHECK: OpCooperativeMatrixLoadKHR %[[B]] %{{.*}} %L %uint_64
// CHECK: OpCooperativeMatrixStoreKHR %{{.*}} %{{.*}} %uint_1 %uint_64
func.func @u(%m: memref<64x64xf16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %a = coopmatrix.load %m[%0, %0] row_major = @L
    : memref<64x64xf16> -> !coopmatrix.matrix<16x16xf16, b = @U>
  coopmatrix.store %a, %m[%0, %0] col_major
    : !coopmatrix.matrix<16x16xf16, b = @U>, memref<64x64xf16>
  func.return
}
}
