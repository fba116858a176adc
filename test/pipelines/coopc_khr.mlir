// RUN: coopc-opt %s -p 'coopc-khr{device=lavapipe}' | filecheck %s
// RUN: xdsl-opt %s -p 'coopc-khr{device=lavapipe}' | filecheck %s
// RUN: coopc-opt --help coopc-khr | filecheck %s --check-prefix STEPS

// RUN: coopc-opt %s -p 'coopc-khr{device=lavapipe staged=true}' | filecheck %s --check-prefix STAGED

// All matrices of one multiplication end in the device's shapes.

// STEPS: coopc-khr
// STEPS: Steps
// STEPS: check-dominance
// STEPS-NEXT: check-bounds
// STEPS-NEXT: check-uniformity
// STEPS-NEXT: narrow-matrix-scope
// STEPS-NEXT: set-target
// STEPS-NEXT: inline-calls
// STEPS-NEXT: expand-tt-math
// STEPS-NEXT: unwrap-tt-offsets
// STEPS-NEXT: convert-tt-pointers-to-descriptors{known=true}
// STEPS-NEXT: convert-tt-to-coopmatrix{tile=16,16,32 rounds=true}
// STEPS-NEXT: share-workgroup-memory
// STEPS-NEXT: inline-calls
// STEPS-NEXT: unroll-loops
// STEPS-NEXT: lift-memrefs-to-tensors
// STEPS-NEXT: generalize-linalg
// STEPS-NEXT: split-zero-points
// STEPS-NEXT: transpose-operands
// STEPS-NEXT: collapse-linalg
// STEPS-NEXT: fuse-linalg
// STEPS-NEXT: split-reductions
// STEPS-NEXT: outline-linalg-kernels
// STEPS-NEXT: convert-attention-to-coopmatrix
// STEPS-NEXT: convert-convolution-to-coopmatrix
// STEPS-NEXT: tile-matmul-khr{remark=true}
// STEPS-NEXT: convert-linalg-to-coopmatrix
// STEPS-NEXT: convert-linalg-to-simt
// STEPS-NEXT: promote-matrix-arrays
// STEPS-NEXT: expand-nibbles
// STEPS-NEXT: widen-products
// STEPS-NEXT: canonicalize
// STEPS-NEXT: distribute-unsupported
// STEPS-NEXT: legalize-coopmatrix-khr{only="products"}
// STEPS-NEXT: split-coopmatrix{by-lanes=true}
// STEPS-NEXT: pack-coopmatrix-b
// STEPS-NEXT: legalize-coopmatrix-khr
// STEPS-NEXT: normalize
// STEPS-NEXT: check-lowered{matrices=true}

// CHECK: simt.target = #simt.target<vulkan, lavapipe>
// CHECK: func.func @multiply
func.func @multiply(%m : memref<8x16xf16>, %n : memref<16x8xf16>, %p : memref<8x8xf32>)
    attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: coopmatrix.load {{.*}} -> !coopmatrix.matrix<8x8xf16, a>
  // CHECK: coopmatrix.load {{.*}} -> !coopmatrix.matrix<8x8xf16, a>
  %a = coopmatrix.load %m[%c0, %c0] row_major : memref<8x16xf16> -> !coopmatrix.matrix<8x16xf16, a>
  // CHECK: coopmatrix.load {{.*}} -> !coopmatrix.matrix<8x8xf16, b>
  // CHECK: coopmatrix.load {{.*}} -> !coopmatrix.matrix<8x8xf16, b>
  %b = coopmatrix.load %n[%c0, %c0] row_major : memref<16x8xf16> -> !coopmatrix.matrix<16x8xf16, b>
  %c = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<8x8xf32, acc>
  // CHECK: coopmatrix.mul_add
  // CHECK: coopmatrix.mul_add
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
  // CHECK: coopmatrix.store
  coopmatrix.store %d, %p[%c0, %c0] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}

// With staged, tiles of a multiplication go through the memory of the work-group.

// STAGED-LABEL: func.func @whole
// STAGED-SAME:  simt.work_group_size = array<i32: 32, 1, 1>
// STAGED:       memref.alloca() : memref<32x5xvector<4xi32>, #simt.memory<workgroup>>
// STAGED:       coopmatrix.load {{.*}}vector<4xi32>{{.*}} -> !coopmatrix.matrix<8x8xf16, a>
func.func @whole(%a: memref<32x64xf16>, %b: memref<64x32xf16>, %c: memref<32x32xf16>) {
  linalg.matmul ins(%a, %b : memref<32x64xf16>, memref<64x32xf16>) outs(%c : memref<32x32xf16>)
  func.return
}
