// RUN: coopc-opt %s --split-input-file --verify-diagnostics -t 'mlir-spirv{device=lavapipe}' \
// RUN:   | filecheck %s

// What upstream's dialect lacks is refused by its name.

// CHECK: builtin.module: expected what the spirv dialect of LLVM 22 has, got OpAtomicStore
func.func @atomic(%m: memref<?xi32>, %x: i32) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  memref.store %x, %m[%c0] {simt.ordering = "release"} : memref<?xi32>
  func.return
}

// -----

// CHECK: builtin.module: expected what the spirv dialect of LLVM 22 has, got NMax of GLSL.std.450
func.func @nan(%m: memref<?xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.load %m[%c0] : memref<?xf32>
  %y = memref.load %m[%c1] : memref<?xf32>
  %z = arith.maxnumf %x, %y : f32
  memref.store %z, %m[%c0] : memref<?xf32>
  func.return
}

// -----

// CHECK: builtin.module: expected what the spirv dialect of LLVM 22 has, got a specialization constant as the length of an array
coopmatrix.spec_constant @n = 4 : i32

func.func @shared(%m: memref<?xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %n = coopmatrix.spec_value @n
  %s = memref.alloca(%n) : memref<?xf32, #simt.memory<workgroup>>
  %x = memref.load %s[%c0] : memref<?xf32, #simt.memory<workgroup>>
  memref.store %x, %m[%c0] : memref<?xf32>
  func.return
}
