// RUN: coopc-opt %s -t 'spirv{device=nvidia}' | filecheck %s --check-prefix KHR
// RUN: coopc-opt %s -t 'spirv{device=bmg}' | filecheck %s --check-prefix INTEL
// RUN: coopc-opt %s -t 'spirv{device=intel-cpu}' | filecheck %s --check-prefix CPU
// VALID: nvidia bmg

// bf16 is a type of SPV_KHR_bfloat16, or 16 bits that Intel converts; it is computed in
// f32 and rounded. Intel's compiler for processors takes long for its conversions:
// integer arithmetic does the same.

// KHR:   OpExtension "SPV_KHR_bfloat16"
// KHR:   %bfloat16 = OpTypeFloat 16 BFloat16KHR
// INTEL: OpExtension "SPV_INTEL_bfloat16_conversion"
module {
// KHR:        %[[X:.*]] = OpFConvert %float %x
// KHR:        %[[SUM:.*]] = OpFAdd %float %[[X]] %{{.*}}
// KHR-NEXT:   %y = OpFConvert %bfloat16 %[[SUM]]
// INTEL:      %[[X:.*]] = OpConvertBF16ToFINTEL %float %x
// INTEL:      %[[SUM:.*]] = OpFAdd %float
// INTEL-NEXT: %y = OpConvertFToBF16INTEL %ushort %[[SUM]]
// INTEL:      %bits = OpBitwiseAnd %ushort %y
// CPU-NOT:    INTEL
// CPU:        OpShiftLeftLogical %uint
// CPU:        %[[SUM:.*]] = OpFAdd %float
// CPU:        OpShiftRightLogical %uint
// CPU-NOT:    INTEL
func.func @k(%m: memref<4xbf16>, %r: memref<4xi16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %c = arith.constant 1.0 : bf16
  %x = memref.load %m[%0] : memref<4xbf16>
  %y = arith.addf %x, %x : bf16
  %b = arith.bitcast %y : bf16 to i16
  %bits = arith.andi %b, %b : i16
  memref.store %bits, %r[%0] : memref<4xi16>
  memref.store %c, %m[%0] : memref<4xbf16>
  func.return
}
}
