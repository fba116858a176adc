// RUN: coopc-opt %s -p coopc-amx | filecheck %s
// RUN: xdsl-opt %s -p coopc-amx | filecheck %s
// RUN: coopc-opt %s -p coopc-amx -t 'llvm-ir{device=amx}' | filecheck %s --check-prefix LLVM
// RUN: coopc-opt %s -p coopc-cpu | filecheck %s --check-prefix CPU
// RUN: coopc-opt --help coopc-amx | filecheck %s --check-prefix STEPS

// The whole way to a processor: work-items are vectors, matrices tiles, the grid a loop.

// STEPS:      coopc-amx
// STEPS: Steps
// STEPS:      check-uniformity
// STEPS-NEXT: narrow-matrix-scope
// STEPS-NEXT: inline-calls
// STEPS-NEXT: expand-tt-math
// STEPS-NEXT: convert-tt-to-coopmatrix{device="amx" tile=32,32,32}
// STEPS-NEXT: share-workgroup-memory
// STEPS-NEXT: inline-calls
// STEPS-NEXT: unroll-loops
// STEPS-NEXT: lift-memrefs-to-tensors
// STEPS-NEXT: generalize-linalg
// STEPS-NEXT: split-zero-points
// STEPS-NEXT: transpose-operands{device="amx" every=true}
// STEPS-NEXT: collapse-linalg
// STEPS-NEXT: fuse-linalg
// STEPS-NEXT: split-reductions{parts=64 least=1048576 dynamic=false}
// STEPS-NEXT: outline-linalg-kernels{sequence=false scores=67108864 long-rows=1048576}
// STEPS-NEXT: convert-attention-to-coopmatrix{device="amx"}
// STEPS-NEXT: convert-convolution-to-coopmatrix{device="amx"}
// STEPS-NEXT: tile-matmul-amx
// STEPS-NEXT: tile-matmul-cpu{amx=false}
// STEPS-NEXT: convert-linalg-to-coopmatrix{tile=32,32,64 amx=true}
// STEPS-NEXT: convert-linalg-to-simt{device="amx"}
// STEPS-NEXT: promote-matrix-arrays
// STEPS-NEXT: expand-nibbles
// STEPS-NEXT: inline-calls{matrices=true}
// STEPS-NEXT: pack-b-amx
// STEPS-NEXT: infer-kernel-sizes
// STEPS-NEXT: canonicalize
// STEPS-NEXT: resolve-matrix-fill
// STEPS-NEXT: resolve-matrix-wi-slice
// STEPS-NEXT: vectorize-subgroup{whole-groups=true streamed=8388608}
// STEPS-NEXT: resolve-subgroup-wi-call
// STEPS-NEXT: canonicalize
// STEPS-NEXT: distribute-coopmatrix{subgroup-size=1 max-vector=16 block-access=false stated=true}
// STEPS-NEXT: convert-coopmatrix-to-amx
// STEPS-NEXT: normalize
// STEPS-NEXT: fit-amx-tiles
// STEPS-NEXT: convert-simt-to-loops
// STEPS-NEXT: check-lowered
// STEPS-NOT: {{[a-z]}}

// The 4 x 5 matrix over four lanes: five full row slices, no masks.
// CHECK-LABEL: func.func @scale(%m: memref<4x5xi32>, %alpha: i32, %groups_x: index, %groups_y: index, %groups_z: index, %first: index, %last: index) {
// CHECK:         %scratch = memref.alloca() {alignment = 64 : i64} : memref<4x5xi32>
// CHECK:         scf.for %group = %first to %last step %c1 {
// CHECK:           %x = amx.tile_load %m
// CHECK:           amx.tile_store %scratch[{{.*}}], %x
// CHECK:           [[ALPHA:%.*]] = vector.broadcast %alpha : i32 to vector<4xi32>
// CHECK-NEXT:      scf.for %i = %{{.*}} to %n step
// CHECK:             vector.maskedload
// CHECK-NEXT:        arith.muli {{.*}}, [[ALPHA]] : vector<4xi32>
// CHECK:             vector.maskedstore
// CHECK:           amx.tile_load %scratch
// CHECK:           amx.tile_store %m
// LLVM-LABEL:  define void @scale(ptr %m, i32 %alpha, i64 %groups_x, i64 %groups_y, i64 %groups_z, i64 %first, i64 %last)
// LLVM-SAME:   "target-features"="+amx-tile"
// LLVM:        call x86_amx @llvm.x86.tileloadd64.internal(i16 4, i16 20,
// CPU-LABEL:   func.func @scale(
// CPU-NOT:     amx.
func.func @scale(%m: memref<4x5xi32>, %alpha: i32) attributes {simt.kernel, simt.subgroup_size = 4 : i32} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = coopmatrix.load %m[%c0, %c0] row_major : memref<4x5xi32> -> !coopmatrix.matrix<4x5xi32, none>
  %n = coopmatrix.length !coopmatrix.matrix<4x5xi32, none> : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%it = %x) -> (!coopmatrix.matrix<4x5xi32, none>) {
    %e = coopmatrix.extract %it[%i] : !coopmatrix.matrix<4x5xi32, none>
    %s = arith.muli %e, %alpha : i32
    %next = coopmatrix.insert %s, %it[%i] : !coopmatrix.matrix<4x5xi32, none>
    scf.yield %next : !coopmatrix.matrix<4x5xi32, none>
  }
  coopmatrix.store %r, %m[%c0, %c0] row_major : !coopmatrix.matrix<4x5xi32, none>, memref<4x5xi32>
  func.return
}
