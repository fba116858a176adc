// RUN: coopc-opt %s -p 'fuse-split-dpas{device=dg2 assumed=true explain=true},canonicalize' 2>%t | filecheck %s
// RUN: filecheck %s --input-file %t --check-prefix REMARK

// Every reason why two subgroups do not share an operand A, which stays as it is.

// Without work-group size a work-group is one subgroup.

func.func @alone(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<8xf32>, memref<?xf32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: not every subgroup has a partner: 8 work-items in subgroups of 8
// CHECK-LABEL: func.func @alone(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// The third of three subgroups has no partner.

func.func @three(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 24>} {
  %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<8xf32>, memref<?xf32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: not every subgroup has a partner: 24 work-items in subgroups of 8
// CHECK-LABEL: func.func @three(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// N is 8, and so is the number of lanes.

func.func @lanes(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 32>} {
  %a32 = xe.block_load %p[%at] : memref<f16> -> vector<4xi32>
  %a = vector.bitcast %a32 : vector<4xi32> to vector<8xi16>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi16>, vector<8xi32>, vector<8xf32>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<8xf32>, memref<?xf32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: split DPAS is of 8 lanes: the kernel has subgroups of 16
// CHECK-LABEL: func.func @lanes(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// Integers of 4 bits are not in the list.

func.func @precision(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<8xi32>, %out: memref<?xi32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
  %d = xe.dpas s4 x u4 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xi32>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<8xi32>, memref<?xi32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: split DPAS does not multiply these: s4 x u4
// CHECK-LABEL: func.func @precision(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// One row has no halves.

func.func @repeat(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<1xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %p[%at] : memref<f16> -> vector<1xi32>
  %d = xe.dpas f16 x f16 repeat 1 %a, %b, %c : vector<1xi32>, vector<8xi32>, vector<1xf32>
  %e = vector.extract %d[0] : f32 from vector<1xf32>
  %to = arith.constant 0 : index
  simt.block_write %e, %out[%to] : f32, memref<?xf32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: split DPAS has 2, 4 or 8 rows: 1
// CHECK-LABEL: func.func @repeat(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// There is no split DPAS that accumulates in f16.

func.func @accumulator(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<8xf16>, %out: memref<?xf16>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf16>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<8xf16>, memref<?xf16>
  func.return
}
// REMARK: remark: xe.dpas: not shared: split DPAS accumulates in f32 or i32: f16
// CHECK-LABEL: func.func @accumulator(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// One subgroup of the pair does not multiply.

func.func @one_of_them(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %zero = arith.constant 0 : index
  %s = simt.subgroup_id : index
  %is_first = arith.cmpi eq, %s, %zero : index
  scf.if %is_first {
    %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
    %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
    simt.block_write %d, %out[%zero] : vector<8xf32>, memref<?xf32>
  }
  func.return
}
// REMARK: remark: xe.dpas: not shared: not both subgroups of a pair execute it, in all lanes: scf.if around xe.dpas differs by subgroups
// CHECK-LABEL: func.func @one_of_them(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// Some subgroups go round a loop more often than others.

func.func @as_often(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %s = simt.subgroup_id : index
  %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
  %sum = scf.for %i = %zero to %s step %one iter_args(%x = %c) -> (vector<8xf32>) {
    %d = xe.dpas f16 x f16 repeat 8 %a, %b, %x : vector<8xi32>, vector<8xi32>, vector<8xf32>
    scf.yield %d : vector<8xf32>
  }
  simt.block_write %sum, %out[%zero] : vector<8xf32>, memref<?xf32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: not both subgroups of a pair execute it, in all lanes: scf.for around xe.dpas differs by subgroups
// CHECK-LABEL: func.func @as_often(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// A is what another multiplication computed, or an argument: nothing can load half of it.

func.func @argument(%a: vector<8xi32>, %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<8xf32>, memref<?xf32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: A is not loaded by blocks, half after half: it is the result of a block's argument
// CHECK-LABEL: func.func @argument(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas


func.func @computed(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %x = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
  %a = arith.addi %x, %x : vector<8xi32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<8xf32>, memref<?xf32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: A is not loaded by blocks, half after half: it is the result of arith.addi
// CHECK-LABEL: func.func @computed(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// Halves are loaded by messages of other lengths: 4 rows, and 2 twice.

func.func @uneven(%p: memref<f16>, %at: i32, %at2: i32, %at3: i32, %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %x = xe.block_load %p[%at] : memref<f16> -> vector<4xi32>
  %y = xe.block_load %p[%at2] : memref<f16> -> vector<2xi32>
  %z = xe.block_load %p[%at3] : memref<f16> -> vector<2xi32>
  %yz = vector.shuffle %y, %z [0, 1, 2, 3] : vector<2xi32>, vector<2xi32>
  %a = vector.shuffle %x, %yz [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xi32>, vector<4xi32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<8xf32>, memref<?xf32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: A is not loaded by blocks, half after half: halves of [4] and [2, 2] rows
// CHECK-LABEL: func.func @uneven(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// All of A is stored, too: each subgroup needs it whole.

func.func @uses(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>, %whole: memref<?xi32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<8xf32>, memref<?xf32>
  simt.block_write %a, %whole[%to] : vector<8xi32>, memref<?xi32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: all of A is used by something else: simt.block_write
// CHECK-LABEL: func.func @uses(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// A is also an operand B: of that no half will do.

func.func @as_b(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %a, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<8xf32>, memref<?xf32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: all of A is used by something else: xe.dpas
// CHECK-LABEL: func.func @as_b(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// The subgroups of the pair have other rows: the tile is cut along M first.

func.func @rows(%p: memref<f16>, %pitch: i32, %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %subgroup = simt.subgroup_id : index
  %s = arith.index_cast %subgroup : index to i32
  %row = arith.muli %s, %pitch : i32
  %a = xe.block_load %p[%row] : memref<f16> -> vector<8xi32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<8xf32>, memref<?xf32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: the subgroups of a pair have other rows of A: the offset of xe.block_load differs
// CHECK-LABEL: func.func @rows(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// Three subgroups a row: 2 and 3 are a pair, but not of one row.

func.func @three_in_a_row(%p: memref<f16>, %pitch: i32, %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 48>} {
  %three = arith.constant 3 : index
  %subgroup = simt.subgroup_id : index
  %s = arith.divui %subgroup, %three : index
  %i = arith.index_cast %s : index to i32
  %row = arith.muli %i, %pitch : i32
  %a = xe.block_load %p[%row] : memref<f16> -> vector<8xi32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<8xf32>, memref<?xf32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: the subgroups of a pair have other rows of A: the offset of xe.block_load differs
// CHECK-LABEL: func.func @three_in_a_row(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// An offset that goes round a loop differs as what is added to it does.

func.func @carried(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %subgroup = simt.subgroup_id : index
  %s = arith.index_cast %subgroup : index to i32
  %sum, %last = scf.for %i = %zero to %at step %one iter_args(%x = %c, %row = %zero) -> (vector<8xf32>, i32) : i32 {
    %a = xe.block_load %p[%row] : memref<f16> -> vector<8xi32>
    %d = xe.dpas f16 x f16 repeat 8 %a, %b, %x : vector<8xi32>, vector<8xi32>, vector<8xf32>
    %next = arith.addi %row, %s : i32
    scf.yield %d, %next : vector<8xf32>, i32
  }
  %to = arith.constant 0 : index
  simt.block_write %sum, %out[%to] : vector<8xf32>, memref<?xf32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: the subgroups of a pair have other rows of A: the offset of xe.block_load differs
// CHECK-LABEL: func.func @carried(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// What the partner loads later may be written by then.

func.func @written(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
  %half = arith.constant 0.5 : f16
  memref.store %half, %p[] : memref<f16>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<8xf32>, memref<?xf32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: the kernel may write the memory of A: memref.store has it
// CHECK-LABEL: func.func @written(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// Of memory that is given to a function nothing is known.

func.func @called(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  func.call @other(%p) : (memref<f16>) -> ()
  %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<8xf32>, memref<?xf32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: the kernel may write the memory of A: func.call has it
// CHECK-LABEL: func.func @called(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// Nor is it known what is written of memory that is one or the other.

func.func @either(%p: memref<f16>, %q: memref<f16>, %which: i1, %at: i32,
                  %b: vector<8xi32>, %c: vector<8xf32>, %out: memref<?xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %m = arith.select %which, %p, %q : memref<f16>
  %a = xe.block_load %m[%at] : memref<f16> -> vector<8xi32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
  %to = arith.constant 0 : index
  simt.block_write %d, %out[%to] : vector<8xf32>, memref<?xf32>
  func.return
}
// REMARK: remark: xe.dpas: not shared: the kernel may write the memory of A: it is not an argument of the kernel
// CHECK-LABEL: func.func @either(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas

// Of a function it is not known which subgroups call it.

func.func @other(%p: memref<f16>) {
  func.return
}

func.func @function(%p: memref<f16>, %at: i32, %b: vector<8xi32>, %c: vector<8xf32>) -> vector<8xf32> {
  %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
  %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c : vector<8xi32>, vector<8xi32>, vector<8xf32>
  func.return %d : vector<8xf32>
}
// REMARK: remark: xe.dpas: not shared: only in a kernel is it known which subgroups there are: this is a function
// CHECK-LABEL: func.func @function(
// CHECK-NOT: xe.split_dpas
// CHECK: xe.dpas
