// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// A name in a type is that of a constant in the module.

%n = coopmatrix.length !coopmatrix.matrix<@M x 8 x f16, a> : index
// CHECK: coopmatrix.length: expected a coopmatrix.spec_constant @M, which !coopmatrix.matrix<@M x 8 x f16, a> names, got nothing

// -----

// Also in the types of operands, in functions and loops.

coopmatrix.spec_constant @M = 8 : i32
func.func @f(%x: !coopmatrix.matrix<@M x @N x f16, a>) {
  %y = coopmatrix.neg %x : !coopmatrix.matrix<@M x @N x f16, a>
  func.return
}
// CHECK: :3: error: coopmatrix.neg: expected a coopmatrix.spec_constant @N, which !coopmatrix.matrix<@M x @N x f16, a> names, got nothing

// -----

func.func @M() { func.return }
%n = coopmatrix.length !coopmatrix.matrix<8 x @M x f16, a> : index
// CHECK: coopmatrix.length: expected a coopmatrix.spec_constant @M, which !coopmatrix.matrix<8 x @M x f16, a> names, got func.func

// -----

coopmatrix.spec_constant @M = 0 : i32
%n = coopmatrix.length !coopmatrix.matrix<8 x @M x f16, a> : index
// CHECK: coopmatrix.length: expected @M to be at least 1, as a size of !coopmatrix.matrix<8 x @M x f16, a>, got 0

// -----

coopmatrix.spec_constant @S = 16 : i32
%n = coopmatrix.length !coopmatrix.matrix<8x8xf16, a, scope = @S> : index
// CHECK: coopmatrix.length: expected @S to be one of SPIR-V's scopes, 0 to 5, as the scope of !coopmatrix.matrix<8x8xf16, a, scope = @S>, got 16

// -----

coopmatrix.spec_constant @M = 16 : i32 id = 2
coopmatrix.spec_constant @N = 16 : i32
coopmatrix.spec_constant @K = 16 : i32 id = 2
// CHECK: coopmatrix.spec_constant: id 2 is already used by @M

// -----

coopmatrix.spec_constant @M = 16 : i32 id = -1
// CHECK: coopmatrix.spec_constant: expected an id of 0 or more, got -1

// -----

coopmatrix.spec_constant @M = 16 : i32
coopmatrix.spec_constant @M = 8 : i32
// CHECK: coopmatrix.spec_constant: redefinition of symbol 'M'
// CHECK: note: the first definition is here

// -----

func.func @f() {
  coopmatrix.spec_constant @M = 16 : i32
  func.return
}
// CHECK: 'coopmatrix.spec_constant' expects parent op 'builtin.module'

// -----

coopmatrix.spec_constant @M = 16 : i64
// CHECK: :36: error: Expected 'i32'

// -----

// A use or a layout that a constant sets is by default what stands before its name.

coopmatrix.spec_constant @U = 0 : i32
%n = coopmatrix.length !coopmatrix.matrix<8x8xf16, b = @U> : index
// CHECK: coopmatrix.length: expected @U to be 1 by default, which SPIR-V calls b, got 0

// -----

coopmatrix.spec_constant @U = 0 : i32
%n = coopmatrix.length !coopmatrix.matrix<8x8xf16, none = @U> : index
// CHECK: error: expected a use of SPIR-V beside @U, a, b or acc, got none

// -----

coopmatrix.spec_constant @L = 1 : i32
%m, %i = "test.op"() : () -> (memref<8x8xf16>, index)
%a = coopmatrix.load %m[%i, %i] row_major = @L : memref<8x8xf16> -> !coopmatrix.matrix<8x8xf16, a>
// CHECK: coopmatrix.load: expected @L to be 0 by default, which SPIR-V calls row_major, got 1

// -----

%m, %i = "test.op"() : () -> (memref<8x8xf16>, index)
%a = coopmatrix.load %m[%i, %i] row_major = @L : memref<8x8xf16> -> !coopmatrix.matrix<8x8xf16, a>
// CHECK: coopmatrix.load: expected a coopmatrix.spec_constant @L, which row_major = @L names, got nothing

// -----

%m = coopmatrix.spec_value @M
// CHECK: coopmatrix.spec_value: expected a coopmatrix.spec_constant @M, which coopmatrix.spec_value names, got nothing

// -----

coopmatrix.spec_constant @L = 0 : i32
%m, %i = "test.op"() : () -> (memref<2x64xf16>, index)
%a = coopmatrix.load %m[%i, %i] row_blocked = @L : memref<2x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
// CHECK: coopmatrix.load: expected no name for the layout row_blocked
