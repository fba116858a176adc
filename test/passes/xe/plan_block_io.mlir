// RUN: coopc-opt %s -p 'plan-block-io{device=bmg explain=true}' 2>%t.remarks | filecheck %s
// RUN: filecheck %s --check-prefix REMARK --input-file %t.remarks
// RUN: coopc-opt %s -p 'plan-block-io{device=bmg}' | coopc-opt -p 'plan-block-io{device=dg2}' | filecheck %s --check-prefix DG2

// Each access gets a plan, or the reason why it has none; another device, another plan.

#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [8, 4], repCluster = [4, 2], A = [32, 16], B = [16, 32], C = [32, 32]}>
#dot_a = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#dot_b = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
#wrong = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 4], warpsPerCTA = [8, 4], order = [1, 0]}>
#pairs = #ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [2, 8], warpsPerCTA = [32, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 32 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // CHECK-LABEL: tt.func public @accesses
  tt.func public @accesses(%p: !tt.ptr<f16>, %q: !tt.ptr<f32>, %n: i32, %s: i64) {
    %one = arith.constant 1 : i64
    %x = arith.constant 0 : i32
    %a = tt.make_tensor_descriptor %p, [%n, %n], [%s, %one] : <f16>, <256x32xf16>
    %c = tt.make_tensor_descriptor %q, [%n, %n], [%s, %one] : <f32>, <256x256xf32>
    // CHECK: #xe.block_load_plan<<16, 32x16x2>, bits = [0, 1, 2, 3, 4, 5], element_bits = 16, rows = 0, cols = 1, of (register = [{{\[1, 0\], \[2, 0\], \[4, 0\], \[8, 0\], \[16, 0\], \[0, 16\]}}], lane = [{{\[0, 1\], \[0, 2\], \[0, 4\], \[0, 8\]}}], warp = [{{\[0, 0\], \[0, 0\], \[32, 0\], \[64, 0\], \[128, 0\]}}], block = []) -> (dim0 = 256, dim1 = 32)>
    // REMARK: plan_block_io.mlir:[[#]]:5: remark: tt.descriptor_load: 1 message of 16 bits, 32x16x2
    // DG2: xe.no_plan = "the device has no 2D block messages: it moves tensors lane by lane"
    %0 = tt.descriptor_load %a[%x, %x] {ttig.block_io = "row_major"} : !tt.tensordesc<256x32xf16> -> tensor<256x32xf16, #dot_a>
    // CHECK: #xe.block_load_plan<<32, 16x8x1, transpose>, {{.*}}rows = 1, cols = 0
    // REMARK: remark: tt.descriptor_load: 8 messages of 32 bits, 16x8x1, transpose
    %1 = tt.descriptor_load %a[%x, %x] {ttig.block_io = "column_major"} : !tt.tensordesc<256x32xf16> -> tensor<32x256xf16, #dot_b>
    // CHECK: xe.no_plan = "no message gives {{.*}}"
    // REMARK: remark: tt.descriptor_load: moved lane by lane: no message gives the lanes these elements
    %2 = tt.descriptor_load %a[%x, %x] {ttig.block_io = "row_major"} : !tt.tensordesc<256x32xf16> -> tensor<256x32xf16, #wrong>
    %3 = arith.constant dense<0.0> : tensor<256x256xf32, #dpas>
    // CHECK: #xe.block_store_plan<<32, 8x16x1>, bits = [0, 1, 2]
    // REMARK: remark: tt.descriptor_store: 16 messages of 32 bits, 8x16x1
    tt.descriptor_store %c[%x, %x], %3 {ttig.block_io = "row_major"} : !tt.tensordesc<256x256xf32>, tensor<256x256xf32, #dpas>
    // CHECK: xe.no_plan = "the pointers are not known to form a 2D block
    // REMARK: remark: tt.load: moved lane by lane: the pointers are not known to form a 2D block
    %4 = tt.splat %p : !tt.ptr<f16> -> tensor<256x32x!tt.ptr<f16>, #dot_a>
    %5 = tt.load %4 : tensor<256x32x!tt.ptr<f16>, #dot_a>
    // A column that nobody knows is aligned if Triton promises it, one that is amiss is not.
    // CHECK: xe.plan
    // REMARK: remark: tt.descriptor_load: 1 message of 16 bits, 32x16x2
    %6 = tt.descriptor_load %a[%n, %n] {ttig.block_io = "row_major"} : !tt.tensordesc<256x32xf16> -> tensor<256x32xf16, #dot_a>
    // CHECK: xe.no_plan
    // REMARK: remark: tt.descriptor_load: moved lane by lane: the position is not known well enough: a column that is a multiple of 1 elements, as far as is known, of 16 bits, expected one of 4 bytes
    %7 = tt.descriptor_load %a[%n, %n] : !tt.tensordesc<256x32xf16> -> tensor<256x32xf16, #dot_a>
    %two = arith.constant 2 : i32
    %three = arith.constant 3 : i32
    %even = arith.muli %n, %two : i32
    %odd = arith.addi %even, %three : i32
    // CHECK: xe.no_plan
    // REMARK: remark: tt.descriptor_load: moved lane by lane: the position is not known well enough: a column that is 1 more than a multiple of 2 elements, of 16 bits, expected one of 4 bytes
    %8 = tt.descriptor_load %a[%n, %odd] {ttig.block_io = "row_major"} : !tt.tensordesc<256x32xf16> -> tensor<256x32xf16, #dot_a>
    // CHECK: xe.plan
    %9 = tt.descriptor_load %a[%odd, %even] : !tt.tensordesc<256x32xf16> -> tensor<256x32xf16, #dot_a>
    tt.return
  }
  // Pairs of f32 are elements of 64 bits where the column is known to be even.
  // CHECK-LABEL: tt.func public @pairs
  tt.func public @pairs(%q: !tt.ptr<f32>, %n: i32, %s: i64) {
    %one = arith.constant 1 : i64
    %two = arith.constant 2 : i32
    %even = arith.muli %n, %two : i32
    %c = tt.make_tensor_descriptor %q, [%n, %n], [%s, %one] : <f32>, <64x16xf32>
    // CHECK: #xe.block_load_plan<<64, 2x8x1>
    %0 = tt.descriptor_load %c[%n, %even] {ttig.block_io = "row_major"} : !tt.tensordesc<64x16xf32> -> tensor<64x16xf32, #pairs>
    // CHECK: xe.no_plan
    // REMARK: remark: tt.descriptor_store: moved lane by lane: the position is not known well enough: a column that is a multiple of 1, as far as is known, expected 2 for 64 bits, 2x8x1
    tt.descriptor_store %c[%n, %n], %0 {ttig.block_io = "row_major"} : !tt.tensordesc<64x16xf32>, tensor<64x16xf32, #pairs>
    tt.return
  }
  // Without layouts nobody knows which lane has what.
  // CHECK-LABEL: tt.func public @no_layout
  // CHECK-NOT:     xe.
  // CHECK:         tt.return
  tt.func public @no_layout(%p: !tt.ptr<f16>) {
    %0 = tt.splat %p : !tt.ptr<f16> -> tensor<4x!tt.ptr<f16>>
    %1 = tt.load %0 : tensor<4x!tt.ptr<f16>>
    tt.store %0, %1 : tensor<4x!tt.ptr<f16>>
    tt.return
  }
}
