// RUN: coopc-opt %s -t 'spirv{device=rdna4}' | filecheck %s --check-prefix EXT
// RUN: coopc-opt %s -t 'spirv{device=nvidia}' | filecheck %s --check-prefix BYTE
// VALID: rdna4 nvidia

// f8 is a type of SPV_EXT_float8, or a byte.

// EXT:      OpCapability Float8EXT
// EXT-NOT:  OpCapability Float8CooperativeMatrixEXT
// EXT:      OpExtension "SPV_EXT_float8"
// EXT:      %float8e4m3 = OpTypeFloat 8 Float8E4M3EXT
// EXT:      OpConstant %float8e4m3 1.75
// BYTE-NOT: SPV_EXT_float8
module {
// EXT:       OpFConvert %half %{{.*}}
// EXT:       OpBitcast %float8e4m3 %{{.*}}
// BYTE-NOT:  OpFConvert %half
// BYTE:      OpStore %{{.*}} %uchar_62
func.func @k(%m: memref<4xf8E4M3FN>, %r: memref<4xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %c = arith.constant 1.75 : f8E4M3FN
  %x = memref.load %m[%0] : memref<4xf8E4M3FN>
  %w = arith.extf %x : f8E4M3FN to f32
  memref.store %w, %r[%0] : memref<4xf32>
  %y = arith.addf %x, %x : f8E4M3FN
  memref.store %y, %m[%1] : memref<4xf8E4M3FN>
  memref.store %c, %m[%0] : memref<4xf8E4M3FN>
  func.return
}
}
