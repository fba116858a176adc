// REQUIRES: spirv-val
// RUN: coopc-opt %root/test/inputs/ttgir/gemm_axb_32x32.ttgir -p 'coopc-xe{device=bmg emulate=true}' | filecheck %s
// RUN: coopc-opt %root/test/inputs/ttgir/gemm_axb_32x32.ttgir -p 'coopc-xe{device=bmg emulate=true}' -t spirv-binary -o %t.spv
// RUN: spirv-val --target-env spv1.4 %t.spv

// The plan, the positions and the operands are those of the device; each message is the
// calls for its pieces, and the module is for a CPU.

// CHECK: simt.target = #simt.target<opencl, intel-cpu>
// CHECK: func.func @gemm_axb_32x32(%a: memref<f16>, %b: memref<f16>, %c: memref<f32>, %m: i32, %n: i32, %k: i32) attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 512>,
// CHECK: [[Y:%.+]] = arith.addi %row, {{%.+}} : i32
// CHECK: [[X:%.+]] = arith.addi %col, {{%.+}} : i32
// CHECK: [[PITCH_A:%.+]] = arith.muli %k, %c2 : i32
// CHECK: [[PITCH_B:%.+]] = arith.muli %n, %c2 : i32
// CHECK: [[S0:%.+]] = arith.constant 0 : index
// CHECK: [[S24:%.+]] = arith.constant 24 : index
// CHECK: [[S56:%.+]] = arith.constant 56 : index
// CHECK: scf.for %step =

// Eight pieces of one message of A, from slots 0, 8, .. 56 on; four of B.  Before each
// product a barrier keeps lanes together (converge-subgroup).

// CHECK: %a_tile_p0 = func.call @xe_load_16_32x16x2_plain_8xi16_of_8(%a, %step, [[Y]], [[PITCH_A]], %m, [[PITCH_A]], [[S0]])
// CHECK: %a_tile_p7 = func.call @xe_load_16_32x16x2_plain_8xi16_of_8(%a, %step, [[Y]], [[PITCH_A]], %m, [[PITCH_A]], [[S56]])
// CHECK: %b_tile_p0 = func.call @xe_load_16_32x16x2_transform_8xi32_of_4(%b, [[X]], %step, [[PITCH_B]], %k, [[PITCH_B]], [[S0]])
// CHECK: %b_tile_p3 = func.call @xe_load_16_32x16x2_transform_8xi32_of_4(%b, [[X]], %step, [[PITCH_B]], %k, [[PITCH_B]], [[S24]])
// CHECK-NEXT: simt.barrier subgroup
// CHECK-NEXT: func.call @xe_dpas_f16_f16_f32_repeat_8_lanes_16(%a_tile_p0, %b_tile_p0, %acc_p0)
// CHECK-COUNT-15: func.call @xe_dpas_f16_f16_f32_repeat_8_lanes_16
// CHECK-NOT: func.call @xe_dpas
// CHECK: scf.yield
// CHECK-COUNT-8: func.call @xe_store_32_8x16x1_plain_8xi32_of_1

// One function for each operation and shape, and nothing of the hardware.

// CHECK: func.return
// CHECK: func.func private @xe_load_16_32x16x2_plain_8xi16_of_8
// CHECK: func.func private @xe_load_16_32x16x2_transform_8xi32_of_4
// CHECK: func.func private @xe_dpas_f16_f16_f32_repeat_8_lanes_16
// CHECK: func.func private @xe_store_32_8x16x1_plain_8xi32_of_1
// CHECK-NOT: func.func
// CHECK-NOT: = xe.

// In SPIR-V they stay functions: a run-time that inlined each call would take minutes.

// RUN: coopc-opt %root/test/inputs/ttgir/gemm_axb_32x32.ttgir -p 'coopc-xe{device=bmg emulate=true}' -t spirv | filecheck %s --check-prefix SPIRV
// SPIRV: %gemm_axb_32x32 = OpFunction %void None
// SPIRV: %xe_load_16_32x16x2_plain_8xi16_of_8 = OpFunction %v8ushort DontInline
// SPIRV: %xe_dpas_f16_f16_f32_repeat_8_lanes_16 = OpFunction %v8float DontInline

// The plans are a device's: one with DPAS.

// RUN: not coopc-opt %s -p 'coopc-xe{device=lavapipe emulate=true}' 2>&1 | filecheck %s --check-prefix LAVAPIPE
// RUN: not coopc-opt %s -p 'coopc-xe{device=intel-cpu emulate=true}' 2>&1 | filecheck %s --check-prefix CPU
// RUN: not coopc-opt %root/test/inputs/ttgir/gemm_axb.ttgir -p 'coopc-xe{emulate=true}' 2>&1 | filecheck %s --check-prefix NONE
// LAVAPIPE: coopc-xe: expected a device with DPAS, dg2, pvc, bmg, lnl or ptl, got lavapipe
// CPU: coopc-xe: expected a device with DPAS, dg2, pvc, bmg, lnl or ptl, got intel-cpu
// NONE: expected a device, coopc-xe{device=..}, or simt.target on the module, got neither
