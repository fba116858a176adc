// RUN: coopc-opt %s --split-input-file -p legalize-coopmatrix-khr --verify-diagnostics | filecheck %s
// RUN: not coopc-opt %s -p 'legalize-coopmatrix-khr{device=bgm}' -o %t.mlir 2>&1 | filecheck %s --check-prefix DEVICE
// RUN: not coopc-opt %root/examples/gemm.mlir -p legalize-coopmatrix-khr 2>&1 | filecheck %s --check-prefix NONE

// What a device refuses, by name and with the reason from the table.

// DEVICE: error: legalize-coopmatrix-khr: unknown device 'bgm', did you mean 'bmg'?
// NONE: error: legalize-coopmatrix-khr: expected a device, legalize-coopmatrix-khr{device=..}, or simt.target on the module, got neither

module attributes {simt.target = #simt.target<opencl, "intel-cpu">} {
func.func @k(%x: !coopmatrix.matrix<8x16xf32, acc>, %r: memref<?xf32>, %i: index) attributes {simt.kernel} {
  %lane = simt.lane_id : index
  %odd = arith.cmpi ult, %lane, %i : index
  scf.if %odd {
    // CHECK: error: coopmatrix.extract: expected uniform control flow: the device cannot access elements of a matrix, so all lanes store it to work-group memory together
    %y = coopmatrix.extract %x[%i] : !coopmatrix.matrix<8x16xf32, acc>
    memref.store %y, %r[%lane] : memref<?xf32>
  }
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, "lavapipe">} {
func.func @k(%i: index) attributes {simt.kernel} {
  %m = memref.alloca() : memref<8x8xf16, #simt.memory<workgroup>>
  // CHECK: error: coopmatrix.atomic_load: lavapipe refuses coopmatrix.atomic_load: its memory cannot be accessed as integers: under Vulkan only a buffer can be bound to variables of several types
  %y = coopmatrix.atomic_load %m[%i, %i] row_major relaxed : memref<8x8xf16, #simt.memory<workgroup>> -> !coopmatrix.matrix<8x8xf16, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, "lavapipe">} {
func.func @k(%x: !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>, %i: index) attributes {simt.kernel} {
  // CHECK: error: coopmatrix.extract_row_slice: expected a matrix of scope subgroup, whose lanes share work-group memory here, got !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
  %y = coopmatrix.extract_row_slice %x[%i] : !coopmatrix.matrix<8x8xf32, acc, scope = workgroup> -> vector<8xf32>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, "nvidia">} {
func.func @k(%i: index, %x: !coopmatrix.matrix<16x16xf32, acc>) attributes {simt.kernel} {
  %m = memref.alloca() : memref<16x16xf32, #simt.memory<workgroup>>
  // CHECK: error: coopmatrix.atomic_max: nvidia refuses coopmatrix.atomic_max: its memory cannot be accessed as integers
  %y = coopmatrix.atomic_max %x, %m[%i, %i] row_major relaxed : !coopmatrix.matrix<16x16xf32, acc>, memref<16x16xf32, #simt.memory<workgroup>> -> !coopmatrix.matrix<16x16xf32, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, "lavapipe">} {
func.func private @f(!coopmatrix.matrix<8x8xf32, none>)
func.func @k(%c: i1, %n: f32) attributes {simt.kernel} {
  // CHECK: error: func.call: lavapipe has no matrices of !coopmatrix.matrix<8x8xf32, none>: work-group memory holds them, and func.call cannot pass that on
  %x = coopmatrix.fill %n : f32 -> !coopmatrix.matrix<8x8xf32, none>
  func.call @f(%x) : (!coopmatrix.matrix<8x8xf32, none>) -> ()
  func.return
}
}

// -----

// Functions that pass on what stays in memory are inlined.
module attributes {simt.target = #simt.target<vulkan, "lavapipe">} {
func.func @f(%x: !coopmatrix.matrix<8x8xf32, none>) {
  // CHECK: error: func.call: recursion is not supported: @f calls itself
  func.call @f(%x) : (!coopmatrix.matrix<8x8xf32, none>) -> ()
  func.return
}
func.func @k(%n: f32) attributes {simt.kernel} {
  %x = coopmatrix.fill %n : f32 -> !coopmatrix.matrix<8x8xf32, none>
  func.call @f(%x) : (!coopmatrix.matrix<8x8xf32, none>) -> ()
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, "lavapipe">} {
func.func @k(%n: f32) attributes {simt.kernel} {
  // CHECK: error: coopmatrix.apply: expected values from outside the body to be uniform: other lanes than before compute the elements
  %x = coopmatrix.fill %n : f32 -> !coopmatrix.matrix<8x8xf32, acc>
  %lane = simt.lane_id : index
  %y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x8xf32, acc> {
    %s = arith.index_cast %lane : index to i32
    %f = arith.sitofp %s : i32 to f32
    coopmatrix.yield %f : f32
  }
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, "lavapipe">} {
coopmatrix.spec_constant @S = 2 : i32
func.func @k(%m: memref<?x?xf32>, %i: index) attributes {simt.kernel} {
  // CHECK: error: coopmatrix.load: expected a matrix of scope subgroup, whose lanes share work-group memory here, got !coopmatrix.matrix<8x8xf32, acc, scope = @S>, by default {{.*}}workgroup
  %y = coopmatrix.load %m[%i, %i] row_major checked(rows) : memref<?x?xf32> -> !coopmatrix.matrix<8x8xf32, acc, scope = @S>
  func.return
}
}

// -----

// An `apply` that asks who owns an element: the instruction, or other lanes, run its body.
module attributes {simt.target = #simt.target<vulkan, "lavapipe">} {
func.func @k(%x: !coopmatrix.matrix<8x8xi32, acc>) attributes {simt.kernel} {
  %y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x8xi32, acc> {
    // CHECK: error: simt.lane_id: expected a body that does not depend on the lane: other lanes than before compute the elements
    %lane = simt.lane_id : index
    %w = arith.index_cast %lane : index to i32
    coopmatrix.yield %w : i32
  }
  func.return
}
}
