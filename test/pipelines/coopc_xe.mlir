// RUN: coopc-opt %root/test/inputs/ttgir/gemm_axb_32x32.ttgir -p 'coopc-xe{device=bmg}' | filecheck %s
// RUN: coopc-opt --help coopc-xe | filecheck %s --check-prefix STEPS

// A tensor load is a message with a result for each operand of DPAS, x and y come from
// the index and the number of the subgroup, and nothing is computed in the loop.

// STEPS: coopc-xe
// STEPS: Steps
// STEPS: check-dominance
// STEPS-NEXT: check-bounds
// STEPS-NEXT: check-uniformity
// STEPS-NEXT: narrow-matrix-scope
// STEPS-NEXT: set-target
// STEPS-NEXT: inline-calls
// STEPS-NEXT: unroll-loops
// STEPS-NEXT: lift-memrefs-to-tensors
// STEPS-NEXT: generalize-linalg
// STEPS-NEXT: split-zero-points
// STEPS-NEXT: transpose-operands{static-rows=true}
// STEPS-NEXT: collapse-linalg
// STEPS-NEXT: fuse-linalg
// STEPS-NEXT: split-reductions
// STEPS-NEXT: outline-linalg-kernels
// STEPS-NEXT: convert-attention-to-coopmatrix
// STEPS-NEXT: convert-convolution-to-coopmatrix
// STEPS-NEXT: convert-linalg-to-coopmatrix
// STEPS-NEXT: convert-linalg-to-simt
// STEPS-NEXT: promote-matrix-arrays
// STEPS-NEXT: expand-nibbles{dpas=true}
// STEPS-NEXT: inline-calls
// STEPS-NEXT: expand-tt-math
// STEPS-NEXT: assign-tt-layouts
// STEPS-NEXT: unwrap-tt-offsets
// STEPS-NEXT: convert-tt-pointers-to-descriptors{known=true}
// STEPS-NEXT: convert-tt-to-coopmatrix{tile=16,16,32 rounds=true dpas=true}
// STEPS-NEXT: share-workgroup-memory
// STEPS-NEXT: distribute-coopmatrix{stated=true}
// STEPS-NEXT: unwrap-tt-offsets
// STEPS-NEXT: convert-tt-pointers-to-descriptors
// STEPS-NEXT: normalize-tt-descriptors
// STEPS-NEXT: prefetch-block-io
// STEPS-NEXT: plan-block-io
// STEPS-NEXT: convert-ttgir-to-xe
// STEPS-NEXT: convert-coopmatrix-to-xe
// STEPS-NEXT: expand-exchanges
// STEPS-NEXT: normalize
// STEPS-NEXT: check-lowered

// CHECK: simt.target = #simt.target<opencl, bmg>
// CHECK: func.func @gemm_axb_32x32(%a: memref<f16>, %b: memref<f16>, %c: memref<f32>, %m: i32, %n: i32, %k: i32) attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 512>, simt.conditions = [{what = "address", argument = 0 : i64, multiple_of = 64 : i64, why = "base of a surface"}, {{.*}}{what = "value", argument = 5 : i64, multiple_of = 8 : i64, at_least = 32 : i64, less_than = 8388608 : i64, why = "width of a surface"}]} {
// CHECK: [[M:%.+]] = arith.shrui %subgroup, %c2 : i32
// CHECK: [[ROW:%.+]] = arith.shli [[M]], %c5 : i32
// CHECK: [[Y:%.+]] = arith.addi %row, [[ROW]] : i32
// CHECK: [[N:%.+]] = arith.andi %subgroup, %c3 : i32
// CHECK: [[COL:%.+]] = arith.shli [[N]], %c5 : i32
// CHECK: [[X:%.+]] = arith.addi %col, [[COL]] : i32
// CHECK: [[PITCH_A:%.+]] = arith.muli %k, %c2 : i32
// CHECK: [[PITCH_B:%.+]] = arith.muli %n, %c2 : i32
// CHECK: scf.for %step =
// CHECK-NEXT: xe.block_load_2d %a[%step, [[Y]]] surface([[PITCH_A]], %m, [[PITCH_A]]) block <16, 32x16x2>
// CHECK-NEXT: xe.block_load_2d %b[[[X]], %step] surface([[PITCH_B]], %k, [[PITCH_B]]) block <16, 32x16x2, transform>
// CHECK-NEXT: xe.dpas f16 x f16 repeat 8
// CHECK-NOT: tt.
// CHECK: xe.block_store_2d
