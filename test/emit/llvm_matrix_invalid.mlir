// RUN: coopc-opt %s --split-input-file --verify-diagnostics -t 'llvm-ir{matrix=true}' | filecheck %s
// RUN: not coopc-opt %s -t 'llvm-ir{device=bmg matrix=true}' 2>&1 | filecheck %s --check-prefix GPU
// RUN: coopc-opt %s --split-input-file --verify-diagnostics -t 'llvm-ir{device=amx}' | filecheck %s --check-prefix TILES

// GPU: expected amx with matrix=true, whose compiler knows llvm.experimental.matrix, got bmg

// CHECK: error: coopmatrix.load: `checked` is not supported by the matrix intrinsics
func.func @checked(%p: memref<16x24xf32>) {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %p[%0, %0] row_major checked(rows) : memref<16x24xf32> -> !coopmatrix.matrix<8x16xf32, none>
  func.return
}

// -----

// CHECK: error: coopmatrix.load: expected row_major, col_major or packed, as the matrix intrinsics have, got row_blocked
func.func @layout(%p: memref<2x64xf32>) {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %p[%0, %0] row_blocked : memref<2x64xf32> -> !coopmatrix.matrix<8x16xf32, none>
  func.return
}

// -----

// CHECK: error: coopmatrix.load: expected a memref whose last stride is 1, since the matrix intrinsics have one stride, got memref<16x24xf32, strided<[48, 2]>>
func.func @strides(%p: memref<16x24xf32, strided<[48, 2]>>) {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %p[%0, %0] row_major : memref<16x24xf32, strided<[48, 2]>> -> !coopmatrix.matrix<8x16xf32, none>
  func.return
}

// -----

// CHECK: error: coopmatrix.load: expected a memref of f32, the matrix's elements, got memref<16x24xi32>
// TILES: error: coopmatrix.load: coopmatrix.load has no form in plain LLVM IR: lower matrices with convert-coopmatrix-to-amx, or emit calls with llvm-ir{matrix=true}
func.func @pointee(%p: memref<16x24xi32>) {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %p[%0, %0] row_major : memref<16x24xi32> -> !coopmatrix.matrix<8x16xf32, none>
  func.return
}

// -----

// CHECK: error: coopmatrix.mul_add: expected a product that does not saturate, as matrix.mad is
func.func @saturating(%a: !coopmatrix.matrix<8x64xi8, a>, %b: !coopmatrix.matrix<64x16xi8, b>, %c: !coopmatrix.matrix<8x16xi32, acc>) {
  %d = coopmatrix.mul_add %a, %b, %c saturating : !coopmatrix.matrix<8x64xi8, a>, !coopmatrix.matrix<64x16xi8, b>, !coopmatrix.matrix<8x16xi32, acc>
  func.return
}

// -----

// CHECK: error: coopmatrix.mul_add: expected a result of the type of c, as matrix.mad has it, got !coopmatrix.matrix<8x16xi16, acc>
func.func @result(%a: !coopmatrix.matrix<8x64xi8, a>, %b: !coopmatrix.matrix<64x16xi8, b>, %c: !coopmatrix.matrix<8x16xi32, acc>) {
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x64xi8, a>, !coopmatrix.matrix<64x16xi8, b>, !coopmatrix.matrix<8x16xi32, acc> -> !coopmatrix.matrix<8x16xi16, acc>
  func.return
}

// -----

// CHECK: error: coopmatrix.fill: expected a matrix of a subgroup or a work-group, got !coopmatrix.matrix<8x16xf32, none, scope = device>
func.func @scope(%v: f32) {
  %m = coopmatrix.fill %v : f32 -> !coopmatrix.matrix<8x16xf32, none, scope = device>
  func.return
}

// -----

// CHECK: error: coopmatrix.neg: expected arithmetic of f32 or f16 as LLVM has it, got bf16
func.func @bf16(%m: !coopmatrix.matrix<8x16xbf16, none>) {
  %n = coopmatrix.neg %m : !coopmatrix.matrix<8x16xbf16, none>
  func.return
}

// -----

// CHECK: error: coopmatrix.extract_row_slice: expected a row slice of 2 elements or more, got one
func.func @one(%m: !coopmatrix.matrix<8x16xf32, none>, %i: index) {
  %s = coopmatrix.extract_row_slice %m[%i] : !coopmatrix.matrix<8x16xf32, none> -> vector<1xf32>
  func.return
}

// -----

// CHECK: error: row_slice.insert_element: expected a mask on all lanes, as vectorize-subgroup makes it: one work-item inserts or does not
func.func @mask(%m: !coopmatrix.matrix<8x16xf32, none>, %i: index, %v: f32, %c: i1) {
  %t = row_slice.id %m[%i] : !coopmatrix.matrix<8x16xf32, none>
  row_slice.insert_element %v, %t mask %c : i1 : f32
  func.return
}

// -----

// CHECK: error: coopmatrix.max: LLVM IR emission has no form of coopmatrix.max
func.func @max(%m: !coopmatrix.matrix<8x16xf32, none>) {
  %n = coopmatrix.max %m, %m : !coopmatrix.matrix<8x16xf32, none>
  func.return
}
