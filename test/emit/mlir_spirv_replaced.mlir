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

// CHECK:      spirv.GlobalVariable"() {sym_name = "s", type = !spirv.ptr<!spirv.array<12 x f32>, Workgroup>}
// CHECK-NOT:  SpecConstant"
// CHECK:      %n = "spirv.Constant"() {value = 12 : i32} : () -> i32
// CHECK:      %c.[[Z:.*]] = "spirv.GL.FMax"(%[[X:.*]], %[[Y:.*]]) : (f32, f32) -> f32
// CHECK-NEXT: %d.[[Z]] = "spirv.IsNan"(%[[X]]) : (f32) -> i1
// CHECK-NEXT: %e.[[Z]] = "spirv.IsNan"(%[[Y]]) : (f32) -> i1
// CHECK-NEXT: %f.[[Z]] = "spirv.Select"(%d.[[Z]], %[[Y]], %c.[[Z]]) : (i1, f32, f32) -> f32
// CHECK-NEXT: %[[Z]] = "spirv.Select"(%e.[[Z]], %[[X]], %f.[[Z]]) : (i1, f32, f32) -> f32
// CHECK:      %c.[[T:.*]] = "spirv.GL.Ceil"(%[[Z]]) : (f32) -> f32
// CHECK-NEXT: %d.[[T]] = "spirv.GL.Floor"(%[[Z]]) : (f32) -> f32
// CHECK-NEXT: %e.[[T]] = "spirv.GL.FAbs"(%c.[[T]]) : (f32) -> f32
// CHECK-NEXT: %f.[[T]] = "spirv.GL.FAbs"(%d.[[T]]) : (f32) -> f32
// CHECK-NEXT: %g.[[T]] = "spirv.FOrdLessThan"(%e.[[T]], %f.[[T]]) : (f32, f32) -> i1
// CHECK-NEXT: %[[T]] = "spirv.Select"(%g.[[T]], %c.[[T]], %d.[[T]]) : (i1, f32, f32) -> f32
// CHECK:      %zero.[[A:.*]] = "spirv.Constant"() {value = 0 : i32} : () -> i32
// CHECK-NEXT: %[[A]] = "spirv.AtomicOr"(%{{.*}}, %zero.[[A]]) {memory_scope = #spirv.scope<QueueFamily>, semantics = #spirv.memory_semantics<Acquire
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
