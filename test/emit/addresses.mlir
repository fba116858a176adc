// RUN: coopc-opt %s -t 'spirv{device=lavapipe addresses=true}' | filecheck %s
// RUN: coopc-opt %s -t 'abi-json{device=lavapipe addresses=true}' | filecheck %s --check-prefix ABI
// RUN: not coopc-opt %s -t 'spirv{device=bmg addresses=true}' 2>&1 | filecheck %s --check-prefix OPENCL

// Buffers by their addresses, which are push constants: physical storage buffers.  Each
// access says how its element is aligned.

// OPENCL: error: {{.*}}expected the flavour vulkan, which has physical storage buffers, got opencl

// CHECK-DAG: OpCapability PhysicalStorageBufferAddresses
// CHECK-DAG: OpCapability Int64
// CHECK:     OpMemoryModel PhysicalStorageBuffer64 Vulkan
// CHECK:     OpMemberName %Arguments 0 "a_address"
// CHECK:     OpMemberDecorate %Arguments 0 Offset 0
// CHECK:     OpMemberDecorate %Arguments 1 Offset 8
// CHECK-NOT: Binding
// CHECK:     %[[P:.*]] = OpTypePointer PhysicalStorageBuffer %

// ABI:      "arguments": [
// ABI-NOT:  "binding"
// ABI:      "what": "address"
// ABI:      "byte_offset": 0
// ABI:      "what": "size"
// ABI:      "byte_offset": 8
// ABI:      "what": "address"
// ABI:      "byte_offset": 16

// CHECK:     %{{.*}} = OpConvertUToPtr %[[P]] %
// CHECK:     OpCooperativeMatrixLoadKHR %{{.*}} %{{.*}} %uint_0 %uint_16 Aligned 2
// CHECK:     OpCooperativeMatrixStoreKHR %{{.*}} %{{.*}} %uint_1 %uint_16 Volatile|Aligned 16
// CHECK:     OpLoad %half %{{.*}} Aligned 2
// CHECK:     OpStore %{{.*}} %{{.*}} Aligned 2
func.func @k(%a: memref<?x16xf16>, %b: memref<16x16xf16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major : memref<?x16xf16> -> !coopmatrix.matrix<8x8xf16, a>
  coopmatrix.store %x, %b[%0, %0] col_major volatile alignment = 16 : !coopmatrix.matrix<8x8xf16, a>, memref<16x16xf16>
  %e = memref.load %a[%0, %0] : memref<?x16xf16>
  memref.store %e, %b[%0, %0] : memref<16x16xf16>
  func.return
}

// Vectors that are aligned are loaded as words, and stored in parts, through pointers that
// are cast; others one element at a time.

// CHECK:     %[[W:.*]] = OpBitcast %ptr_PhysicalStorageBuffer_v4uint %
// CHECK:     OpLoad %v4uint %[[W]] Aligned 16
// CHECK:     OpLoad %half %{{.*}} Aligned 2
// CHECK:     %[[V:.*]] = OpBitcast %ptr_PhysicalStorageBuffer_v4half %
// CHECK:     OpStore %[[V]] %{{.*}} Aligned 8
// CHECK:     %[[V:.*]] = OpBitcast %ptr_PhysicalStorageBuffer_v4half %
// CHECK:     OpStore %[[V]] %{{.*}} Aligned 8
// CHECK-NOT: OpStore
func.func @vectors(%a: memref<?xf16>, %b: memref<?xf16>, %i: index) attributes {simt.kernel} {
  %x = vector.load %a[%i] {alignment = 16 : i64} : memref<?xf16>, vector<8xf16>
  %y = vector.load %a[%i] : memref<?xf16>, vector<8xf16>
  %s = arith.addf %x, %y : vector<8xf16>
  vector.store %s, %b[%i] {alignment = 16 : i64} : memref<?xf16>, vector<8xf16>
  func.return
}

// Each part has an alignment of its own: a part of four of these needs 8 bytes.

// CHECK:         OpFunctionEnd
// CHECK-COUNT-4: OpStore %{{.*}} Aligned 2
// CHECK:         %[[V:.*]] = OpBitcast %ptr_PhysicalStorageBuffer_v2half %
// CHECK:         OpStore %[[V]] %{{.*}} Aligned 4
func.func @parts(%a: memref<?xf16>, %b: memref<?xf16>, %i: index) attributes {simt.kernel} {
  %x = vector.load %a[%i] : memref<?xf16>, vector<6xf16>
  vector.store %x, %b[%i] {alignment = 4 : i64} : memref<?xf16>, vector<6xf16>
  func.return
}
