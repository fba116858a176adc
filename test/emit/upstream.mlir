// REQUIRES: mlir-opt
// RUN: coopc-opt %s -t 'spirv-binary{device=lavapipe}' -o %t.spv
// RUN: mlir-translate --no-implicit-module --deserialize-spirv %t.spv | filecheck %s
// VALID: lavapipe

// Upstream's deserializer makes symbols of debug names: those of buffers, of blocks of
// arguments and of work-group memory differ in all kernels, and entry points keep theirs.

// CHECK:     spirv.GlobalVariable @m_0
// CHECK-DAG: spirv.GlobalVariable @shared {{.*}}array<8 x f32>
// CHECK-DAG: spirv.GlobalVariable @shared_0 {{.*}}array<8 x f16>
// CHECK-DAG: spirv.func @m()
// CHECK-DAG: spirv.func @second()
// CHECK-DAG: spirv.EntryPoint "GLCompute" @m
// CHECK-DAG: spirv.EntryPoint "GLCompute" @second
func.func @m(%m: memref<?xf32>, %n: index)
    attributes {simt.kernel, simt.work_group_size = array<i32: 8>} {
  %shared = memref.alloca() : memref<8xf32, #simt.memory<workgroup>>
  %i = simt.local_id x : index
  %x = memref.load %m[%n] : memref<?xf32>
  memref.store %x, %shared[%i] : memref<8xf32, #simt.memory<workgroup>>
  memref.store %x, %m[%i] : memref<?xf32>
  func.return
}

func.func @second(%m: memref<?xf16>, %j: index, %n: i32)
    attributes {simt.kernel, simt.work_group_size = array<i32: 8>} {
  %shared = memref.alloca() : memref<8xf16, #simt.memory<workgroup>>
  %i = simt.local_id x : index
  %x = memref.load %m[%j] : memref<?xf16>
  memref.store %x, %shared[%i] : memref<8xf16, #simt.memory<workgroup>>
  memref.store %x, %m[%i] : memref<?xf16>
  func.return
}
