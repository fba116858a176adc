// RUN: coopc-opt %s -t 'spirv{device=bmg}' 2>&1 | filecheck %s
// RUN: coopc-opt %s -t 'llvm-ir{device=bmg}' 2>&1 | filecheck %s --check-prefix LLVM

// Functions that no kernel calls are not emitted, which a remark says, but of private ones.

// CHECK: {{.*}}left_out.mlir:13:1: remark: func.func: not emitted: it is not a kernel, and no kernel calls it
// CHECK-NOT: remark
// CHECK: OpEntryPoint Kernel %k "k"
// LLVM: {{.*}}left_out.mlir:13:1: remark: func.func: not emitted: it is not a kernel, and no kernel calls it
// LLVM-NOT: remark
// LLVM: define spir_kernel void @k

func.func @host(%x: memref<4xi32>, %n: i32) {
  %c0 = arith.constant 0 : index
  memref.store %n, %x[%c0] : memref<4xi32>
  func.return
}

func.func private @unused(%n: i32) -> i32 {
  func.return %n : i32
}

func.func @called(%n: i32) -> i32 {
  %m = arith.addi %n, %n : i32
  func.return %m : i32
}

func.func @k(%x: memref<4xi32>, %n: i32) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %m = func.call @called(%n) : (i32) -> i32
  memref.store %m, %x[%c0] : memref<4xi32>
  func.return
}
