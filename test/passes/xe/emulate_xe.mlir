// RUN: coopc-opt %s -p emulate-xe | filecheck %s
// RUN: coopc-opt %s -p 'emulate-xe{unroll=true}' | filecheck %s --check-prefix UNROLLED

// Several pieces of a block are calls of one function, which says where they begin.

// CHECK-LABEL: func.func @pieces
// CHECK:       %[[C0:.*]] = arith.constant 0 : index
// CHECK:       func.call @xe_load_16_8x16x2_plain_8xi16_of_2(%{{.*}}, %[[C0]])
// CHECK:       %[[C8:.*]] = arith.constant 8 : index
// CHECK:       func.call @xe_load_16_8x16x2_plain_8xi16_of_2(%{{.*}}, %[[C8]])
// CHECK:       func.call @xe_store_16_8x16x1_plain_8xi16_of_1
func.func @pieces(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %a, %b = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 8x16x2>
    : memref<f16> -> vector<8xi16>, vector<8xi16>
  %s = arith.addi %a, %b : vector<8xi16>
  xe.block_store_2d %s into %p[%x, %y] surface(%w, %h, %pitch) block <16, 8x16x1>
    : vector<8xi16> into memref<f16>
  func.return
}

// A hint is dropped, half a barrier too, and the other half is a whole one.

// CHECK-LABEL: func.func @hints
// CHECK-NOT:   prefetch
// CHECK:       simt.barrier workgroup
// CHECK-NEXT:  func.return
func.func @hints(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  xe.block_prefetch_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 32x16x2>
    cache <l1 = cached, l3 = cached> : memref<f16>
  simt.barrier_arrive workgroup
  simt.barrier_wait workgroup
  func.return
}

// The position of a payload is in memory.

// CHECK-LABEL: func.func @payload
// CHECK:       %[[AT:.*]] = memref.alloca() : memref<2xi32>
// CHECK:       memref.store %x, %[[AT]]
// CHECK:       memref.store %y, %[[AT]]
// CHECK:       memref.store %y, %[[AT]]
// CHECK:       %[[X:.*]] = memref.load %[[AT]]
// CHECK:       %[[SUM:.*]] = arith.addi %[[X]], %w
// CHECK:       memref.store %[[SUM]], %[[AT]]
// CHECK:       memref.load %[[AT]]
// CHECK:       func.call @xe_load_32_16x8x1_transpose_8xi32_of_1
// CHECK-NOT:   xe.payload
func.func @payload(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %q = xe.payload_create %p[%x, %y] surface(%w, %h, %pitch)
    : memref<f16> -> !xe.payload<32, 16x8x1, transpose>
  xe.payload_set_x %q, %y : !xe.payload<32, 16x8x1, transpose>
  xe.payload_add_x %q, %w : !xe.payload<32, 16x8x1, transpose>
  %v = xe.payload_load %q[8, 16] : !xe.payload<32, 16x8x1, transpose> -> vector<8xi32>
  func.return
}

// Halves of a go through work-group memory, of which there is one for all.

// CHECK-LABEL: func.func @split
// CHECK:       %[[SPLIT:.*]] = memref.alloca() : memref<64xi32, #simt.memory<workgroup>>
// CHECK:       %[[A:.*]] = func.call @xe_gather_4_rows(%a, %[[SPLIT]])
// CHECK:       func.call @xe_dpas_f16_f16_f32_repeat_8_lanes_8(%[[A]], %b, %c)
func.func @split(%a: vector<4xi32>, %b: vector<8xi32>, %c: vector<8xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32,
                simt.work_group_size = array<i32: 16>} {
  %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<4xi32>, vector<8xi32>, vector<8xf32>
  func.return
}

// A component of a mask is one of what the mask is made of.

// CHECK-LABEL: func.func @masks
// CHECK:       %[[M:.*]] = vector.extract %m[2] : i1 from vector<4xi1>
// CHECK-NEXT:  %[[N:.*]] = vector.extract %n[1] : i1 from vector<4xi1>
// CHECK-NEXT:  arith.andi %[[M]], %[[N]] : i1
func.func @masks(%m: vector<4xi1>, %n: vector<4xi1>) -> i1 {
  %0 = vector.shuffle %m, %n [2, 3, 5, 6] : vector<4xi1>, vector<4xi1>
  %1 = vector.shuffle %m, %n [5, 4, 1, 0] : vector<4xi1>, vector<4xi1>
  %2 = arith.andi %0, %1 : vector<4xi1>
  %3 = vector.extract %2[0] : i1 from vector<4xi1>
  func.return %3 : i1
}

// CHECK:       func.func private @xe_load_16_8x16x2_plain_8xi16_of_2
// CHECK:       scf.for
// CHECK:       scf.if
// CHECK-NOT:   scf.for
// CHECK:       func.func private @xe_store_16_8x16x1_plain_8xi16_of_1
// CHECK-NOT:   func.func private @xe_load_16

// UNROLLED:     func.func private @xe_load_16_8x16x2_plain_8xi16_of_2
// UNROLLED-NOT: scf.for
