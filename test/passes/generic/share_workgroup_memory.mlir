// RUN: coopc-opt %s -p share-workgroup-memory --split-input-file | filecheck %s

// Buffers that are not needed together have the same place; a barrier is in between.

// CHECK-LABEL: func.func @in_turn
func.func @in_turn(%p: memref<64xf32>, %i: index) {
  // CHECK-NEXT: %[[M:.+]] = memref.alloca() : memref<64xf32, #simt.memory<workgroup>>
  // CHECK-NEXT: %x = memref.reinterpret_cast %[[M]] to offset: [0], sizes: [64], strides: [1]
  // CHECK-NEXT: simt.barrier workgroup memory = <workgroup>
  %x = memref.alloca() : memref<64xf32, #simt.memory<workgroup>>
  %0 = memref.load %p[%i] : memref<64xf32>
  memref.store %0, %x[%i] : memref<64xf32, #simt.memory<workgroup>>
  simt.barrier workgroup memory = <workgroup>
  // CHECK: memref.load %x
  %1 = memref.load %x[%i] : memref<64xf32, #simt.memory<workgroup>>
  // CHECK-NEXT: %y = memref.reinterpret_cast %[[M]] to offset: [0], sizes: [4, 8], strides: [8, 1]
  // CHECK-NEXT: simt.barrier workgroup memory = <workgroup>
  // CHECK-NEXT: memref.store %{{.+}}, %y
  %y = memref.alloca() : memref<4x8xf32, #simt.memory<workgroup>>
  memref.store %1, %y[%i, %i] : memref<4x8xf32, #simt.memory<workgroup>>
  func.return
}

// -----

// A buffer that is read between the allocation of another one and the next barrier does
// not share memory with that.

// CHECK-LABEL: func.func @read_late
func.func @read_late(%i: index, %j: index, %v: f32) {
  // CHECK-NEXT: %[[M:.+]] = memref.alloca() : memref<16xf32, #simt.memory<workgroup>>
  // CHECK-NEXT: %x = memref.reinterpret_cast %[[M]] to offset: [0], sizes: [8]
  %x = memref.alloca() : memref<8xf32, #simt.memory<workgroup>>
  // CHECK-NEXT: simt.barrier
  // CHECK-NEXT: memref.store
  memref.store %v, %x[%i] : memref<8xf32, #simt.memory<workgroup>>
  // CHECK-NEXT: %y = memref.reinterpret_cast %[[M]] to offset: [8], sizes: [8]
  %y = memref.alloca() : memref<8xf32, #simt.memory<workgroup>>
  // CHECK-NEXT: %z = memref.reinterpret_cast %[[M]] to offset: [0], sizes: [8]
  %z = memref.alloca() : memref<8xf32, #simt.memory<workgroup>>
  // CHECK-NEXT: simt.barrier
  simt.barrier workgroup memory = <workgroup>
  // CHECK-NEXT: memref.load %x
  // CHECK-NEXT: memref.store %{{.+}}, %y
  %0 = memref.load %x[%j] : memref<8xf32, #simt.memory<workgroup>>
  memref.store %0, %y[%i] : memref<8xf32, #simt.memory<workgroup>>
  // CHECK-NEXT: simt.barrier
  simt.barrier workgroup memory = <workgroup>
  // CHECK-NEXT: memref.load %y
  // CHECK-NEXT: memref.store %{{.+}}, %z
  %1 = memref.load %y[%j] : memref<8xf32, #simt.memory<workgroup>>
  memref.store %1, %z[%i] : memref<8xf32, #simt.memory<workgroup>>
  func.return
}

// -----

// What a loop accesses is needed in all of it; what is allocated in it only from one
// access to another. A barrier that is there is enough.

// CHECK-LABEL: func.func @loop
func.func @loop(%n: index, %i: index, %v: f32) {
  // CHECK-NEXT: %[[M:.+]] = memref.alloca() : memref<24xf32, #simt.memory<workgroup>>
  // CHECK-NEXT: %sum = memref.reinterpret_cast %[[M]] to offset: [0], sizes: [8]
  %sum = memref.alloca() : memref<8xf32, #simt.memory<workgroup>>
  // CHECK-NEXT: simt.barrier workgroup memory = <workgroup>
  // CHECK-NEXT: memref.store
  memref.store %v, %sum[%i] : memref<8xf32, #simt.memory<workgroup>>
  // CHECK-NEXT: scf.for
  scf.for %t = %i to %n step %n {
    // CHECK-NEXT: %x = memref.reinterpret_cast %[[M]] to offset: [8], sizes: [8]
    // CHECK-NEXT: simt.barrier workgroup memory = <workgroup>
    // CHECK-NEXT: memref.store
    %x = memref.alloca() : memref<8xf32, #simt.memory<workgroup>>
    simt.barrier workgroup memory = <workgroup>
    memref.store %v, %x[%i] : memref<8xf32, #simt.memory<workgroup>>
    %0 = memref.load %x[%i] : memref<8xf32, #simt.memory<workgroup>>
    // CHECK: %y = memref.reinterpret_cast %[[M]] to offset: [8], sizes: [8]
    %y = memref.alloca() : memref<8xf32, #simt.memory<workgroup>>
    memref.store %0, %y[%i] : memref<8xf32, #simt.memory<workgroup>>
    %1 = memref.load %y[%i] : memref<8xf32, #simt.memory<workgroup>>
    memref.store %1, %sum[%i] : memref<8xf32, #simt.memory<workgroup>>
  }
  // CHECK: %z = memref.reinterpret_cast %[[M]] to offset: [0], sizes: [24]
  %z = memref.alloca() : memref<24xf32, #simt.memory<workgroup>>
  memref.store %v, %z[%i] : memref<24xf32, #simt.memory<workgroup>>
  func.return
}

// -----

// A barrier of a subgroup is not enough for memory of the work-group, nor is one for
// global memory.

// CHECK-LABEL: func.func @other_barriers
func.func @other_barriers(%i: index, %v: f32) {
  %x = memref.alloca() : memref<64xf32, #simt.memory<workgroup>>
  memref.store %v, %x[%i] : memref<64xf32, #simt.memory<workgroup>>
  // CHECK: simt.barrier subgroup
  // CHECK-NEXT: %y = memref.reinterpret_cast
  // CHECK-NEXT: simt.barrier workgroup memory = <workgroup>
  // CHECK-NEXT: memref.store
  simt.barrier subgroup
  %y = memref.alloca() : memref<64xf32, #simt.memory<workgroup>>
  memref.store %v, %y[%i] : memref<64xf32, #simt.memory<workgroup>>
  // CHECK-NEXT: %z = memref.reinterpret_cast
  // CHECK-NEXT: simt.barrier workgroup memory = <workgroup>
  // CHECK-NEXT: simt.barrier workgroup memory = <global>
  %z = memref.alloca() : memref<64xf32, #simt.memory<workgroup>>
  simt.barrier workgroup memory = <global>
  memref.store %v, %z[%i] : memref<64xf32, #simt.memory<workgroup>>
  func.return
}

// -----

// What control flow passes on stays, and what is of another memory.

// CHECK-LABEL: func.func @stays
// CHECK-NEXT: %x = memref.alloca() : memref<8xf32, #simt.memory<workgroup>>
// CHECK-NEXT: %y = memref.alloca() : memref<8xf32, #simt.memory<private>>
func.func @stays(%c: i1, %i: index, %v: f32) {
  %x = memref.alloca() : memref<8xf32, #simt.memory<workgroup>>
  %y = memref.alloca() : memref<8xf32, #simt.memory<private>>
  memref.store %v, %y[%i] : memref<8xf32, #simt.memory<private>>
  %z = scf.if %c -> (memref<8xf32, #simt.memory<workgroup>>) {
    scf.yield %x : memref<8xf32, #simt.memory<workgroup>>
  } else {
    scf.yield %x : memref<8xf32, #simt.memory<workgroup>>
  }
  memref.store %v, %z[%i] : memref<8xf32, #simt.memory<workgroup>>
  func.return
}

// -----

// Bytes that are looked at as other elements stay.

// CHECK-LABEL: func.func @viewed
// CHECK: %bytes = memref.alloca() : memref<64xi8, #simt.memory<workgroup>>
// CHECK-NEXT: memref.view %bytes
func.func @viewed(%i: index, %v: f32) {
  %bytes = memref.alloca() : memref<64xi8, #simt.memory<workgroup>>
  %x = memref.view %bytes[%i][] : memref<64xi8, #simt.memory<workgroup>>
    to memref<8xf32, #simt.memory<workgroup>>
  memref.store %v, %x[%i] : memref<8xf32, #simt.memory<workgroup>>
  func.return
}

// -----

// What each subgroup has a part of, that no other one sees, is side by side: subgroups wait
// for themselves alone, once. Other memory of the same elements is not shared with that.

// CHECK-LABEL: func.func @owned
func.func @owned(%i: index, %v: f32) {
  // CHECK-DAG: %[[ALL:.+]] = memref.alloca() : memref<8xf32, #simt.memory<workgroup>>
  // CHECK-DAG: %[[OWN:.+]] = memref.alloca() : memref<32xf32, #simt.memory<workgroup>>
  %all = memref.alloca() : memref<8xf32, #simt.memory<workgroup>>
  %0 = memref.alloca() : memref<4x6xf32, #simt.memory<workgroup>>
  %id = simt.subgroup_id : index
  // CHECK: %[[EIGHT:.+]] = arith.constant 8 : index
  // CHECK-NEXT: %[[FIRST:.+]] = arith.muli %{{.+}}, %[[EIGHT]] : index
  // CHECK-NEXT: %x = memref.reinterpret_cast %[[OWN]] to offset: [%[[FIRST]]], sizes: [6], strides: [1]
  %x = memref.subview %0[%id, 0] [1, 6] [1, 1] : memref<4x6xf32, #simt.memory<workgroup>> to memref<6xf32, strided<[1], offset: ?>, #simt.memory<workgroup>>
  memref.store %v, %x[%i] : memref<6xf32, strided<[1], offset: ?>, #simt.memory<workgroup>>
  %1 = memref.load %x[%i] : memref<6xf32, strided<[1], offset: ?>, #simt.memory<workgroup>>
  // CHECK-NOT: simt.barrier
  // CHECK: %y = memref.reinterpret_cast %[[OWN]] to offset: [%{{.+}}], sizes: [3], strides: [1]
  // CHECK-NEXT: simt.barrier subgroup memory = <workgroup>
  // CHECK-NEXT: memref.store
  %2 = memref.alloca() : memref<4x3xf32, #simt.memory<workgroup>>
  %y = memref.subview %2[%id, 0] [1, 3] [1, 1] : memref<4x3xf32, #simt.memory<workgroup>> to memref<3xf32, strided<[1], offset: ?>, #simt.memory<workgroup>>
  simt.barrier subgroup memory = <workgroup>
  memref.store %1, %y[%i] : memref<3xf32, strided<[1], offset: ?>, #simt.memory<workgroup>>
  // CHECK: memref.store %{{.+}}, %all
  memref.store %1, %all[%i] : memref<8xf32, #simt.memory<workgroup>>
  func.return
}
