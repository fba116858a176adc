// RUN: coopc-opt %s -p "drop-fallback-entries" 2>&1 | filecheck %s

// A second entry point is left out where the device has no room for it.

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
  // CHECK: remark: func.func: @large.fallback is left out: expected at most 32768 bytes of work-group memory, which lavapipe has, got 40000
  // CHECK: func.func @large(
  func.func @large(%p: memref<f32>) attributes {simt.kernel} {
    func.return
  }
  // CHECK-NOT: func.func @large.fallback
  func.func @large.fallback(%p: memref<f32>) attributes {simt.kernel} {
    %x = memref.alloca() : memref<10000xf32, #simt.memory<workgroup>>
    func.return
  }
  // CHECK: func.func @small(
  func.func @small(%p: memref<f32>) attributes {simt.kernel} {
    func.return
  }
  // CHECK: func.func @small.fallback
  func.func @small.fallback(%p: memref<f32>) attributes {simt.kernel} {
    %x = memref.alloca() : memref<1000xf32, #simt.memory<workgroup>>
    func.return
  }
  // A kernel of that name alone is no second entry point.
  // CHECK: func.func @alone.fallback
  func.func @alone.fallback(%p: memref<f32>) attributes {simt.kernel} {
    %x = memref.alloca() : memref<10000xf32, #simt.memory<workgroup>>
    func.return
  }
}
