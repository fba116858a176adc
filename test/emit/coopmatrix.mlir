// RUN: coopc-opt %s -t spirv | filecheck %s
// RUN: coopc-opt %s -t 'spirv{flavour=opencl device=bmg}' | filecheck %s --check-prefix BMG
// VALID: nvidia bmg

// Matrices in memory, filled, multiplied and carried.  Options go before simt.target.

// A matrix type is its component, scope, rows, columns and use; all constants.
// CHECK-DAG: %[[A:.*]] = OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_16 %uint_0{{$}}
// CHECK-DAG: %[[B:.*]] = OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_16 %uint_1{{$}}
// CHECK-DAG: %[[C:.*]] = OpTypeCooperativeMatrixKHR %float %uint_3 %uint_16 %uint_16 %uint_2{{$}}
// CHECK-DAG: %[[ZERO:.*]] = OpConstantComposite %[[C]] %float_0{{$}}
// BMG-DAG: %[[A:.*]] = OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_16 %uint_0{{$}}
// BMG-DAG: %[[C:.*]] = OpTypeCooperativeMatrixKHR %float %uint_3 %uint_16 %uint_16 %uint_2{{$}}

module attributes {simt.target = #simt.target<vulkan, nvidia>} {

// The layout is of the memory: row_major is RowMajorKHR (0) where the last stride is 1,
// and ColumnMajorKHR (1) where the other is; col_major the other way round.
// CHECK-LABEL: %layouts = OpFunction
// CHECK: OpCooperativeMatrixLoadKHR %[[B]] %{{.*}} %uint_0 %row_size1{{$}}
// CHECK: OpCooperativeMatrixLoadKHR %[[B]] %{{.*}} %uint_1 %row_size1{{$}}
// CHECK: OpCooperativeMatrixLoadKHR %[[B]] %{{.*}} %uint_1 %uint_64{{$}}
// CHECK: OpCooperativeMatrixLoadKHR %[[B]] %{{.*}} %uint_0 %uint_64{{$}}
// Strides have 64 bits under OpenCL.
// BMG-LABEL: %layouts = OpFunction
// BMG: OpCooperativeMatrixLoadKHR %{{.*}} %{{.*}} %uint_1 %ulong_64{{$}}
func.func @layouts(%row: memref<?x?xf16>, %col: memref<64x64xf16, strided<[1, 64]>>)
    attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %a = coopmatrix.load %row[%0, %0] row_major
    : memref<?x?xf16> -> !coopmatrix.matrix<16x16xf16, b>
  %b = coopmatrix.load %row[%0, %0] col_major
    : memref<?x?xf16> -> !coopmatrix.matrix<16x16xf16, b>
  %c = coopmatrix.load %col[%0, %0] row_major
    : memref<64x64xf16, strided<[1, 64]>> -> !coopmatrix.matrix<16x16xf16, b>
  %d = coopmatrix.load %col[%0, %0] col_major
    : memref<64x64xf16, strided<[1, 64]>> -> !coopmatrix.matrix<16x16xf16, b>
  func.return
}

// Positions become one number, the offset of a row a product that is computed once.
// CHECK-LABEL: %places = OpFunction
// CHECK: %[[ROW:.*]] = OpIMul %uint %i %uint_128
// CHECK: %[[AT:.*]] = OpIAdd %uint %[[ROW]] %uint_16
// CHECK: OpAccessChain %ptr_StorageBuffer_half %{{.*}} %uint_0 %[[AT]]
// CHECK-NOT: OpIMul
// CHECK: OpAccessChain %ptr_StorageBuffer_half %{{.*}} %uint_0 %[[ROW]]
func.func @places(%m: memref<?x128xf16>, %i: index) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %16 = arith.constant 16 : index
  %a = coopmatrix.load %m[%i, %16] row_major
    : memref<?x128xf16> -> !coopmatrix.matrix<16x16xf16, a>
  %b = coopmatrix.load %m[%i, %0] row_major
    : memref<?x128xf16> -> !coopmatrix.matrix<16x16xf16, a>
  func.return
}

// Intel's compiler crashes on Aligned.
// CHECK-LABEL: %operands = OpFunction
// CHECK: %[[X:.*]] = OpCooperativeMatrixLoadKHR %[[C]] %{{.*}} %uint_0 %uint_16 Volatile|Aligned|Nontemporal 16{{$}}
// CHECK: OpCooperativeMatrixStoreKHR %{{.*}} %[[X]] %uint_0 %uint_16 Aligned 8{{$}}
// BMG-LABEL: %operands = OpFunction
// BMG: %[[X:.*]] = OpCooperativeMatrixLoadKHR %[[C]] %{{.*}} %uint_0 %ulong_16 Volatile|Nontemporal{{$}}
// BMG: OpCooperativeMatrixStoreKHR %{{.*}} %[[X]] %uint_0 %ulong_16{{$}}
func.func @operands(%m: memref<16x16xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %a = coopmatrix.load %m[%0, %0] row_major volatile nontemporal alignment = 16
    : memref<16x16xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  coopmatrix.store %a, %m[%0, %0] row_major alignment = 8
    : !coopmatrix.matrix<16x16xf32, acc>, memref<16x16xf32>
  func.return
}

// A constant is a constant composite, another value is constructed; Intel's zero is too.
// CHECK-LABEL: %fills = OpFunction
// CHECK: %[[N:.*]] = OpCompositeConstruct %[[C]] %n{{$}}
// CHECK: OpCooperativeMatrixStoreKHR %{{.*}} %[[ZERO]]
// BMG-LABEL: %fills = OpFunction
// BMG: %zero = OpCompositeConstruct %[[C]] %float_0{{$}}
func.func @fills(%m: memref<16x16xf32>, %n: f32) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %zero = coopmatrix.fill %z : i32 -> !coopmatrix.matrix<16x16xf32, acc>
  %ns = coopmatrix.fill %n : f32 -> !coopmatrix.matrix<16x16xf32, acc>
  coopmatrix.store %zero, %m[%0, %0] row_major
    : !coopmatrix.matrix<16x16xf32, acc>, memref<16x16xf32>
  func.return
}

// The matrix that a loop carries is an OpPhi with the name of the loop's argument.
// CHECK-LABEL: %carried = OpFunction
// CHECK: %acc = OpPhi %[[C]] %[[ZERO]] %{{.*}} %next %again
// CHECK: %next = OpCooperativeMatrixMulAddKHR %[[C]] %{{.*}} %{{.*}} %acc{{$}}
// CHECK: OpCooperativeMatrixStoreKHR %{{.*}} %acc %uint_0
func.func @carried(%a: memref<?x?xf16>, %c: memref<16x16xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %16 = arith.constant 16 : index
  %1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %end = memref.dim %a, %1 : memref<?x?xf16>
  %zero = coopmatrix.fill %z : f32 -> !coopmatrix.matrix<16x16xf32, acc>
  %sum = scf.for %k = %0 to %end step %16
      iter_args(%acc = %zero) -> (!coopmatrix.matrix<16x16xf32, acc>) {
    %x = coopmatrix.load %a[%0, %k] row_major
      : memref<?x?xf16> -> !coopmatrix.matrix<16x16xf16, a>
    %y = coopmatrix.load %a[%k, %0] row_major
      : memref<?x?xf16> -> !coopmatrix.matrix<16x16xf16, b>
    %next = coopmatrix.mul_add %x, %y, %acc : !coopmatrix.matrix<16x16xf16, a>,
      !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<16x16xf32, acc>
    scf.yield %next : !coopmatrix.matrix<16x16xf32, acc>
  }
  coopmatrix.store %sum, %c[%0, %0] row_major
    : !coopmatrix.matrix<16x16xf32, acc>, memref<16x16xf32>
  func.return
}

// A prefetch is a hint, for which there is no instruction.
// CHECK-LABEL: %hint = OpFunction
// CHECK-NEXT: %{{.*}} = OpLabel
// CHECK-NEXT: OpReturn
func.func @hint(%m: memref<16x16xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  coopmatrix.prefetch %m[%0, %0] row_major
    : memref<16x16xf32>, !coopmatrix.matrix<16x16xf32, acc>
  func.return
}
}
