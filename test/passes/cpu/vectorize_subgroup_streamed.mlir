// RUN: coopc-opt %s --validate -p 'vectorize-subgroup{streamed=8192}' | filecheck %s
// RUN: coopc-opt %s -p vectorize-subgroup | filecheck %s --check-prefix NONE

// Rows of whole vectors of memory that is large enough: stores are nontemporal if the
// row begins at a multiple of 16 bytes.

// NONE-NOT:    nontemporal

// CHECK-LABEL: func.func @rows(
// CHECK:       scf.for %i =
// CHECK:       [[ROW:%.+]] = memref.subview %c[%i, 0] [1, 1] [1, 1] : memref<8x512xf32> to memref<f32, strided<[], offset: ?>>
// CHECK:       [[AT:%.+]] = simt.address_of [[ROW]]
// CHECK:       [[LAST:%.+]] = arith.andi [[AT]], {{%.+}} : i64
// CHECK:       [[STREAMS:%.+]] = arith.cmpi eq, [[LAST]], {{%.+}} : i64
// CHECK:       scf.for %j =
// CHECK:         scf.if [[STREAMS]] {
// CHECK-NEXT:      vector.store [[X:%.+]], %c[%i, [[J:%.+]]] {alignment = 16 : i64, nontemporal = true} : memref<8x512xf32>, vector<16xf32>
// CHECK-NEXT:    } else {
// CHECK-NEXT:      vector.store [[X]], %c[%i, [[J]]] : memref<8x512xf32>, vector<16xf32>
func.func @rows(%a: memref<8x512xf32>, %c: memref<8x512xf32>) attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 16>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  %lane = simt.lane_id : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c512 step %c16 {
      %at = arith.addi %j, %lane : index
      %x = memref.load %a[%i, %at] : memref<8x512xf32>
      memref.store %x, %c[%i, %at] : memref<8x512xf32>
    }
  }
  func.return
}

// Of sizes that are known when it runs, those that are too small, or end in a part of a
// vector, are stored as before.

// CHECK-LABEL: func.func @dynamic(
// CHECK:       scf.for %i =
// CHECK:       [[M:%.+]] = memref.dim %c, %c0{{.*}}
// CHECK:       [[N:%.+]] = memref.dim %c, %c1{{.*}}
// CHECK-DAG:   arith.remui [[N]], {{%.+}}
// CHECK-DAG:   arith.muli [[M]], [[N]]
// CHECK-DAG:   arith.cmpi ult, {{%.+}}, {{%.+}} : index
// CHECK-DAG:   arith.cmpi ult, {{%.+}}, [[N]] : index
// CHECK:       vector.store {{.*}} {alignment = 16 : i64, nontemporal = true} : memref<?x?xf16>, vector<16xf16>
func.func @dynamic(%c: memref<?x?xf16>, %x: f16) attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 16>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %lane = simt.lane_id : index
  %m = memref.dim %c, %c0 : memref<?x?xf16>
  %n = memref.dim %c, %c1 : memref<?x?xf16>
  %rest = arith.remui %n, %c16 : index
  %end = arith.subi %n, %rest : index
  scf.for %i = %c0 to %m step %c1 {
    scf.for %j = %c0 to %end step %c16 {
      %at = arith.addi %j, %lane : index
      memref.store %x, %c[%i, %at] : memref<?x?xf16>
    }
    %last = arith.addi %end, %lane : index
    %in = arith.cmpi ult, %last, %n : index
    scf.if %in {
      memref.store %x, %c[%i, %last] : memref<?x?xf16>
    }
  }
  func.return
}

// Neither memory that is loaded, nor what is small, nor rows that end in a part of a
// vector, nor stores to every other vector, nor to one place, nor to columns, nor from
// an element on that may be no multiple of 16 bytes, nor indices, nor integers of
// 256 bits, nor memory of a space that is stated.

// CHECK-LABEL: func.func @others(
// CHECK-NOT:   nontemporal
func.func @others(%loaded: memref<4096xf32>, %small: memref<2047xf32>, %ragged: memref<8x1001xf32>, %apart: memref<8192xf32>, %once: memref<4096xf32>, %rows: memref<512x16xf32>, %from: memref<4096xf32>, %indices: memref<4096xindex>, %wide: memref<4096xi256>, %space: memref<4096xf32, #simt.memory<global>>, %s: index, %number: i256) attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 16>} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c992 = arith.constant 992 : index
  %lane = simt.lane_id : index
  scf.for %j = %c0 to %c992 step %c16 {
    %at = arith.addi %j, %lane : index
    %x = memref.load %loaded[%at] : memref<4096xf32>
    memref.store %x, %loaded[%at] : memref<4096xf32>
    memref.store %x, %small[%at] : memref<2047xf32>
    memref.store %x, %ragged[%c2, %at] : memref<8x1001xf32>
    %twice = arith.muli %j, %c2 : index
    %there = arith.addi %twice, %lane : index
    memref.store %x, %apart[%there] : memref<8192xf32>
    memref.store %x, %once[%lane] : memref<4096xf32>
    %row = arith.divui %j, %c16 : index
    memref.store %x, %rows[%row, %lane] : memref<512x16xf32>
    %some = arith.addi %at, %s : index
    memref.store %x, %from[%some] : memref<4096xf32>
    memref.store %at, %indices[%at] : memref<4096xindex>
    memref.store %number, %wide[%at] : memref<4096xi256>
    memref.store %x, %space[%at] : memref<4096xf32, #simt.memory<global>>
  }
  func.return
}
