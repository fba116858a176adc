// REQUIRES: mlir-opt, spirv-val
// RUN: coopc-opt %s -t 'mlir-spirv{device=lavapipe}' -o %t.mlir 2> %t.remarks
// RUN: filecheck %s < %t.mlir
// RUN: filecheck %s --check-prefix=REMARK < %t.remarks
// RUN: mlir-translate --no-implicit-module --serialize-spirv %t.mlir -o %t.spv
// RUN: spirv-val --target-env vulkan1.3 %t.spv
// RUN: mlir-translate --no-implicit-module --deserialize-spirv %t.spv

// What upstream lacks and other operations of it do.  Types have numbers: specialization
// constants that they need are constants of their default value.

// REMARK: remark: builtin.module: types of the spirv dialect fix @n at the default

// CHECK:      spirv.GlobalVariable @s : !spirv.ptr<!spirv.array<12 x f32>, Workgroup>
// CHECK-NOT:  SpecConstant
// CHECK:      spirv.Constant 12 : i32
// CHECK:      %[[C:.*]] = spirv.GL.FMax %[[X:.*]], %[[Y:.*]] : f32
// CHECK-NEXT: %[[D:.*]] = spirv.IsNan %[[X]] : f32
// CHECK-NEXT: %[[E:.*]] = spirv.IsNan %[[Y]] : f32
// CHECK-NEXT: %[[F:.*]] = spirv.Select %[[D]], %[[Y]], %[[C]] : i1, f32
// CHECK-NEXT: %[[Z:.*]] = spirv.Select %[[E]], %[[X]], %[[F]] : i1, f32
// CHECK:      %[[C:.*]] = spirv.GL.Ceil %[[Z]] : f32
// CHECK-NEXT: %[[D:.*]] = spirv.GL.Floor %[[Z]] : f32
// CHECK-NEXT: %[[E:.*]] = spirv.GL.FAbs %[[C]] : f32
// CHECK-NEXT: %[[F:.*]] = spirv.GL.FAbs %[[D]] : f32
// CHECK-NEXT: %[[G:.*]] = spirv.FOrdLessThan %[[E]], %[[F]] : f32
// CHECK-NEXT: %{{.*}} = spirv.Select %[[G]], %[[C]], %[[D]] : i1, f32
// CHECK:      %[[ZERO:.*]] = spirv.Constant 0 : i32
// CHECK-NEXT: %{{.*}} = spirv.AtomicOr <QueueFamily> <Acquire{{.*}}> %{{.*}}, %[[ZERO]] : !spirv.ptr<i32, StorageBuffer>
coopmatrix.spec_constant @n = 12 : i32

func.func @k(%m: memref<?xf32>, %a: memref<?xi32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = coopmatrix.spec_value @n
  %s = memref.alloca(%n) : memref<?xf32, #simt.memory<workgroup>>
  %x = memref.load %s[%c0] : memref<?xf32, #simt.memory<workgroup>>
  %y = memref.load %m[%c1] : memref<?xf32>
  %z = arith.maxnumf %x, %y : f32
  %t = math.trunc %z : f32
  memref.store %t, %m[%n] : memref<?xf32>
  %old = memref.load %a[%c0] {simt.ordering = "acquire"} : memref<?xi32>
  memref.store %old, %a[%c1] : memref<?xi32>
  func.return
}
