// RUN: coopc-opt %s -t 'spirv{device=nvidia}' | filecheck %s
// VALID: nvidia

// Vectors whose alignment is known are loaded as words, all at once, through another
// variable of the same buffer; loops that are not to be written out; barriers that are
// for the memory of work-groups alone.

// Only what nothing writes, through whichever variable, is not writable.
// CHECK-NOT: OpDecorate %r{{.*}} NonWritable
// CHECK-DAG: OpDecorate %a_words4 Binding 0
// CHECK-DAG: OpDecorate %a_words4 Aliased
// CHECK-DAG: OpDecorate %b_words2 Binding 1
// CHECK-DAG: OpDecorate %a NonWritable
// CHECK-DAG: OpDecorate %a_words4 NonWritable

// CHECK-LABEL: %words = OpFunction
func.func @words(%a: memref<64x32xf16>, %b: memref<256xi8>, %r: memref<?xi32>, %n: index)
    attributes {simt.kernel, simt.work_group_size = array<i32: 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = arith.constant 7 : i32
  %c8 = arith.constant 8 : index
  // CHECK:      %[[AT:.*]] = OpShiftRightLogical %uint %{{.*}} %uint_3
  // CHECK-NEXT: OpAccessChain %ptr_StorageBuffer_v4uint %a_words4 %uint_0 %[[AT]]
  // CHECK-NEXT: OpLoad %v4uint
  %v = vector.load %a[%n, %c8] {alignment = 16 : i64} : memref<64x32xf16>, vector<8xf16>
  // CHECK:      %w = OpCompositeConstruct %v4uint
  %w = vector.bitcast %v : vector<8xf16> to vector<4xi32>
  vector.store %w, %r[%c0] : memref<?xi32>, vector<4xi32>
  // CHECK:      OpAccessChain %ptr_StorageBuffer_v2uint %b_words2 %uint_0
  // CHECK-NEXT: OpLoad %v2uint
  %x = vector.load %b[%n] {alignment = 8 : i64} : memref<256xi8>, vector<8xi8>
  %y = vector.bitcast %x : vector<8xi8> to vector<2xi32>
  vector.store %y, %r[%c8] : memref<?xi32>, vector<2xi32>
  // AcquireRelease, WorkgroupMemory, MakeAvailable, MakeVisible.
  // CHECK:      OpControlBarrier %uint_2 %uint_2 %uint_24840
  simt.barrier workgroup memory = <workgroup>
  // AcquireRelease, UniformMemory, MakeAvailable, MakeVisible.
  // CHECK:      OpControlBarrier %uint_2 %uint_2 %uint_24648
  simt.barrier workgroup memory = <global>
  // A buffer that is written, too.
  // CHECK:      OpAccessChain %ptr_StorageBuffer_v4uint %r_words4 %uint_0 %uint_1
  %c4 = arith.constant 4 : index
  %z = vector.load %r[%c4] {alignment = 16 : i64} : memref<?xi32>, vector<4xi32>
  vector.store %z, %r[%c8] : memref<?xi32>, vector<4xi32>
  // Not as aligned as it is long: one by one.
  // CHECK:      OpLoad %half
  %u = vector.load %a[%n, %c8] {alignment = 8 : i64} : memref<64x32xf16>, vector<8xf16>
  %t = vector.bitcast %u : vector<8xf16> to vector<4xi32>
  vector.store %t, %r[%c0] : memref<?xi32>, vector<4xi32>
  // CHECK:      OpLoopMerge %{{.*}} %{{.*}} DontUnroll
  scf.for %i = %c0 to %n step %c1 {
    // CHECK:      OpLoopMerge %{{.*}} %{{.*}} Unroll
    scf.for %j = %c0 to %n step %c1 {
      memref.store %e, %r[%i] : memref<?xi32>
    } {simt.unroll = true}
  } {simt.unroll = false}
  func.return
}
