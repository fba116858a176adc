// RUN: coopc-opt %s -p emulate-xe --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// CHECK: expected a kernel with simt.subgroup_size of 8, 16 or 32, got none
func.func @no_lanes(%p: memref<f16>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32)
    attributes {simt.kernel} {
  %a = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch) block <16, 8x16x1>
    : memref<f16> -> vector<8xi16>
  func.return
}

// -----

// CHECK: expected a surface of elements of at most 16 bits, which the block writes whole, got f32
func.func @part(%p: memref<f32>, %x: i32, %y: i32, %w: i32, %h: i32, %pitch: i32,
                %v: vector<8xi16>)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  xe.block_store_2d %v into %p[%x, %y] surface(%w, %h, %pitch) block <16, 8x16x1>
    : vector<8xi16> into memref<f32>
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

// CHECK: which 32 lanes hold, got
func.func @lanes(%a: vector<8xi16>, %b: vector<8xi32>, %c: vector<8xf32>)
    attributes {simt.kernel, simt.subgroup_size = 32 : i32} {
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<8xi16>, vector<8xi32>, vector<8xf32>
  func.return
}
