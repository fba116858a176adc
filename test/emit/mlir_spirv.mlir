// REQUIRES: mlir-opt, spirv-val
// RUN: coopc-opt %s -t 'mlir-spirv{device=lavapipe}' -o %t.mlir
// RUN: filecheck %s < %t.mlir
// RUN: mlir-translate --no-implicit-module --serialize-spirv %t.mlir -o %t.spv
// RUN: spirv-val --target-env vulkan1.3 %t.spv
// RUN: mlir-opt %t.mlir | filecheck %s --check-prefix=UPSTREAM

// What upstream's serializer takes: regions in place of merge instructions, arguments
// of blocks in place of OpPhi, and results of what is used after a region.  A result that
// a loop carries goes through an argument of the loop's last block: upstream's serializer
// would lose it otherwise.

// CHECK:      spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader,
// CHECK:      spirv.SpecConstant @steps spec_id(0) = 4 : i32
// CHECK:      spirv.GlobalVariable @m bind(0, 0) {aliased} : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0]), Block>, StorageBuffer>
// CHECK:      %steps = spirv.mlir.referenceof @steps : i32
// CHECK:      %[[SUM:.*]] = spirv.mlir.loop -> f32 {
// CHECK-NEXT:   spirv.Branch ^for(%{{.*}}, %{{.*}} : i32, f32)
// CHECK-NEXT: ^for(%j: i32, %[[S:.*]]: f32):
// CHECK:        %r = spirv.mlir.selection -> f32 {
// CHECK-NEXT:     spirv.BranchConditional %{{.*}}, ^then, ^else
// CHECK:          spirv.Branch ^[[DONE:.*]](%v : f32)
// CHECK:        ^[[DONE]](%[[R:.*]]: f32):
// CHECK-NEXT:     spirv.mlir.merge %[[R]] : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   spirv.Branch ^again(%r : f32)
// CHECK-NEXT: ^again(%again.r: f32):
// CHECK:        spirv.Branch ^for(%{{.*}}, %again.r : i32, f32)
// CHECK-NEXT: ^done:
// CHECK-NEXT:   spirv.mlir.merge %[[S]] : f32
// CHECK-NEXT: }
// CHECK:      %t = spirv.mlir.selection -> f32 {
// CHECK-NEXT:   spirv.Switch %{{.*}} : i32, [
// CHECK-NEXT:     default: ^default,
// CHECK-NEXT:     1: ^case1,
// CHECK-NEXT:     7: ^case7
// CHECK:      spirv.ControlBarrier <Workgroup>, <Workgroup>, <{{.*}}>
// CHECK:      spirv.AtomicIAdd <{{.*}}> <{{.*}}> %{{.*}}, %{{.*}} : !spirv.ptr<i32, StorageBuffer>
// CHECK:      spirv.ExecutionMode @m.any "LocalSize", 8, 1, 1

// UPSTREAM:   spirv.SpecConstant @steps spec_id(0) = 4 : i32
// UPSTREAM:   spirv.func @m.any() "None"
// UPSTREAM:   spirv.mlir.loop -> f32
coopmatrix.spec_constant @steps = 4 : i32

func.func @m.any(%m: memref<?xf32>, %n: memref<?xi32>, %i: index)
    attributes {simt.kernel, simt.work_group_size = array<i32: 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %x = memref.load %m[%i] : memref<?xf32>
  %steps = coopmatrix.spec_value @steps
  %sum = scf.for %j = %c0 to %steps step %c1 iter_args(%s = %x) -> (f32) {
    %y = arith.addf %s, %x : f32
    %z = arith.mulf %s, %x : f32
    %is_first = arith.cmpi eq, %j, %c0 : index
    %r = scf.if %is_first -> (f32) {
      %v = arith.addf %y, %y : f32
      scf.yield %v : f32
    } else {
      scf.yield %z : f32
    }
    scf.yield %r : f32
  }
  %t = scf.index_switch %i -> f32
  case 1 {
    %v = arith.negf %sum : f32
    scf.yield %v : f32
  }
  case 7 {
    scf.yield %x : f32
  }
  default {
    scf.yield %sum : f32
  }
  simt.barrier workgroup
  %old = "memref.atomic_rmw"(%one, %n, %i) <{kind = 1 : i64}>
      : (i32, memref<?xi32>, index) -> i32
  memref.store %t, %m[%i] : memref<?xf32>
  func.return
}
