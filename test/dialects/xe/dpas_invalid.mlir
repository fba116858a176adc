// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Both operands are one float type, or integers of one width.

%a, %b, %c = "test.op"() : () -> (vector<8xi16>, vector<8xi32>, vector<8xf32>)
%d = xe.dpas f16 x bf16 repeat 8 %a, %b, %c : vector<8xi16>, vector<8xi32>, vector<8xf32>
// CHECK: xe.dpas: expected b to be f16, or integers of the same width, got bf16

// -----

%a, %b, %c = "test.op"() : () -> (vector<8xi16>, vector<8xi32>, vector<8xi32>)
%d = xe.dpas s8 x u4 repeat 8 %a, %b, %c : vector<8xi16>, vector<8xi32>, vector<8xi32>
// CHECK: xe.dpas: expected b to be s8, or integers of the same width, got u4

// -----

%a, %b, %c = "test.op"() : () -> (vector<3xi16>, vector<8xi32>, vector<3xf32>)
%d = xe.dpas f16 x f16 repeat 3 %a, %b, %c : vector<3xi16>, vector<8xi32>, vector<3xf32>
// CHECK: xe.dpas: expected a repeat count in (1, 2, 4, 8), got 3

// -----

// What is accumulated depends on what is multiplied.

%a, %b, %c = "test.op"() : () -> (vector<8xi16>, vector<8xi32>, vector<8xbf16>)
%d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi16>, vector<8xi32>, vector<8xbf16>
// CHECK: xe.dpas: expected c of f32 or f16, as f16 accumulates in, got bf16

// -----

%a, %b, %c = "test.op"() : () -> (vector<8xi16>, vector<8xi32>, vector<8xf32>)
%d = xe.dpas u4 x s4 repeat 8 %a, %b, %c : vector<8xi16>, vector<8xi32>, vector<8xf32>
// CHECK: xe.dpas: expected c of i32, as u4 accumulates in, got f32

// -----

// The operands are one lane's share, for some number of lanes.

%a, %b, %c = "test.op"() : () -> (vector<8xf16>, vector<8xi32>, vector<8xf32>)
%d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xf16>, vector<8xi32>, vector<8xf32>
// CHECK: xe.dpas: expected vector<8xi32>, vector<8xi32> and 8 of c; or vector<8xi16>, vector<8xi32> and 8 of c; or vector<4xi16>, vector<4xi32> and 4 of c, for M = 8, f16, got vector<8xf16>, vector<8xi32> and vector<8xf32>

// -----

%a, %b, %c = "test.op"() : () -> (vector<1xi16>, vector<4xi32>, vector<1xf32>)
%d = xe.dpas f16 x f16 repeat 1 %a, %b, %c : vector<1xi16>, vector<4xi32>, vector<1xf32>
// CHECK: xe.dpas: expected vector<1xi32>, vector<8xi32> and 1 of c; or vector<1xi16>, vector<8xi32> and 1 of c, for M = 1, f16, got vector<1xi16>, vector<4xi32> and vector<1xf32>

// -----

// Split DPAS: half of the rows of a, fewer precisions.

%a, %b, %c = "test.op"() : () -> (vector<8xi32>, vector<8xi32>, vector<8xf32>)
%d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
  : vector<8xi32>, vector<8xi32>, vector<8xf32>
// CHECK: xe.split_dpas: expected vector<4xi32>, vector<8xi32> and 8 of c, for M = 8 on 8 lanes, got vector<8xi32>, vector<8xi32> and vector<8xf32>

// -----

%a, %b, %c = "test.op"() : () -> (vector<4xi32>, vector<8xi32>, vector<8xf32>)
%d = xe.split_dpas tf32 x tf32 repeat 8 %a, %b, %c
  : vector<4xi32>, vector<8xi32>, vector<8xf32>
// CHECK: xe.split_dpas: expected s8, u8, f16 or bf16, which split DPAS multiplies, got tf32

// -----

%a, %b, %c = "test.op"() : () -> (vector<4xi32>, vector<8xi32>, vector<8xf16>)
%d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
  : vector<4xi32>, vector<8xi32>, vector<8xf16>
// CHECK: xe.split_dpas: expected f32 or i32 in c of split DPAS, got vector<8xf16>

// -----

%a, %b, %c = "test.op"() : () -> (vector<1xi32>, vector<8xi32>, vector<1xf32>)
%d = xe.split_dpas f16 x f16 repeat 1 %a, %b, %c
  : vector<1xi32>, vector<8xi32>, vector<1xf32>
// CHECK: xe.split_dpas: expected a repeat count in (2, 4, 8), got 1

// -----

%a, %b, %c = "test.op"() : () -> (vector<8xi32>, vector<8xi32>, vector<16xf32>)
%d = xe.split_dpas f16 x f16 repeat 16 %a, %b, %c
  : vector<8xi32>, vector<8xi32>, vector<16xf32>
// CHECK: xe.split_dpas: expected a repeat count in (2, 4, 8), got 16

// -----

%a, %b, %c = "test.op"() : () -> (vector<4xi32>, vector<8xi32>, vector<8xf32>)
%d = xe.split_dpas f16 x bf16 repeat 8 %a, %b, %c
  : vector<4xi32>, vector<8xi32>, vector<8xf32>
// CHECK: xe.split_dpas: expected b to be f16, or integers of the same width, got bf16

// -----

// Integers of 4 bits, whose K is 64, are not in the list.

%a, %b, %c = "test.op"() : () -> (vector<4xi32>, vector<8xi32>, vector<8xi32>)
%d = xe.split_dpas s4 x u4 repeat 8 %a, %b, %c
  : vector<4xi32>, vector<8xi32>, vector<8xi32>
// CHECK: xe.split_dpas: expected s8, u8, f16 or bf16, which split DPAS multiplies, got s4

// -----

%a, %b, %c = "test.op"() : () -> (vector<4xi32>, vector<8xi32>, vector<8xf32>)
%d = xe.split_dpas s8 x s8 repeat 8 %a, %b, %c
  : vector<4xi32>, vector<8xi32>, vector<8xf32>
// CHECK: xe.split_dpas: expected c of i32, as s8 accumulates in, got f32

// -----

// K is the eight channels of B: half of them are another K.

%a, %b, %c = "test.op"() : () -> (vector<4xi32>, vector<4xi32>, vector<8xf32>)
%d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
  : vector<4xi32>, vector<4xi32>, vector<8xf32>
// CHECK: xe.split_dpas: expected vector<4xi32>, vector<8xi32> and 8 of c, for M = 8 on 8 lanes, got vector<4xi32>, vector<4xi32> and vector<8xf32>

// -----

// A subgroup of another size has another N.

func.func @lanes(%a: vector<4xi32>, %b: vector<8xi32>, %c: vector<8xf32>)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32,
                simt.work_group_size = array<i32: 32>} {
  %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<4xi32>, vector<8xi32>, vector<8xf32>
  func.return
}
// CHECK: xe.split_dpas: expected a subgroup of 8 lanes for split DPAS, got 16

// -----

// One subgroup alone has nobody to share A with; nor has the third of three.

func.func @alone(%a: vector<4xi32>, %b: vector<8xi32>, %c: vector<8xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32,
                simt.work_group_size = array<i32: 8>} {
  %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<4xi32>, vector<8xi32>, vector<8xf32>
  func.return
}
// CHECK: xe.split_dpas: expected pairs of subgroups for split DPAS, got 1

// -----

func.func @three(%a: vector<4xi32>, %b: vector<8xi32>, %c: vector<8xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32,
                simt.work_group_size = array<i32: 8, 3>} {
  %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
    : vector<4xi32>, vector<8xi32>, vector<8xf32>
  func.return
}
// CHECK: xe.split_dpas: expected pairs of subgroups for split DPAS, got 3
