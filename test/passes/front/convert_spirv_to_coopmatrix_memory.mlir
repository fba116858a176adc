// RUN: coopc-opt %s -p convert-spirv-to-coopmatrix,check-dominance | filecheck %s
// RUN: coopc-opt %s -p 'convert-spirv-to-coopmatrix,coopc-khr{device=lavapipe}' -t spirv

// Vectors in buffers, a buffer that is not used, a matrix in a variable whose elements a
// loop doubles, atomic accesses with their order, and bits of a number as a vector.

// CHECK:      func.func @k(%a: memref<?xvector<4xf32>>, %b: memref<?xf32>, %c: memref<?xi32>, %d: memref<?xf64>)
// CHECK:        memref.reinterpret_cast %a to offset: [%{{.*}}], sizes: [8, 2], strides: [2, 1] : memref<?xvector<4xf32>> to memref<8x2xvector<4xf32>, strided<[2, 1], offset: ?>>
// CHECK-NEXT:   arith.constant 0 : index
// CHECK-NEXT:   %x = coopmatrix.load %{{.*}} row_major :
// CHECK:        %[[OUT:.*]] = scf.while (%i_1 = %zero, %[[M:.*]] = %x) : (i32, !coopmatrix.matrix<8x8xf32, acc>) ->
// CHECK:          %[[E:.*]] = coopmatrix.extract %[[OLD:.*]][%{{.*}}] :
// CHECK-NEXT:     %two = arith.addf %[[E]], %[[E]] : f32
// CHECK:          %[[NEW:.*]] = coopmatrix.insert %two, %[[OLD]][%{{.*}}] :
// CHECK:          scf.yield %{{.*}}, %[[NEW]]
// CHECK:        coopmatrix.store %{{.*}} row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32,
// CHECK:        %old = "memref.atomic_rmw"(%one, %c, %{{.*}}) <{kind = 1 : i64}> {simt.ordering_scope = "device"}
// CHECK:        %seen = simt.compare_exchange %one, %zero, %c[%{{.*}}] {simt.ordering = "acquire_release", simt.ordering_scope = "workgroup"}
// CHECK:        %[[V:.*]] = vector.broadcast %z : f64 to vector<1xf64>
// CHECK-NEXT:   %halves = vector.bitcast %[[V]] : vector<1xf64> to vector<2xi32>
// CHECK:        %[[W:.*]] = vector.bitcast %{{.*}} : vector<2xi32> to vector<1xf64>
// CHECK-NEXT:   %whole = vector.extract %[[W]][0] : f64 from vector<1xf64>
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader, Float64, CooperativeMatrixKHR, VulkanMemoryModel], [SPV_KHR_cooperative_matrix]> {
  spirv.GlobalVariable @a bind(0, 0) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<vector<4xf32>, stride=16> [0])>, StorageBuffer>
  spirv.GlobalVariable @b bind(0, 1) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
  spirv.GlobalVariable @c bind(0, 2) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>
  spirv.GlobalVariable @d bind(0, 3) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f64, stride=8> [0])>, StorageBuffer>
  spirv.func @k() "None" {
    %zero = spirv.Constant 0 : i32
    %one = spirv.Constant 1 : i32
    %lead = spirv.Constant 2 : i32
    %eight = spirv.Constant 8 : i32
    %v = spirv.Variable : !spirv.ptr<!spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>, Function>
    %a = spirv.mlir.addressof @a : !spirv.ptr<!spirv.struct<(!spirv.rtarray<vector<4xf32>, stride=16> [0])>, StorageBuffer>
    %pa = spirv.AccessChain %a[%zero, %zero] : !spirv.ptr<!spirv.struct<(!spirv.rtarray<vector<4xf32>, stride=16> [0])>, StorageBuffer>, i32, i32 -> !spirv.ptr<vector<4xf32>, StorageBuffer>
    %x = spirv.KHR.CooperativeMatrixLoad %pa, %lead, <RowMajor> : !spirv.ptr<vector<4xf32>, StorageBuffer>, i32 -> !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>
    spirv.Store "Function" %v, %x : !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>
    %n = spirv.KHR.CooperativeMatrixLength : !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>
    spirv.mlir.loop {
      spirv.Branch ^header(%zero : i32)
    ^header(%i : i32):
      %more = spirv.SLessThan %i, %n : i32
      spirv.BranchConditional %more, ^body, ^merge
    ^body:
      %p = spirv.AccessChain %v[%i] : !spirv.ptr<!spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>, Function>, i32 -> !spirv.ptr<f32, Function>
      %e = spirv.Load "Function" %p : f32
      %two = spirv.FAdd %e, %e : f32
      spirv.Store "Function" %p, %two : f32
      %next = spirv.IAdd %i, %one : i32
      spirv.Branch ^header(%next : i32)
    ^merge:
      spirv.mlir.merge
    }
    %y = spirv.Load "Function" %v : !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>
    %b = spirv.mlir.addressof @b : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
    %pb = spirv.AccessChain %b[%zero, %zero] : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, i32, i32 -> !spirv.ptr<f32, StorageBuffer>
    spirv.KHR.CooperativeMatrixStore %pb, %y, %eight, <RowMajor> : !spirv.ptr<f32, StorageBuffer>, !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>, i32
    %c = spirv.mlir.addressof @c : !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>
    %pc = spirv.AccessChain %c[%zero, %zero] : !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>, i32, i32 -> !spirv.ptr<i32, StorageBuffer>
    %old = spirv.AtomicIAdd <QueueFamily> <None> %pc, %one : !spirv.ptr<i32, StorageBuffer>
    %seen = spirv.AtomicCompareExchange <Workgroup> <AcquireRelease|UniformMemory|MakeAvailable|MakeVisible> <None> %pc, %zero, %one : !spirv.ptr<i32, StorageBuffer>
    %d = spirv.mlir.addressof @d : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f64, stride=8> [0])>, StorageBuffer>
    %pd = spirv.AccessChain %d[%zero, %zero] : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f64, stride=8> [0])>, StorageBuffer>, i32, i32 -> !spirv.ptr<f64, StorageBuffer>
    %z = spirv.Load "StorageBuffer" %pd : f64
    %halves = spirv.Bitcast %z : f64 to vector<2xi32>
    %whole = spirv.Bitcast %halves : vector<2xi32> to f64
    spirv.Store "StorageBuffer" %pd, %whole : f64
    spirv.Return
  }
  spirv.EntryPoint "GLCompute" @k
  spirv.ExecutionMode @k "LocalSize", 8, 1, 1
}
