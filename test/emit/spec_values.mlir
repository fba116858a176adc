// RUN: coopc-opt %s -t 'spirv{device=nvidia}' | filecheck %s
// RUN: coopc-opt %s -t 'abi-json{device=nvidia}' | filecheck %s --check-prefix ABI
// RUN: coopc-opt %s -t 'spirv{device=intel-cpu}' | filecheck %s --check-prefix OPENCL
// VALID: nvidia intel-cpu

// Work-group memory whose sizes are set when the module is loaded: the length of its array is a
// product of constants; by default it is what the interface says.

// CHECK:     %[[TWO:.*]] = OpConstant %uint 2
// CHECK:     %[[ROWS:.*]] = OpSpecConstantOp %uint IMul %[[TWO]] %M
// CHECK:     %[[ALL:.*]] = OpSpecConstantOp %uint IMul %[[ROWS]] %N
// CHECK:     OpTypeArray %float %[[ALL]]
// CHECK:     OpULessThan %bool %{{.*}} %M

// OPENCL: OpTypeArray %float
// OPENCL: OpUConvert %ulong %M

// ABI: "work_group_memory_bytes": 280,
// ABI:      "name": "N"
// ABI:      "equal_to": [
// ABI-NEXT:   "M",
// ABI-NEXT:   7
// ABI:      "multiple_of": 7

coopmatrix.spec_constant @M = 5 : i32
coopmatrix.spec_constant @N = 7 : i32 {equal_to = [@M, 7 : i32], multiple_of = 7 : i32}
func.func @k(%o: memref<64xf32>) attributes {simt.kernel} {
  %m = coopmatrix.spec_value @M
  %n = coopmatrix.spec_value @N
  %s = memref.alloca(%m, %n) : memref<2x?x?xf32, #simt.memory<workgroup>>
  %lane = simt.lane_id : index
  %0 = arith.constant 0 : index
  %inside = arith.cmpi ult, %lane, %m : index
  scf.if %inside {
    %x = memref.load %o[%lane] : memref<64xf32>
    memref.store %x, %s[%0, %lane, %0] : memref<2x?x?xf32, #simt.memory<workgroup>>
  }
  func.return
}
