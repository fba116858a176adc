// RUN: coopc-opt %s --split-input-file --verify-diagnostics -t 'spirv{device=nvidia}' | filecheck %s

func.func @shared(%n: index) attributes {simt.kernel} {
  // CHECK: error: memref.alloca: expected constant sizes, or such as coopmatrix.spec_value gives, got %n
  %s = memref.alloca(%n) : memref<?xf32, #simt.memory<workgroup>>
  func.return
}

// -----

func.func @private(%n: index) attributes {simt.kernel} {
  // CHECK: error: memref.alloca: expected constant sizes, or such as coopmatrix.spec_value gives, got memref<?xf32, #simt.memory<private>>
  %s = memref.alloca(%n) : memref<?xf32, #simt.memory<private>>
  func.return
}
