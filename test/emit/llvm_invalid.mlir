// RUN: coopc-opt %s --split-input-file --verify-diagnostics -t 'llvm-ir{device=amx}' | filecheck %s
// RUN: coopc-opt %s --split-input-file --verify-diagnostics -t 'llvm-ir{device=bmg}' | filecheck %s --check-prefix GPU
// RUN: not coopc-opt %s -t llvm-ir 2>&1 | filecheck %s --check-prefix NONE
// RUN: not coopc-opt %root/examples/gemm.mlir -t 'llvm-ir{device=lavapipe}' 2>&1 | filecheck %s --check-prefix DEVICE
// RUN: not coopc-opt %root/examples/gemm.mlir -t 'llvm-ir{device=bgm}' 2>&1 | filecheck %s --check-prefix UNKNOWN

// NONE: error: builtin.module: expected simt.target on the module, which a pipeline writes, or the target's options, as in llvm-ir{device=bmg}
// DEVICE: error: builtin.module: expected an Intel GPU or amx, for which LLVM IR is emitted, got lavapipe
// UNKNOWN: error: builtin.module: unknown device 'bgm', did you mean 'bmg'?

// CHECK: error: func.func: expected a kernel of one work-item, which x86-64 runs, as vectorize-subgroup makes it, got 32
func.func @items() attributes {simt.kernel, simt.work_group_size = array<i32: 32>} {
  func.return
}

// -----

// CHECK: error: simt.lane_id: expected code of one work-item, which x86-64 runs, as vectorize-subgroup makes it, got simt.lane_id
// GPU: error: builtin.module: expected a function with simt.kernel, an entry point
func.func @lane() {
  %0 = simt.lane_id : index
  func.return
}

// -----

// CHECK: error: arith.constant: expected integers of 1, 8, 16, 32, 64 bits, got i7
// GPU: error: arith.constant: expected integers of 1, 8, 16, 32, 64 bits, got i7
func.func @width() attributes {simt.kernel} {
  %0 = arith.constant 0 : i7
  func.return
}

// -----

// CHECK: error: memref.alloc: there is no heap: allocate with memref.alloca
func.func @heap() attributes {simt.kernel} {
  %0 = memref.alloc() : memref<4xf32>
  func.return
}

// -----

// CHECK: error: memref.alloca: expected memory of a function: x86-64 has no work-groups
func.func @shared() attributes {simt.kernel} {
  %0 = memref.alloca() : memref<4xf32, #simt.memory<workgroup>>
  func.return
}

// -----

// GPU: error: func.call: recursion is not supported by OpenCL: @again calls itself
func.func @again() {
  func.call @again() : () -> ()
  func.return
}
func.func @recursion() attributes {simt.kernel} {
  func.call @again() : () -> ()
  func.return
}

// -----

// GPU: error: func.call: expected arguments of @take in the memory that its type says, (ptr addrspace(1)), got (ptr)
func.func @take(%m: memref<4xf32>) {
  func.return
}
func.func @memory() attributes {simt.kernel} {
  %0 = memref.alloca() : memref<4xf32>
  func.call @take(%0) : (memref<4xf32>) -> ()
  func.return
}

// -----

// CHECK: error: func.func: @erff is also the name of a library function that the module calls
func.func @erff(%x: f32) -> f32 {
  %0 = math.erf %x : f32
  func.return %0 : f32
}

// -----

// The C library's function is what an intrinsic without an instruction becomes.
// CHECK: error: func.func: @exp is also the name of a library function that the module calls
func.func @exp(%x: vector<4xf64>) -> vector<4xf64> {
  %0 = math.exp %x : vector<4xf64>
  func.return %0 : vector<4xf64>
}

// -----

// CHECK: error: math.expm1: expected @expm1f with the types that it has, (double) -> float, got (float) -> float
func.func private @expm1f(f64) -> f32
func.func @types(%x: f32, %y: f64) -> f32 {
  %0 = func.call @expm1f(%y) : (f64) -> f32
  %1 = math.expm1 %x : f32
  %2 = arith.addf %0, %1 : f32
  func.return %2 : f32
}
