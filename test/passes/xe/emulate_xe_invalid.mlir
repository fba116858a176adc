// RUN: coopc-opt %s -p emulate-xe --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// CHECK: expected a kernel with simt.subgroup_size of 8, 16 or 32, got none
func.func @no_lanes(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32)
    attributes {simt.kernel} {
  %a = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 8x16x1>
    : memref<f16> -> vector<8xi16>
  func.return
}

// -----

// CHECK: expected pairs of subgroups for split DPAS, got 1
func.func @alone(%a: vector<4xi32>, %b: vector<8xi32>, %c: vector<8xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<4xi32>, vector<8xi32>, vector<8xf32>
  func.return
}

// -----

// CHECK: expected split DPAS where all subgroups of the work-group execute it
func.func @some(%a: vector<4xi32>, %b: vector<8xi32>, %c: vector<8xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32,
                simt.work_group_size = array<i32: 32>} {
  %id = simt.subgroup_id : index
  %c2 = arith.constant 2 : index
  %first = arith.cmpi ult, %id, %c2 : index
  scf.if %first {
    %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
      : vector<4xi32>, vector<8xi32>, vector<8xf32>
  }
  func.return
}

// -----

// CHECK: expected a payload of xe.payload_create, got one through a block
func.func @through(%q: !xe.payload<16, 32x16x2>)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  xe.payload_prefetch %q[0, 0] : !xe.payload<16, 32x16x2>
  func.return
}

// -----

// CHECK: a lane's share of 32 lanes, got
func.func @lanes(%a: vector<8xi16>, %b: vector<8xi32>, %c: vector<8xf32>)
    attributes {simt.kernel, simt.subgroup_size = 32 : i32} {
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<8xi16>, vector<8xi32>, vector<8xf32>
  func.return
}

// -----

// A subgroup of 4 lanes exists on the CPU, but holds nothing of Xe's.

// CHECK: expected a kernel with simt.subgroup_size of 8, 16 or 32, got 4
func.func @four(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32)
    attributes {simt.kernel, simt.subgroup_size = 4 : i32} {
  %a = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 8x16x1>
    : memref<f16> -> vector<8xi16>
  func.return
}

// -----

// Without a number of lanes, nobody knows which two subgroups are a pair.

// CHECK: expected a kernel with simt.subgroup_size of 8, which split DPAS has, got none
func.func @any_lanes(%a: vector<4xi32>, %b: vector<8xi32>, %c: vector<8xf32>)
    attributes {simt.kernel} {
  %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<4xi32>, vector<8xi32>, vector<8xf32>
  func.return
}

// -----

// A function is called by kernels of any lanes.

// CHECK: expected a kernel with simt.subgroup_size of 8, which split DPAS has, got none
func.func @no_kernel(%a: vector<4xi32>, %b: vector<8xi32>, %c: vector<8xf32>)
    -> vector<8xf32> {
  %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<4xi32>, vector<8xi32>, vector<8xf32>
  func.return %d : vector<8xf32>
}

// -----

// CHECK: expected pairs of subgroups for split DPAS, got 3
func.func @three(%a: vector<2xi32>, %b: vector<8xi32>, %c: vector<4xi32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32,
                simt.work_group_size = array<i32: 24>} {
  %d = xe.split_dpas s8 x u8 repeat 4 %a, %b, %c
    : vector<2xi32>, vector<8xi32>, vector<4xi32>
  func.return
}

// -----

// Pieces that are not what the lanes get of a block.

// CHECK: expected pieces of i32, in which 16 lanes get 16 bits, 8x32x1, got i16: the elements of a slot would be those of other lanes
func.func @slots(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %a0, %a1 = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 8x32x1>
    : memref<f16> -> vector<8xi16>, vector<8xi16>
  func.return
}

// -----

// CHECK: expected 4 slots of 16 bits, which each of 32 lanes gets of 16 bits, 8x16x1, got 8
func.func @bits(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32)
    attributes {simt.kernel, simt.subgroup_size = 32 : i32} {
  %a = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 8x16x1>
    : memref<f16> -> vector<8xi16>
  func.return
}

// -----

// CHECK: expected a surface of elements of 8, 16, 32 or 64 bits, got i1
func.func @bytes(%p: memref<i1>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %a = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 8x16x1>
    : memref<i1> -> vector<8xi16>
  func.return
}
