// RUN: coopc-opt %s -p infer-kernel-sizes | filecheck %s
// RUN: not coopc-opt %s -p 'infer-kernel-sizes{device=tpu}' 2>&1 | filecheck %s --check-prefix DEVICE
// RUN: coopc-opt %s -p 'infer-kernel-sizes{subgroup-size=4}' | filecheck %s --check-prefix FOUR
// RUN: not coopc-opt %s -p 'infer-kernel-sizes{subgroup-size=8}' 2>&1 | filecheck %s --check-prefix SAID
// RUN: not coopc-opt %s -p 'coopc-cpu{subgroup-size=0}' 2>&1 | filecheck %s --check-prefix SIZE
// RUN: not coopc-opt %s -p 'coopc-amx{subgroup-size=-4}' 2>&1 | filecheck %s --check-prefix SIZE
// RUN: not coopc-opt %s -p 'vectorize-subgroup{subgroup-size=24}' 2>&1 | filecheck %s --check-prefix SIZE

// SIZE: pass-pipeline:1:1: error: {{.*}}: expected a subgroup size that is a power of two, got {{0|-4|24}}

// What kernels leave to the device, they say.
// DEVICE: infer-kernel-sizes: unknown device 'tpu' (have {{.*}}amx{{.*}})

// Matrices: the device's subgroup, and one of them.
// CHECK: func.func @matrix() attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 16, 1, 1>}
// FOUR:  func.func @matrix() attributes {simt.kernel, simt.subgroup_size = 4 : i32, simt.work_group_size = array<i32: 4, 1, 1>}
func.func @matrix() attributes {simt.kernel} {
  %z = arith.constant 0.0 : f32
  %m = coopmatrix.fill %z : f32 -> !coopmatrix.matrix<4x4xf32, acc>
  func.return
}

// Nothing of subgroups: as many lanes as the work-items fill.
// CHECK: func.func @plain() attributes {simt.kernel, simt.work_group_size = array<i32: 24, 1, 1>, simt.subgroup_size = 8 : i32}
// FOUR:  func.func @plain() attributes {simt.kernel, simt.work_group_size = array<i32: 24, 1, 1>, simt.subgroup_size = 4 : i32}
func.func @plain() attributes {simt.kernel, simt.work_group_size = array<i32: 24>} {
  func.return
}

// What is said stays.
// CHECK: func.func @said() attributes {simt.kernel, simt.subgroup_size = 4 : i32, simt.work_group_size = array<i32: 4, 1, 1>}
// SAID:  error: func.func: expected a kernel of 8 lanes, as subgroup-size says, got simt.subgroup_size = 4
func.func @said() attributes {simt.kernel, simt.subgroup_size = 4 : i32} {
  func.return
}

// One lane, as of kernels that pack B, is no subgroup: any other size is for the others.
// FOUR:  func.func @alone() attributes {simt.kernel, simt.subgroup_size = 1 : i32, simt.work_group_size = array<i32: 1, 1, 1>}
func.func @alone() attributes {simt.kernel, simt.subgroup_size = 1 : i32} {
  func.return
}
