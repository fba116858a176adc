// RUN: coopc-opt %s --split-input-file --verify-diagnostics -p promote-matrix-arrays 2>&1 | filecheck %s

func.func @long() {
  // CHECK: memref.alloca: expected at most 64 matrices in an array, got memref<65x!coopmatrix.matrix<8x8xf32, acc>>
  %t = memref.alloca() : memref<65x!coopmatrix.matrix<8x8xf32, acc>>
  func.return
}

// -----

func.func @passed() {
  %t = memref.alloca() : memref<2x!coopmatrix.matrix<8x8xf32, acc>>
  // CHECK: memref.cast: expected a matrix of memref<2x!coopmatrix.matrix<8x8xf32, acc>> to be loaded or stored, as no array of matrices has an address
  %u = memref.cast %t : memref<2x!coopmatrix.matrix<8x8xf32, acc>> to memref<?x!coopmatrix.matrix<8x8xf32, acc>>
  func.return
}

// -----

func.func @beyond(%x: !coopmatrix.matrix<8x8xf32, acc>) {
  %2 = arith.constant 2 : index
  %t = memref.alloca() : memref<2x!coopmatrix.matrix<8x8xf32, acc>>
  // CHECK: memref.store: expected an index below 2, got 2
  memref.store %x, %t[%2] : memref<2x!coopmatrix.matrix<8x8xf32, acc>>
  func.return
}

// -----

func.func @loop(%x: !coopmatrix.matrix<8x8xf32, acc>) {
  %0 = arith.constant 0 : index
  %t = memref.alloca() : memref<2x!coopmatrix.matrix<8x8xf32, acc>>
  // CHECK: scf.execute_region: scf.execute_region around arrays of matrices is not supported
  scf.execute_region {
    memref.store %x, %t[%0] : memref<2x!coopmatrix.matrix<8x8xf32, acc>>
    scf.yield
  }
  func.return
}
