// RUN: coopc-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect -t 'spirv{device=lavapipe}' | filecheck %s
// RUN: not coopc-opt %root/examples/gemm.mlir -t spirv 2>&1 | filecheck %s --check-prefix NONE
// RUN: not coopc-opt %root/examples/gemm.mlir -t 'spirv{device=bgm}' 2>&1 | filecheck %s --check-prefix DEVICE
// RUN: not coopc-opt %root/examples/gemm.mlir -t 'spirv{flavour=opencl device=lavapipe}' -o %t.spv 2>&1 | filecheck %s --check-prefix FLAVOUR
// RUN: not coopc-opt %root/examples/gemm.mlir -t 'abi-json{flavour=metal device=lavapipe}' 2>&1 | filecheck %s --check-prefix METAL
// RUN: not coopc-opt %root/examples/gemm.mlir -p coopc-amx -t abi-json 2>&1 | filecheck %s --check-prefix HOST
// RUN: not test -e %t.spv

// What is refused, where, and in which words; nothing is written then.

// NONE: error: builtin.module: expected simt.target on the module, which a pipeline writes, or the target's options, as in spirv{flavour=vulkan device=lavapipe}
// HOST: error: builtin.module: expected kernels, as coopc-khr makes them, got functions without simt.kernel (coopc-amx and coopc-cpu make them for -t llvm-ir)
// DEVICE: error: builtin.module: unknown device 'bgm', did you mean 'bmg'? (have lavapipe, nvidia, ampere, ada, blackwell, rdna3, rdna4, arc, xe2, dg2, pvc, bmg, lnl, ptl, intel-cpu, amx, any, driver)
// FLAVOUR: error: builtin.module: expected vulkan, which lavapipe has, got opencl
// METAL: target:1:1: error: option flavour of abi-json: expected opencl or vulkan, got metal

// CHECK: :{{[0-9]+}}:1: error: builtin.module: expected a function with simt.kernel, an entry point
module {
func.func @no_kernel() {
  func.return
}
}

// -----

func.func @subgroup_size() attributes {simt.kernel, simt.subgroup_size = 32 : i32} {
  func.return
}
// CHECK: error: func.func: expected a subgroup size of 8, which lavapipe has, got 32

// -----

func.func @too_many() attributes {simt.kernel, simt.work_group_size = array<i32: 2048>} {
  func.return
}
// CHECK: error: func.func: expected a work-group of at most 1024 work-items

// -----

func.func @too_much_memory() attributes {simt.kernel} {
  %m = memref.alloca() : memref<16385xf16, #simt.memory<workgroup>>
  func.return
}
// CHECK: error: func.func: expected at most 32768 bytes of work-group memory, which lavapipe has, got 32770

// -----

func.func @argument(%v: vector<4xf32>) attributes {simt.kernel} {
  func.return
}
// CHECK: error: func.func: expected index, or numbers or memrefs of i1, i8, i16, i32, i64, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, f32, f64, got vector<4xf32>

// -----

func.func @elements_of_argument(%m: memref<4xindex>) attributes {simt.kernel} {
  func.return
}
// CHECK: error: func.func: expected index, or numbers or memrefs of i1, i8, i16, i32, i64, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, f32, f64, got memref<4xindex>

// -----

func.func @in_work_group_memory(%m: memref<4xf32, #simt.memory<workgroup>>) attributes {simt.kernel} {
  func.return
}
// CHECK: error: func.func: expected m to be in global memory, got #simt.memory<workgroup>: other memory is allocated in the kernel

// -----

func.func @operation_of_no_dialect(%a: memref<4xf32>) attributes {simt.kernel} {
  // CHECK: error: {{.*}}SPIR-V emission has no form of company.special
  "company.special"(%a) : (memref<4xf32>) -> ()
  func.return
}

// -----

func.func @unknown_operation(%a: memref<4xf32>) attributes {simt.kernel} {
  // CHECK: :{{[0-9]+}}:3: error: memref.copy: SPIR-V emission has no form of memref.copy
  "memref.copy"(%a, %a) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

// -----

func.func @heap() attributes {simt.kernel} {
  // CHECK: :{{[0-9]+}}:3: error: memref.alloc: there is no heap: allocate with memref.alloca
  %m = memref.alloc() : memref<4xf32>
  func.return
}

// -----

func.func @odd_integer(%n: i32) attributes {simt.kernel} {
  // CHECK: :{{[0-9]+}}:3: error: arith.trunci: expected integers of 1, 8, 16, 32, 64 bits, got i7
  %m = arith.trunci %n : i32 to i7
  func.return
}

// -----

func.func @constant_too_wide() attributes {simt.kernel} {
  // CHECK: :{{[0-9]+}}:3: error: arith.constant: expected a constant of at most 32 bits, got 4294967296
  %m = arith.constant 4294967296 : index
  func.return
}

// -----

func.func @wide_function(%x: f64) attributes {simt.kernel} {
  // CHECK: :{{[0-9]+}}:3: error: math.exp: GLSL.std.450 has exp of f16 and f32, got f64
  %y = math.exp %x : f64
  func.return
}

// -----

func.func @two_buffers(%a: memref<4xf32>, %b: memref<4xf32>, %c: i1) attributes {simt.kernel} {
  // CHECK: :{{[0-9]+}}:3: error: scf.if: expected memrefs of one buffer, whose address is known, got a and b
  %m = scf.if %c -> (memref<4xf32>) {
    scf.yield %a : memref<4xf32>
  } else {
    scf.yield %b : memref<4xf32>
  }
  func.return
}

// -----

func.func @dimension(%a: memref<?x?xf32>, %i: index) attributes {simt.kernel} {
  // CHECK: :{{[0-9]+}}:3: error: memref.dim: expected a constant dimension, got one that varies
  %n = memref.dim %a, %i : memref<?x?xf32>
  func.return
}

// -----

func.func @recursion(%n: i32) attributes {simt.kernel} {
  func.call @again(%n) : (i32) -> ()
  func.return
}
func.func @again(%n: i32) {
  // CHECK: :{{[0-9]+}}:3: error: func.call: recursion is not supported by SPIR-V: @again calls itself
  func.call @again(%n) : (i32) -> ()
  func.return
}

// -----

func.func private @elsewhere(i32)
func.func @no_body(%n: i32) attributes {simt.kernel} {
  // CHECK: :{{[0-9]+}}:3: error: func.call: expected a function @elsewhere with a body in the module
  func.call @elsewhere(%n) : (i32) -> ()
  func.return
}

// -----

func.func @unroll(%n: index) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: :{{[0-9]+}}:3: error: scf.for: expected simt.unroll to be true or false, got 4 : i64
  scf.for %i = %c0 to %n step %c1 {
  } {simt.unroll = 4 : i64}
  func.return
}

// -----

func.func @beyond(%a: memref<4xf32>) attributes {simt.kernel} {
  %c4 = arith.constant 4 : index
  %v = vector.load %a[%c4] : memref<4xf32>, vector<4xf32>
  // CHECK: error: vector.extract: expected a position below 4, got 4
  %y = vector.extract %v[%c4] : f32 from vector<4xf32>
  func.return
}
