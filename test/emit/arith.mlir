// RUN: coopc-opt %s -t 'spirv{device=lavapipe}' | filecheck %s --check-prefix VULKAN
// RUN: coopc-opt %s -t 'spirv{device=bmg}' | filecheck %s --check-prefix OPENCL
// RUN: coopc-opt %s -t 'spirv{device=intel-cpu}' | filecheck %s --check-prefix CPU
// VALID: lavapipe bmg intel-cpu

// What the flavours say differently of the same arithmetic; what it computes is tested
// by running it (test/unit/emit).

// Floats are strict unless the IR says otherwise.
// VULKAN-DAG: OpExecutionMode %contract SignedZeroInfNanPreserve 32
// VULKAN-DAG: OpDecorate %strict NoContraction
// VULKAN-NOT: OpDecorate %loose NoContraction
// OPENCL-DAG: OpExecutionMode %contract ContractionOff
// OPENCL-DAG: OpDecorate %fast FPFastMathMode Fast
// OPENCL-DAG: OpDecorate %finite FPFastMathMode NotNaN|NotInf
// CPU-DAG: OpExtension "SPV_INTEL_fp_fast_math_mode"
// CPU-DAG: OpDecorate %loose FPFastMathMode AllowContract
func.func @contract(%m: memref<4xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = memref.load %m[%0] : memref<4xf32>
  %strict = arith.mulf %x, %x : f32
  %loose = arith.addf %strict, %x fastmath<contract> : f32
  %fast = arith.divf %loose, %x fastmath<fast> : f32
  %finite = arith.divf %fast, %x fastmath<nnan,ninf> : f32
  memref.store %finite, %m[%0] : memref<4xf32>
  func.return
}

// Overflow that the IR rules out is said.
// VULKAN-DAG: OpDecorate %sum NoSignedWrap
// VULKAN-DAG: OpDecorate %sum NoUnsignedWrap
// OPENCL-DAG: OpDecorate %sum NoSignedWrap
func.func @wrap(%m: memref<4xi32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %n = memref.load %m[%0] : memref<4xi32>
  %sum = arith.addi %n, %n overflow<nsw,nuw> : i32
  memref.store %sum, %m[%0] : memref<4xi32>
  func.return
}

// Vulkan leaves OpSRem of negative numbers open.
// VULKAN-LABEL: %remainder = OpFunction
// VULKAN:       %[[Q:.*]] = OpSDiv %uint %num %den
// VULKAN-NEXT:  %[[W:.*]] = OpIMul %uint %[[Q]] %den
// VULKAN-NEXT:  %rest = OpISub %uint %num %[[W]]
// OPENCL-LABEL: %remainder = OpFunction
// OPENCL:       %rest = OpSRem %uint %num %den
func.func @remainder(%m: memref<4xi32>, %num: i32, %den: i32) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %rest = arith.remsi %num, %den : i32
  memref.store %rest, %m[%0] : memref<4xi32>
  func.return
}

// An index has 32 bits, or 64: a cast to i32 is nothing, or a conversion.
// VULKAN-LABEL: %casts = OpFunction
// VULKAN:       OpStore %{{[0-9]+}} %at
// OPENCL-LABEL: %casts = OpFunction
// OPENCL:       %low = OpSConvert %uint %at
func.func @casts(%m: memref<4xi32>, %at: index) attributes {simt.kernel} {
  %low = arith.index_cast %at : index to i32
  memref.store %low, %m[%at] : memref<4xi32>
  func.return
}

// Vectors are cut into what the flavour has.
// VULKAN-LABEL: %wide = OpFunction
// VULKAN:       %s_0 = OpFAdd %v4float
// VULKAN-NEXT:  %s_1 = OpFAdd %v3float
// OPENCL-LABEL: %wide = OpFunction
// OPENCL:       %s_0 = OpFAdd %v4float
// OPENCL-NEXT:  %s_1 = OpFAdd %v3float
// OPENCL:       %t = OpFMul %v16float
func.func @wide(%m: memref<16xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %v = vector.load %m[%0] : memref<16xf32>, vector<7xf32>
  %s = arith.addf %v, %v : vector<7xf32>
  %w = vector.load %m[%0] : memref<16xf32>, vector<16xf32>
  %t = arith.mulf %w, %w : vector<16xf32>
  vector.store %t, %m[%0] : memref<16xf32>, vector<16xf32>
  func.return
}
