// RUN: coopc-opt %s -p check-bounds --split-input-file --verify-diagnostics | filecheck %s
// RUN: coopc-opt %s -t 'spirv{device=lavapipe}' --split-input-file --verify-diagnostics | filecheck %s
// RUN: coopc-opt %s -t 'llvm-ir{device=bmg}' --split-input-file --verify-diagnostics | filecheck %s

// Emission checks what the pass does.

func.func @element(%v : memref<8xf32>) attributes {simt.kernel} {
  %c8 = arith.constant 8 : index
  // CHECK: :10:3: error: memref.load: position 0 is out of bounds: expected 0 to 7 in memref<8xf32>, got 8
  %a = memref.load %v[%c8] : memref<8xf32>
  func.return
}

// -----

func.func @negative(%v : memref<8x8xf32>, %x : f32) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant -1 : index
  // CHECK: error: memref.store: position 1 is out of bounds: expected 0 to 7 in memref<8x8xf32>, got -1
  memref.store %x, %v[%c0, %c1] : memref<8x8xf32>
  func.return
}

// -----

func.func @tail(%v : memref<8xf32>) attributes {simt.kernel} {
  %c6 = arith.constant 6 : index
  // CHECK: error: vector.load: position 0 is out of bounds: expected 0 to 7 in memref<8xf32>, got 6 to 9
  %a = vector.load %v[%c6] : memref<8xf32>, vector<4xf32>
  func.return
}

// -----

func.func @in_a_loop(%v : memref<8xf32>, %x : f32) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    // CHECK: error: memref.store: position 0 is out of bounds
    memref.store %x, %v[%c8] : memref<8xf32>
  }
  func.return
}
