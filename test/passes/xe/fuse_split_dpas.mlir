// RUN: coopc-opt %s -p 'fuse-split-dpas{device=dg2 assumed=true explain=true},normalize' 2>%t | filecheck %s
// RUN: filecheck %s --input-file %t --check-prefix REMARK
// RUN: coopc-opt %s -p 'fuse-split-dpas{device=dg2 explain=true}' 2>&1 | filecheck %s --check-prefix KNOWN
// RUN: not coopc-opt %s -p 'fuse-split-dpas{device=bmg assumed=true}' 2>&1 | filecheck %s --check-prefix DEVICE
// RUN: not coopc-opt %s -p fuse-split-dpas 2>&1 | filecheck %s --check-prefix NONE

// Two subgroups that multiply the same rows of A load half of them each.  Which two these
// are is only assumed: nothing is done unless that is asked for.

// KNOWN: remark: xe.dpas: not shared: which subgroups are a pair is only assumed for dg2: fuse-split-dpas{assumed=true} takes it
// KNOWN-NOT: xe.split_dpas
// KNOWN: xe.dpas
// DEVICE: fuse-split-dpas: expected a device with split DPAS, as dg2 has, got bmg
// NONE: fuse-split-dpas: expected a device, fuse-split-dpas{device=..}, or simt.target on the module, got neither

// The work-group's tile is 2 x 2 subgroups: s / 2 is the row, s mod 2 the column of
// subgroup s.  A is one block of 8 rows; the second subgroup begins 4 rows, 128 bytes,
// further on, and that is added outside of the loop.

// REMARK: remark: xe.dpas: shared: 2 split DPAS, 1 loads of half of it
// CHECK-LABEL: func.func @tiled(
// CHECK:      [[BYTES:%.*]] = arith.constant 128 : i32
// CHECK-NEXT: %half = arith.muli %col, [[BYTES]] : i32
// CHECK:      [[START:%.*]] = arith.addi %start, %half : i32
// CHECK-NEXT: scf.for
// CHECK-NEXT:   [[AT:%.*]] = arith.addi [[START]], %k : i32
// CHECK-NEXT:   %a = xe.block_load %p[[[AT]]] : memref<f16> -> vector<4xi32>
// CHECK-NEXT:   %b_at = arith.addi %b_start, %k : i32
// CHECK-NEXT:   %b = xe.block_load %q
// CHECK-NEXT:   xe.split_dpas f16 x f16 repeat 8 %a, %b, %c : vector<4xi32>, vector<8xi32>, vector<8xf32>
// CHECK-NEXT:   xe.split_dpas f16 x f16 repeat 8 %a, %b, %d :
// CHECK-NEXT:   scf.yield
func.func @tiled(%p: memref<f16>, %q: memref<f16>, %out: memref<?xf32>, %end: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32,
                simt.work_group_size = array<i32: 32>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c256 = arith.constant 256 : i32
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %subgroup = simt.subgroup_id : index
  %s = arith.index_cast %subgroup : index to i32
  %row = arith.shrui %s, %c1 : i32
  %col = arith.andi %s, %c1 : i32
  %start = arith.muli %row, %end : i32
  %b_start = arith.muli %col, %end : i32
  %sum = scf.for %k = %c0 to %end step %c256 iter_args(%c = %zero) -> (vector<8xf32>) : i32 {
    %a_at = arith.addi %start, %k : i32
    %a = xe.block_load %p[%a_at] : memref<f16> -> vector<8xi32>
    %b_at = arith.addi %b_start, %k : i32
    %b = xe.block_load %q[%b_at] : memref<f16> -> vector<8xi32>
    %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
    %e = xe.dpas f16 x f16 repeat 8 %a, %b, %d : vector<8xi32>, vector<8xi32>, vector<8xf32>
    scf.yield %e : vector<8xf32>
  }
  %to = arith.constant 0 : index
  simt.block_write %sum, %out[%to] : vector<8xf32>, memref<?xf32>
  func.return
}

// Rows of A one by one, a pitch apart: each subgroup loads two of four, the second one as
// much further on as the second half is from the first, whatever both are a sum of.

// REMARK: remark: xe.dpas: shared: 1 split DPAS, 2 loads of half of it
// CHECK-LABEL: func.func @rows(
// CHECK:      [[APART0:%.*]] = arith.addi %r2, {{%.*}} : i32
// CHECK:      %half = arith.muli [[APART0]], %second : i32
// CHECK-NEXT: [[AT0:%.*]] = arith.addi %at0, %half : i32
// CHECK-NEXT: %a0 = xe.block_load %p[[[AT0]]] : memref<i8> -> vector<1xi32>
// CHECK:      [[APART1:%.*]] = arith.addi %r3, {{%.*}} : i32
// CHECK-NEXT: [[HALF1:%.*]] = arith.muli [[APART1]], %second : i32
// CHECK-NEXT: [[AT1:%.*]] = arith.addi %at1, [[HALF1]] : i32
// CHECK-NEXT: %a1 = xe.block_load %p[[[AT1]]] : memref<i8> -> vector<1xi32>
// CHECK-NEXT: [[A:%.*]] = vector.shuffle %a0, %a1 [0, 1] : vector<1xi32>, vector<1xi32>
// CHECK-NEXT: %d = xe.split_dpas s8 x u8 repeat 4 [[A]], %b, %c : vector<2xi32>, vector<8xi32>, vector<4xi32>
// CHECK-NOT:  xe.block_load
func.func @rows(%p: memref<i8>, %r0: i32, %r1: i32, %r2: i32, %r3: i32, %k: i32,
                %b: vector<8xi32>, %c: vector<4xi32>, %out: memref<?xi32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32,
                simt.work_group_size = array<i32: 8, 2>} {
  %at0 = arith.addi %r0, %k : i32
  %at1 = arith.addi %r1, %k : i32
  %at2 = arith.addi %k, %r2 : i32
  %at3 = arith.addi %r3, %k : i32
  %a0 = xe.block_load %p[%at0] : memref<i8> -> vector<1xi32>
  %a1 = xe.block_load %p[%at1] : memref<i8> -> vector<1xi32>
  %a2 = xe.block_load %p[%at2] : memref<i8> -> vector<1xi32>
  %a3 = xe.block_load %p[%at3] : memref<i8> -> vector<1xi32>
  %low = vector.shuffle %a0, %a1 [0, 1] : vector<1xi32>, vector<1xi32>
  %high = vector.shuffle %a2, %a3 [0, 1] : vector<1xi32>, vector<1xi32>
  %a = vector.shuffle %low, %high [0, 1, 2, 3] : vector<2xi32>, vector<2xi32>
  %d = xe.dpas s8 x u8 repeat 4 %a, %b, %c : vector<4xi32>, vector<8xi32>, vector<4xi32>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<4xi32>, memref<?xi32>
  func.return
}

// Control flow that is the same for both subgroups of a pair may differ between pairs.

// REMARK: remark: xe.dpas: shared: 1 split DPAS, 1 loads of half of it
// CHECK-LABEL: func.func @pairs_differ(
// CHECK: scf.if
// CHECK: xe.split_dpas
func.func @pairs_differ(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<8xf32>,
                        %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32,
                simt.work_group_size = array<i32: 32>} {
  %two = arith.constant 2 : index
  %s = simt.subgroup_id : index
  %pair = arith.divui %s, %two : index
  %zero = arith.constant 0 : index
  %is_first = arith.cmpi eq, %pair, %zero : index
  scf.if %is_first {
    %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
    %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
    simt.block_write %d, %out[%zero] : vector<8xf32>, memref<?xf32>
  }
  func.return
}
