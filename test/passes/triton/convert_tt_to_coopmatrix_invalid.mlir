// RUN: coopc-opt %s -p "convert-tt-to-coopmatrix{subgroup-size=4}" --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// What no engine takes is refused by name, where the source stands if it is known.

tt.func @assembly(%x: tensor<16xi32>) {
  // CHECK: tt.elementwise_inline_asm: it is not supported: assembly is of one device
  %y = tt.elementwise_inline_asm "mov $0, $1;" {constraints = "=r,r", packed_element = 1 : i32, pure = true} %x : tensor<16xi32> -> tensor<16xi32>
  tt.return
}

// -----

tt.func @address(%x: i64) {
  // CHECK: tt.int_to_ptr: it is not supported: expected a pointer that is an argument, moved by elements
  %y = tt.int_to_ptr %x : i64 -> !tt.ptr<f16>
  tt.return
}

// -----

tt.func @two_arguments(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %c: i1) {
  // CHECK: scf.if: expected pointers into one argument, got several for one value
  %r = scf.if %c -> (!tt.ptr<f16>) {
    scf.yield %p : !tt.ptr<f16>
  } else {
    scf.yield %q : !tt.ptr<f16>
  }
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
  // CHECK: tt.descriptor_reduce: expected add, and, or or xor, got min
  tt.descriptor_reduce min, %d[%zero, %zero], %x : !tt.tensordesc<8x8xf32>, tensor<8x8xf32>
  tt.return
}
