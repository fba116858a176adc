// RUN: coopc-opt %s -t 'spirv{device=bmg}' | filecheck %s

// What Intel's run-times want: packed b, signs of a and b alone, bf16 as integers, which
// the words of SPV_INTEL_joint_matrix say.  test_joint_matrix.py validates them.

// CHECK-DAG: OpCapability PackedCooperativeMatrixINTEL
// CHECK-DAG: OpCapability CooperativeMatrixBFloat16ComponentTypeINTEL
// CHECK-DAG: OpCapability CooperativeMatrixCheckedInstructionsINTEL
// CHECK-DAG: OpExtension "SPV_INTEL_joint_matrix"
// CHECK-DAG: OpExtension "SPV_KHR_cooperative_matrix"
module {
// CHECK-LABEL: %bytes = OpFunction
// CHECK: %b = OpCooperativeMatrixLoadKHR %{{.*}} %{{.*}} %uint_2 %ulong_64{{$}}
// CHECK: %d = OpCooperativeMatrixMulAddKHR %{{.*}} %a %b %c MatrixASignedComponentsKHR{{$}}
func.func @bytes(%m: memref<8x32xi8>, %n: memref<8x64xi8>, %r: memref<8x16xi32>)
    attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %a = coopmatrix.load %m[%0, %0] row_major
    : memref<8x32xi8> -> !coopmatrix.matrix<8x32xi8, a>
  %b = coopmatrix.load %n[%0, %0] packed
    : memref<8x64xi8> -> !coopmatrix.matrix<32x16xi8, b>
  %c = coopmatrix.load %r[%0, %0] row_major
    : memref<8x16xi32> -> !coopmatrix.matrix<8x16xi32, acc>
  %d = coopmatrix.mul_add %a, %b, %c signed(a, c, result)
    : !coopmatrix.matrix<8x32xi8, a>, !coopmatrix.matrix<32x16xi8, b>,
      !coopmatrix.matrix<8x16xi32, acc>
  coopmatrix.store %d, %r[%0, %0] row_major
    : !coopmatrix.matrix<8x16xi32, acc>, memref<8x16xi32>
  func.return
}

// CHECK-LABEL: %brain = OpFunction
// CHECK: %{{.*}} = OpCooperativeMatrixLoadKHR %coopmat_ushort_{{.*}}
// CHECK: %{{.*}} = OpCooperativeMatrixMulAddKHR %coopmat_float_{{[^ ]*}} %{{[^ ]*}} %{{[^ ]*}} %{{[^ ]*}} MatrixAAndBBFloat16ComponentsINTEL{{$}}
func.func @brain(%m: memref<16x16xbf16>, %r: memref<8x16xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %a = coopmatrix.load %m[%0, %0] row_major
    : memref<16x16xbf16> -> !coopmatrix.matrix<8x16xbf16, a>
  %b = coopmatrix.load %m[%0, %0] row_major
    : memref<16x16xbf16> -> !coopmatrix.matrix<16x16xbf16, b>
  %c = coopmatrix.load %r[%0, %0] row_major
    : memref<8x16xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xbf16, a>,
    !coopmatrix.matrix<16x16xbf16, b>, !coopmatrix.matrix<8x16xf32, acc>
  coopmatrix.store %d, %r[%0, %0] row_major
    : !coopmatrix.matrix<8x16xf32, acc>, memref<8x16xf32>
  func.return
}

// Sums of bf16 are 16-bit integers, too.
// CHECK-LABEL: %brain_sums = OpFunction
// CHECK: OpCooperativeMatrixMulAddKHR {{.*}} MatrixAAndBBFloat16ComponentsINTEL|MatrixCBFloat16ComponentsINTEL|MatrixResultBFloat16ComponentsINTEL{{$}}
func.func @brain_sums(%m: memref<16x16xbf16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %a = coopmatrix.load %m[%0, %0] row_major
    : memref<16x16xbf16> -> !coopmatrix.matrix<8x16xbf16, a>
  %b = coopmatrix.load %m[%0, %0] row_major
    : memref<16x16xbf16> -> !coopmatrix.matrix<16x16xbf16, b>
  %c = coopmatrix.load %m[%0, %0] row_major
    : memref<16x16xbf16> -> !coopmatrix.matrix<8x16xbf16, acc>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xbf16, a>,
    !coopmatrix.matrix<16x16xbf16, b>, !coopmatrix.matrix<8x16xbf16, acc>
  coopmatrix.store %d, %m[%0, %0] row_major
    : !coopmatrix.matrix<8x16xbf16, acc>, memref<16x16xbf16>
  func.return
}

// A load with checks has row and column in memory, then the rows and columns of memory,
// in 32 bits, whatever the layout.
// CHECK-LABEL: %checked = OpFunction
// CHECK: %[[I:.*]] = OpUConvert %uint %i
// CHECK: OpCooperativeMatrixLoadCheckedINTEL %{{.*}} %memory %[[I]] %uint_16 %uint_0 %uint_50 %uint_72 %ulong_80{{$}}
// CHECK: %[[J:.*]] = OpUConvert %uint %i
// CHECK: OpCooperativeMatrixLoadCheckedINTEL %{{.*}} %memory %[[J]] %uint_16 %uint_1 %uint_50 %uint_72 %ulong_80 Volatile{{$}}
func.func @checked(%memory: memref<50x72xf16, strided<[80, 1]>>, %i: index) attributes {simt.kernel} {
  %16 = arith.constant 16 : index
  %a = coopmatrix.load %memory[%i, %16] row_major checked(rows)
    : memref<50x72xf16, strided<[80, 1]>> -> !coopmatrix.matrix<8x16xf16, a>
  %b = coopmatrix.load %memory[%i, %16] col_major checked(rows, cols) volatile
    : memref<50x72xf16, strided<[80, 1]>> -> !coopmatrix.matrix<16x16xf16, b>
  // CHECK: OpCooperativeMatrixStoreCheckedINTEL %memory %{{[^ ]*}} %uint_16 %{{[^ ]*}} %uint_0 %uint_50 %uint_72 %ulong_80{{$}}
  coopmatrix.store %a, %memory[%i, %16] row_major checked(cols)
    : !coopmatrix.matrix<8x16xf16, a>, memref<50x72xf16, strided<[80, 1]>>
  func.return
}
}
