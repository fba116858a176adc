// RUN: coopc-opt %root/test/inputs/dg2/gemm_axb.ttgir -p 'coopc-xe{device=dg2}' | filecheck %s --check-prefix GEMM
// RUN: coopc-opt %s --split-input-file -p 'plan-block-io{device=dg2 explain=true}' 2>&1 | filecheck %s

// DG2 has no 2D blocks: operands of DPAS are loaded row by row, where a guard says that
// the row is inside of the matrix.  What does not change in the loop is before it.

// GEMM-LABEL: func.func @gemm_axb_dg2(
// GEMM-SAME:    what = "value", argument = 4 : i64, multiple_of = 16 : i64
// GEMM-SAME:    what = "value", argument = 5 : i64, multiple_of = 16 : i64
// GEMM-SAME:    what = "bytes", argument = 0 : i64, {{.*}}less_than = 4294967296 : i64
// GEMM:         scf.for %step =
// GEMM-NEXT:      [[BYTE:%.*]] = arith.muli %step, {{%.*}} : i32
// GEMM-NEXT:      [[AT:%.*]] = arith.addi {{%.*}}, [[BYTE]] : i32
// GEMM-NEXT:      [[COLUMNS:%.*]] = arith.cmpi ult, [[BYTE]], {{%.*}} : i32
// GEMM-NEXT:      [[INSIDE:%.*]] = arith.andi {{%.*}}, [[COLUMNS]] : i1
// GEMM-NEXT:      %a_tile = xe.block_load %a[[[AT]]] where [[INSIDE]] : memref<f16> -> vector<1xi32>
// GEMM-COUNT-63:  xe.block_load %a[
// GEMM-COUNT-32:  xe.block_load %b[{{%.*}}] where {{%.*}} : memref<f16> -> vector<2xi16>
// GEMM-NOT:       memref.load
// GEMM-COUNT-16:  xe.dpas f16 x f16 repeat 8

#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 8, opsPerChan = 2, threadsPerWarp = 8, warpsPerCTA = [1, 2], repCluster = [1, 1], A = [8, 16], B = [16, 8], C = [8, 8]}>
#dot_a = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#dot_b = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
module attributes {"ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 8 : i32} {
  tt.func public @loads(%a: !tt.ptr<f16>, %m: i32, %n: i32, %x: i32) {
    %c1 = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %c30 = arith.constant 30 : i32
    %n_i64 = arith.extsi %n : i32 to i64
    %twice = arith.addi %n, %n : i32
    %twice_i64 = arith.extsi %twice : i32 to i64
    %d = tt.make_tensor_descriptor %a, [%m, %n], [%n_i64, %c1] : <f16>, <8x16xf16>
    // CHECK: remark: tt.descriptor_load: 8 block loads of 1 x 32 bits a lane
    %0 = tt.descriptor_load %d[%x, %c0] {ttig.block_io = "row_major"} : !tt.tensordesc<8x16xf16> -> tensor<8x16xf16, #dot_a>
    // CHECK: remark: tt.descriptor_load: {{.*}}nor by channels: a block is not checked against the edges of memory: columns that are not multiples of 16
    %1 = tt.descriptor_load %d[%c0, %x] {ttig.block_io = "row_major"} : !tt.tensordesc<8x16xf16> -> tensor<8x16xf16, #dot_a>
    %e = tt.make_tensor_descriptor %a, [%m, %twice], [%twice_i64, %c1] : <f16>, <8x16xf16>
    // CHECK: remark: tt.descriptor_load: {{.*}}nor by channels: addresses are not known to be multiples of 4 bytes: the width is not a kernel argument
    %2 = tt.descriptor_load %e[%c0, %c0] {ttig.block_io = "row_major"} : !tt.tensordesc<8x16xf16> -> tensor<8x16xf16, #dot_a>
    %f = tt.make_tensor_descriptor %a, [%m, %c30], [%n_i64, %c1] : <f16>, <8x16xf16>
    // CHECK: remark: tt.descriptor_load: {{.*}}nor by channels: a block is not checked against the edges of memory: a width of 30, not a multiple of 16
    %3 = tt.descriptor_load %f[%c0, %c0] {ttig.block_io = "row_major"} : !tt.tensordesc<8x16xf16> -> tensor<8x16xf16, #dot_a>
    // CHECK: remark: tt.descriptor_load: {{.*}}nor by channels: no dimension is known to be contiguous: rows are not
    %t = tt.make_tensor_descriptor %a, [%m, %n], [%n_i64, %c1] : <f16>, <16x8xf16>
    %4 = tt.descriptor_load %t[%c0, %c0] {ttig.block_io = "column_major"} : !tt.tensordesc<16x8xf16> -> tensor<8x16xf16, #dot_a>
    // CHECK: remark: tt.descriptor_load: {{.*}}nor by channels: no slot is as wide as this: lanes hold elements of 16 bits
    %g = tt.make_tensor_descriptor %a, [%m, %n], [%n_i64, %c1] : <f16>, <8x16xf16>
    %5 = tt.descriptor_load %g[%c0, %c0] {ttig.block_io = "row_major"} : !tt.tensordesc<8x16xf16> -> tensor<8x16xf16, #dpas>
    // One tile of B is a message of 8 columns a row; its 16 bytes are aligned.
    // CHECK: remark: tt.descriptor_load: 16 block loads of 1 x 16 bits a lane
    %h = tt.make_tensor_descriptor %a, [%m, %n], [%n_i64, %c1] : <f16>, <16x16xf16>
    %6 = tt.descriptor_load %h[%c0, %c0] {ttig.block_io = "row_major"} : !tt.tensordesc<16x16xf16> -> tensor<16x16xf16, #dot_b>
    tt.return
  }
}
