// RUN: coopc-opt %s -p 'convert-gpu-mma-to-coopmatrix{subgroup-size=8}' 2>%t | filecheck %s
// RUN: filecheck %s --check-prefix REMARK < %t
// RUN: coopc-opt %s | coopc-opt -p 'convert-gpu-mma-to-coopmatrix{subgroup-size=8}' 2>/dev/null | filecheck %s
// RUN: coopc-opt %s -p 'convert-gpu-mma-to-coopmatrix{subgroup-size=8},coopc-khr{device=lavapipe}' -t spirv 2>/dev/null | filecheck %s --check-prefix SPIRV

// A module as mlir-opt prints it: a kernel with memory of its own, and the host's code.

// REMARK: convert_gpu_kernels.mlir:69:5: remark: gpu.launch_func: it is left out, with @main: code of the host
// CHECK-NOT:  @main
// CHECK-NOT:  @caller
// CHECK:      func.func @k(%a: memref<?xf32>, %n: index) attributes {simt.kernel, simt.work_group_size = array<i32: 16, 1, 1>, simt.subgroup_size = 8 : i32} {
// CHECK-DAG:    %own = memref.alloca() : memref<2xf32>
// CHECK-DAG:    %tile = memref.alloca() : memref<16xf32, #simt.memory<workgroup>>
// CHECK:        %lane = simt.lane_id : index
// CHECK-NEXT:   %subgroup = simt.subgroup_id : index
// CHECK-NEXT:   %lanes = simt.subgroup_size : index
// CHECK-NEXT:   %subgroups = simt.num_subgroups : index
// CHECK:        [[GROUP:%.+]] = simt.workgroup_id x : index
// CHECK-NEXT:   [[SIZE:%.+]] = simt.workgroup_size x : index
// CHECK-NEXT:   [[ITEM:%.+]] = simt.local_id x : index
// CHECK-NEXT:   [[BEFORE:%.+]] = arith.muli [[GROUP]], [[SIZE]] : index
// CHECK-NEXT:   %i = arith.addi [[BEFORE]], [[ITEM]] : index
// CHECK:        %x = simt.shuffle xor %v, %{{.*}} : f32
// CHECK-NEXT:   [[SMALL:%.+]] = arith.cmpi ult, %one, %width : i32
// CHECK:        [[OTHER:%.+]] = arith.xori %{{.*}}, %one : i32
// CHECK-NEXT:   [[INSIDE:%.+]] = arith.cmpi ult, [[OTHER]], %width : i32
// CHECK-NEXT:   %x_is = arith.andi [[SMALL]], [[INSIDE]] : i1
// CHECK:        %y = simt.shuffle up %x, %{{.*}} : f32
// CHECK:        [[OTHER:%.+]] = arith.subi %{{.*}}, %one : i32
// CHECK-NEXT:   [[INSIDE:%.+]] = arith.cmpi ult, [[OTHER]], %width : i32
// CHECK-NEXT:   %y_is = arith.andi %{{.*}}, [[INSIDE]] : i1
// CHECK:        %s = simt.reduce add %{{.*}} : f32
// CHECK-NEXT:   %m = simt.reduce max %s : f32
// CHECK-NEXT:   memref.store %m, %tile[%t] : memref<16xf32, #simt.memory<workgroup>>
// CHECK:        simt.barrier workgroup
// SPIRV: OpGroupNonUniformShuffleXor
// SPIRV: OpGroupNonUniformFAdd
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%a: memref<?xf32>, %n: index) workgroup(%tile : memref<16xf32, #gpu.address_space<workgroup>>) private(%own : memref<2xf32, #gpu.address_space<private>>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : i32
      %width = arith.constant 8 : i32
      %t = gpu.thread_id  x upper_bound 16
      %lane = gpu.lane_id upper_bound 8
      %subgroup = gpu.subgroup_id upper_bound 2 : index
      %lanes = gpu.subgroup_size : index
      %subgroups = gpu.num_subgroups : index
      %i = gpu.global_id  x
      %v = memref.load %a[%i] : memref<?xf32>
      %x, %x_is = gpu.shuffle  xor %v, %one, %width : f32
      %y, %y_is = gpu.shuffle  up %x, %one, %width : f32
      %z = arith.select %y_is, %y, %x : f32
      memref.store %z, %own[%c0] : memref<2xf32, #gpu.address_space<private>>
      %w = memref.load %own[%c0] : memref<2xf32, #gpu.address_space<private>>
      %s = gpu.subgroup_reduce  add %w : (f32) -> f32
      %m = gpu.subgroup_reduce  maxnumf %s uniform : (f32) -> f32
      memref.store %m, %tile[%t] : memref<16xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %r = memref.load %tile[%c0] : memref<16xf32, #gpu.address_space<workgroup>>
      %sum = arith.addf %r, %z : f32
      memref.store %sum, %a[%i] : memref<?xf32>
      gpu.return
    }
  }
  func.func @main(%a: memref<?xf32>, %n: index) {
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 4 : i32
    gpu.launch_func  @kernels::@k blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1)  dynamic_shared_memory_size %bytes args(%a : memref<?xf32>, %n : index)
    %token = gpu.wait async
    %next = gpu.launch_func async [%token] @kernels::@k blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1)  args(%a : memref<?xf32>, %n : index)
    gpu.wait [%next]
    return
  }
  func.func @caller(%a: memref<?xf32>, %n: index) {
    func.call @main(%a, %n) : (memref<?xf32>, index) -> ()
    return
  }
}
