// RUN: coopc-opt %s -t 'spirv{device=lavapipe}' --verify-diagnostics --split-input-file | filecheck %s

// Intel's extensions are for OpenCL.

func.func @k(%p: memref<64x64xf16>, %x: i32, %y: i32, %w: i32, %h: i32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  xe.block_prefetch_2d %p[%x, %y] surface(%w, %h, %w) block <16, 8x16x1>
    : memref<64x64xf16>
  func.return
}
// CHECK: xe.block_prefetch_2d: expected the flavour opencl, which Intel's extensions are for
