// RUN: coopc-opt %root/test/inputs/ttgir/gemm_ptr.ttgir -p convert-tt-pointers-to-descriptors,normalize | filecheck %s --check-prefix GEMM
// RUN: coopc-opt %s -p 'convert-tt-pointers-to-descriptors{explain=true}' 2>%t.remarks | filecheck %s
// RUN: filecheck %s --check-prefix REMARK --input-file %t.remarks

// Pointers that Triton says are a matrix become one: what masks compare with are its
// sizes, what multiplies rows is its pitch, and steps of a loop are counted.

// GEMM: [[M:%.+]] = arith.maxsi %m, %{{.+}} : i32
// GEMM: [[K:%.+]] = arith.maxsi %k, %{{.+}} : i32
// GEMM: [[LDA:%.+]] = arith.extsi %lda : i32 to i64
// GEMM: [[ONE:%.+]] = arith.constant 1 : i64
// GEMM: [[A:%.+]] = tt.make_tensor_descriptor %a, {{\[}}[[M]], [[K]]], {{\[}}[[LDA]], [[ONE]]] : <f16>, <64x32xf16>
// GEMM: [[ROW:%.+]] = arith.muli %pid_m
// GEMM: [[COL:%.+]] = arith.muli %pid_n
// GEMM: scf.for %step = %c0_i32 to %k step %c32_i32 iter_args(%acc = %zero)
// GEMM-NEXT: tt.descriptor_load [[A]][[[ROW]], %step]
// GEMM-NEXT: tt.descriptor_load {{%.+}}[%step, [[COL]]]
// GEMM-NEXT: tt.dot
// GEMM-NEXT: scf.yield
// GEMM-NOT: addptr

#t = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [2, 1], order = [1, 0]}>
module attributes {"ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // A block pointer has its sizes, and where it is after so many steps.
  // CHECK-LABEL: @block_pointer
  tt.func public @block_pointer(%p: !tt.ptr<f32>, %m: i64, %n: i64, %k: i32) {
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %c1 = arith.constant 1 : i64
    %pid = tt.get_program_id x : i32
    %b = tt.make_tensor_ptr %p, [%m, %n], [%c1, %n], [%pid, %c0] {order = array<i32: 0, 1>} : <tensor<16x16xf32, #t>>
    // CHECK: scf.for %i = %c0 to %k step %c8 : i32 {
    // CHECK: [[N:%.+]] = arith.trunci %n
    // CHECK: [[M:%.+]] = arith.trunci %m
    // CHECK: [[D:%.+]] = tt.make_tensor_descriptor %p, {{\[}}[[N]], [[M]]], {{\[}}%n, %{{.+}}] {padding = 2 : i32} : <f32>, <16x16xf32>
    %r = scf.for %i = %c0 to %k step %c8 iter_args(%q = %b) -> (!tt.ptr<tensor<16x16xf32, #t>>) : i32 {
      // CHECK: tt.descriptor_load [[D]][%i, %pid] {xe.no_promise, ttig.block_io = "column_major"}
      %x = tt.load %q {boundaryCheck = array<i32: 0, 1>, padding = 2 : i32} : !tt.ptr<tensor<16x16xf32, #t>>
      "test.op"(%x) : (tensor<16x16xf32, #t>) -> ()
      %q2 = tt.advance %q, [%c0, %c8] : <tensor<16x16xf32, #t>>
      scf.yield %q2 : !tt.ptr<tensor<16x16xf32, #t>>
    }
    tt.return
  }

  // CHECK-LABEL: @broadcast
  // REMARK: :51:5: remark: tt.load: no matrix: the memory is not contiguous along either dimension
  tt.func public @broadcast(%p: tensor<16x16xi32, #t>, %a: !tt.ptr<f32>) {
    %0 = tt.splat %a : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>, #t>
    // CHECK: tt.load %{{.+}} {ttig.block_io = "row_major", xe.no_matrix = "the memory is not contiguous along either dimension: a stride of 0 along dimension 1"}
    %1 = tt.load %0 {ttig.block_io = "row_major"} : tensor<16x16x!tt.ptr<f32>, #t>
    %2 = tt.addptr %0, %p : tensor<16x16x!tt.ptr<f32>, #t>, tensor<16x16xi32, #t>
    // CHECK: xe.no_matrix = "the pointers are not known to form a 2D block: indices come from %p of the arguments of tt.func"
    %3 = tt.load %2 {ttig.block_io = "row_major"} : tensor<16x16x!tt.ptr<f32>, #t>
    // CHECK: xe.no_matrix = "the pointers are not known to form a 2D block: a pointer for each element: indices come from %p of the arguments of tt.func"
    %4 = tt.load %2 : tensor<16x16x!tt.ptr<f32>, #t>
    tt.return
  }
}
