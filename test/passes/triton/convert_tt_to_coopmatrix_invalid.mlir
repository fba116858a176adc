// RUN: coopc-opt %s -p "convert-tt-to-coopmatrix{subgroup-size=4}" --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// What no engine takes is refused by name, where the source stands if it is known.

tt.func @assembly() {
  %x = arith.constant dense<0> : tensor<16xi32>
  // CHECK: tt.elementwise_inline_asm: not supported: assembly is for one device
  %y = tt.elementwise_inline_asm "mov $0, $1;" {constraints = "=r,r", packed_element = 1 : i32, pure = true} %x : tensor<16xi32> -> tensor<16xi32>
  tt.return
}

// -----

tt.func @called() {
  %x = arith.constant dense<0> : tensor<16xi32>
  // CHECK: tt.map_elementwise: expected arithmetic in the region, got tt.get_program_id
  %y = "tt.map_elementwise"(%x) <{pack = 1 : i32}> ({
  ^bb0(%a: i32):
    %b = tt.get_program_id x : i32
    tt.map_elementwise.return %b : i32
  }) : (tensor<16xi32>) -> tensor<16xi32>
  tt.return
}

// -----

tt.func @pairs() {
  // CHECK: tt.map_elementwise: expected rows of a multiple of 2 elements, which a call takes, got 1
  %c = arith.constant dense<0> : tensor<16x1xi32>
  %y = "tt.map_elementwise"(%c) <{pack = 2 : i32}> ({
  ^bb0(%a: i32, %b: i32):
    tt.map_elementwise.return %a, %b : i32, i32
  }) : (tensor<16x1xi32>) -> tensor<16x1xi32>
  tt.return
}

// -----

tt.func private @called(%p: !tt.ptr<f16>) {
  // CHECK: tt.func: expected a kernel, got @called: inline what is called
  tt.return
}

// -----

tt.func @blocks() {
  // CHECK: tt.func: expected structured control flow, got 2 blocks
  "cf.br"() [^next] : () -> ()
^next:
  tt.return
}

// -----

tt.func @rounding(%x: f32) {
  // CHECK: arith.constant: expected a constant with the same number everywhere
  %c = arith.constant dense<[1, 2]> : tensor<2xi32>
  tt.return
}

// -----

tt.func @smallest(%p: !tt.ptr<f32>, %n: i32, %pitch: i64) {
  %unit = arith.constant 1 : i64
  %zero = arith.constant 0 : i32
  %x = arith.constant dense<1.0> : tensor<8x8xf32>
  %d = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <f32>, <8x8xf32>
  // CHECK: tt.descriptor_reduce: expected add, or and, max, min, or, xor of integers, got min of f32
  tt.descriptor_reduce min, %d[%zero, %zero], %x : !tt.tensordesc<8x8xf32>, tensor<8x8xf32>
  tt.return
}

// -----

// CHECK: tt.func: expected scalars, pointers and descriptors as arguments, got tensor<16xi32>
tt.func @given(%p: !tt.ptr<i32>, %x: tensor<16xi32>) {
  tt.return
}

// -----

// CHECK: test.op: not supported: no engine has it
tt.func @taken(%p: !tt.ptr<i32>) {
  %x = arith.constant dense<1> : tensor<16xi32>
  "test.op"(%x) : (tensor<16xi32>) -> ()
  tt.return
}
