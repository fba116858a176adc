// RUN: coopc-opt %s --split-input-file --verify-diagnostics -t spirv | filecheck %s

// What the extension or a device cannot say of matrices, and who may help.

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @strides(%m: memref<8x8xf32, strided<[16, 2]>>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  // CHECK: :{{[0-9]+}}:3: error: coopmatrix.load: expected a memref of which one of the last two strides is 1, the last for packed, as a layout of SPIR-V needs, got memref<8x8xf32, strided<[16, 2]>>
  %a = coopmatrix.load %m[%0, %0] row_major : memref<8x8xf32, strided<[16, 2]>> -> !coopmatrix.matrix<8x8xf32, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @checked(%m: memref<8x8xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  // CHECK: error: coopmatrix.load: expected an access without checks, as lavapipe has none with them: legalize-coopmatrix-khr stages it
  %a = coopmatrix.load %m[%0, %0] row_major checked(rows) : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @use_none(%n: f32) attributes {simt.kernel} {
  // CHECK: error: coopmatrix.fill: expected a matrix of use a, b or acc, which SPIR-V has, got none
  %a = coopmatrix.fill %n : f32 -> !coopmatrix.matrix<8x8xf32, none>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @scope(%n: f32) attributes {simt.kernel} {
  // CHECK: error: coopmatrix.fill: expected a matrix of scope subgroup, which lavapipe has under vulkan, got workgroup
  %a = coopmatrix.fill %n : f32 -> !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @nibbles(%m: i4) attributes {simt.kernel} {
  // CHECK: error: func.func: expected index, or numbers or memrefs of i1, i8, i16, i32, i64, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, f32, f64, got i4
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @not_held(%n: f16) attributes {simt.kernel} {
  // CHECK: error: coopmatrix.fill: lavapipe has no 16 x 16 matrices of f16 as a: split-coopmatrix splits matrices into sizes that the device has, and legalize-coopmatrix-khr keeps others in memory
  %a = coopmatrix.fill %n : f16 -> !coopmatrix.matrix<16x16xf16, a>
  %b = coopmatrix.fill %n : f16 -> !coopmatrix.matrix<16x16xf16, b>
  %c = coopmatrix.fill %n : f16 -> !coopmatrix.matrix<16x16xf16, acc>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<16x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<16x16xf16, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @saturating(%n: i8, %m: i32) attributes {simt.kernel} {
  %a = coopmatrix.fill %n : i8 -> !coopmatrix.matrix<8x8xi8, a>
  %b = coopmatrix.fill %n : i8 -> !coopmatrix.matrix<8x8xi8, b>
  %c = coopmatrix.fill %m : i32 -> !coopmatrix.matrix<8x8xi32, acc>
  // CHECK: error: coopmatrix.mul_add: lavapipe does not multiply u8 * u8 + u32 -> u32, saturating
  %d = coopmatrix.mul_add %a, %b, %c saturating : !coopmatrix.matrix<8x8xi8, a>, !coopmatrix.matrix<8x8xi8, b>, !coopmatrix.matrix<8x8xi32, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @other_use(%n: f16) attributes {simt.kernel} {
  %a = coopmatrix.fill %n : f16 -> !coopmatrix.matrix<8x8xf16, b>
  // CHECK: error: coopmatrix.convert: expected a result of use b, as lavapipe has no conversion from use b to a: legalize-coopmatrix-khr changes uses
  %b = coopmatrix.convert %a : !coopmatrix.matrix<8x8xf16, b> -> !coopmatrix.matrix<8x8xf16, a>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @no_instruction(%n: f16) attributes {simt.kernel} {
  %a = coopmatrix.fill %n : f16 -> !coopmatrix.matrix<8x8xf16, acc>
  // CHECK: error: coopmatrix.max: SPIR-V emission has no form of coopmatrix.max
  %b = coopmatrix.max %a, %a : !coopmatrix.matrix<8x8xf16, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @own_memory() attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %m = memref.alloca() : memref<8x8xf32, #simt.memory<private>>
  // CHECK: error: coopmatrix.load: expected global or work-group memory, got a work-item's own
  %b = coopmatrix.load %m[%0, %0] row_major : memref<8x8xf32, #simt.memory<private>> -> !coopmatrix.matrix<8x8xf32, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<opencl, bmg>} {
func.func @whole_arithmetic(%n: f32) attributes {simt.kernel} {
  %a = coopmatrix.fill %n : f32 -> !coopmatrix.matrix<8x16xf32, acc>
  // CHECK: error: coopmatrix.add: bmg has no arithmetic on whole matrices: legalize-coopmatrix-khr makes it a loop over elements
  %b = coopmatrix.add %a, %a : !coopmatrix.matrix<8x16xf32, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<opencl, intel-cpu>} {
func.func @fills() attributes {simt.kernel} {
  %n = arith.constant 1.0 : f32
  // CHECK: error: coopmatrix.fill: intel-cpu fills matrices with zeros only: legalize-coopmatrix-khr inserts others
  %a = coopmatrix.fill %n : f32 -> !coopmatrix.matrix<8x16xf32, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<opencl, intel-cpu>} {
func.func @layout(%m: memref<16x16xf16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  // CHECK: error: coopmatrix.load: expected a layout in memory that intel-cpu has for b of f16 (packed), got row_major
  %a = coopmatrix.load %m[%0, %0] row_major : memref<16x16xf16> -> !coopmatrix.matrix<16x16xf16, b>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
coopmatrix.spec_constant @U = 0 : i32
func.func @named_use(%n: f16) attributes {simt.kernel} {
  %a = coopmatrix.fill %n : f16 -> !coopmatrix.matrix<8x8xf16, a = @U>
  %b = coopmatrix.fill %n : f16 -> !coopmatrix.matrix<8x8xf16, b>
  %c = coopmatrix.fill %n : f16 -> !coopmatrix.matrix<8x8xf16, acc>
  // CHECK: error: coopmatrix.mul_add: expected known uses in a multiplication, as SPIR-V's validator takes no other, got !coopmatrix.matrix<8x8xf16, a = @U>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x8xf16, a = @U>, !coopmatrix.matrix<8x8xf16, b>, !coopmatrix.matrix<8x8xf16, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
coopmatrix.spec_constant @L = 0 : i32
func.func @named_layout(%m: memref<8x8xf32, strided<[1, 8]>>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  // CHECK: error: coopmatrix.load: expected a memref of which the last stride is 1, as its layout is set later, got memref<8x8xf32, strided<[1, 8]>>
  %a = coopmatrix.load %m[%0, %0] row_major = @L : memref<8x8xf32, strided<[1, 8]>> -> !coopmatrix.matrix<8x8xf32, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<opencl, intel-cpu>} {
coopmatrix.spec_constant @S = 3 : i32
func.func @named_scope() attributes {simt.kernel} {
  %n = arith.constant 0.0 : f32
  // CHECK: error: coopmatrix.fill: intel-cpu takes no specialization constant for the scope of a matrix, got !coopmatrix.matrix<8x16xf32, acc, scope = @S>
  %a = coopmatrix.fill %n : f32 -> !coopmatrix.matrix<8x16xf32, acc, scope = @S>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<opencl, intel-cpu>} {
coopmatrix.spec_constant @L = 0 : i32
func.func @named_layout(%m: memref<8x16xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  // CHECK: error: coopmatrix.load: intel-cpu takes no specialization constant for the layout of a matrix, got @L
  %a = coopmatrix.load %m[%0, %0] row_major = @L : memref<8x16xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @divergent(%a : memref<8x8xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %lane = simt.lane_id : index
  %first = arith.cmpi eq, %lane, %c0 : index
  scf.if %first {
    // CHECK: error: coopmatrix.load: expected control flow that is the same for all lanes of the subgroup, got control flow that may differ between lanes
    %m = coopmatrix.load %a[%c0, %c0] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  }
  func.return
}
}

// -----

module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
func.func @bits_of_floats(%n: f32) attributes {simt.kernel} {
  %a = coopmatrix.fill %n : f32 -> !coopmatrix.matrix<8x8xf32, acc>
  // CHECK: error: coopmatrix.bitcast: expected matrices of integers, as OpBitcast takes no other, got f32 and i32: legalize-coopmatrix-khr stages it
  %b = coopmatrix.bitcast %a : !coopmatrix.matrix<8x8xf32, acc> -> !coopmatrix.matrix<8x8xi32, acc>
  func.return
}
}
