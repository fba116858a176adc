// RUN: coopc-opt %s -t 'abi-json{device=lavapipe}' | filecheck %s --check-prefix VULKAN
// RUN: coopc-opt %s -t 'abi-json{device=bmg}' | filecheck %s --check-prefix OPENCL

// How a kernel is called: what SPIR-V says, and what it cannot say.

// VULKAN:      "version": 1,
// VULKAN-NEXT: "target": {
// VULKAN-NEXT:   "flavour": "vulkan",
// VULKAN-NEXT:   "device": "lavapipe"
// VULKAN:      "name": "gemm",
// VULKAN:      "name": "a",
// VULKAN-NEXT: "element": "f16",
// VULKAN:      "binding": 0
// VULKAN:      "name": "scale",
// VULKAN-NEXT: "type": "f16"
// VULKAN:      "what": "size",
// VULKAN-NEXT: "argument": 0,
// VULKAN-NEXT: "dimension": 0,
// VULKAN-NEXT: "type": "i32",
// VULKAN-NEXT: "byte_offset": 0
// VULKAN:      "what": "value",
// VULKAN-NEXT: "argument": 1,
// VULKAN:      "byte_offset": 4
// VULKAN:      "push_constant_bytes": 6,
// VULKAN:      "sizes": [
// VULKAN-NEXT:   {
// VULKAN-NEXT:     "what": "size",
// VULKAN-NEXT:     "argument": 0,
// VULKAN-NEXT:     "dimension": 0
// VULKAN-NEXT:   }
// VULKAN-NEXT: ],
// VULKAN:      "subgroup_size": 8,
// VULKAN-NEXT: "grid": [
// VULKAN:      "floordiv",
// VULKAN:      "size",
// VULKAN:      "work_group_memory_bytes": 384

// OPENCL:      "type": "i64",
// OPENCL-NEXT: "byte_offset": 0
// OPENCL:      "push_constant_bytes": 0,
// OPENCL:      "work_group_size": [
// OPENCL-NEXT: 16,
// OPENCL:      "subgroup_size": 16
// OPENCL:      "work_group_memory_bytes": 256
func.func @gemm(%a: memref<?x16xf16>, %scale: f16)
    attributes {simt.kernel, simt.grid = affine_map<(m) -> (m floordiv 8)>} {
  %m = memref.alloca() : memref<8x8xf16, #simt.memory<workgroup>>
  %lane = simt.lane_id : index
  func.call @part() : () -> ()
  func.call @part() : () -> ()
  func.return
}
func.func private @part() {
  %m = memref.alloca() : memref<8x8xf16, strided<[1, 8]>, #simt.memory<workgroup>>
  func.return
}
