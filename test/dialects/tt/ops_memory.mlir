// RUN: %roundtrip

// Loads and stores through pointers, block pointers and descriptors; what is left out of
// an operation's text is the default, and in either spelling the same.

// CHECK-LABEL: tt.func @pointers(%p: !tt.ptr<f16>, %ps: tensor<64x32x!tt.ptr<f16>>, %i: tensor<64x32xi32>, %m: tensor<64x32xi1>, %o: tensor<64x32xf16>, %v: f16)
tt.func @pointers(%p: !tt.ptr<f16>, %ps: tensor<64x32x!tt.ptr<f16>>, %i: tensor<64x32xi32>, %m: tensor<64x32xi1>, %o: tensor<64x32xf16>, %v: f16) {
  // CHECK-NEXT: %one = arith.constant 1 : i64
  %one = arith.constant 1 : i64
  // CHECK-NEXT: %q = tt.addptr %p, %one : !tt.ptr<f16>, i64
  %q = tt.addptr %p, %one : !tt.ptr<f16>, i64
  // CHECK-NEXT: %qs = tt.addptr %ps, %i {note} : tensor<64x32x!tt.ptr<f16>>, tensor<64x32xi32>
  %qs = tt.addptr %ps, %i {note} : tensor<64x32x!tt.ptr<f16>>, tensor<64x32xi32>
  // CHECK-NEXT: %a = tt.load %p : !tt.ptr<f16>
  %a = tt.load %p : !tt.ptr<f16>
  // CHECK-NEXT: %b = tt.load %ps : tensor<64x32x!tt.ptr<f16>>
  %b = tt.load %ps : tensor<64x32x!tt.ptr<f16>>
  // CHECK-NEXT: %c = tt.load %ps, %m : tensor<64x32x!tt.ptr<f16>>
  %c = tt.load %ps, %m : tensor<64x32x!tt.ptr<f16>>
  // CHECK-NEXT: %d = tt.load %ps, %m, %o cacheModifier = ca evictionPolicy = evict_last {isVolatile = true, ttig.block_io = "row_major"} : tensor<64x32x!tt.ptr<f16>>
  %d = tt.load %ps, %m, %o cacheModifier = ca evictionPolicy = evict_last {isVolatile = true, ttig.block_io = "row_major"} : tensor<64x32x!tt.ptr<f16>>
  // CHECK-NEXT: %e = tt.load %ps cacheModifier = cg evictionPolicy = evict_first : tensor<64x32x!tt.ptr<f16>>
  %e = tt.load %ps evictionPolicy = evict_first cacheModifier = cg : tensor<64x32x!tt.ptr<f16>>
  // CHECK-NEXT: %f = tt.load %ps cacheModifier = cg : tensor<64x32x!tt.ptr<f16>>
  %f = tt.load %ps {cache = 3 : i32, evict = 1 : i32, isVolatile = false} : tensor<64x32x!tt.ptr<f16>>
  // CHECK-NEXT: %f2 = tt.load %ps cacheModifier = cs evictionPolicy = evict_last : tensor<64x32x!tt.ptr<f16>>
  %f2 = tt.load %ps {cachePolicy = #tt.cache_policy<cache_modifier = cs, eviction_policy = evict_last>} : tensor<64x32x!tt.ptr<f16>>
  // CHECK-NEXT: %g = tt.load %p : !tt.ptr<f16>
  %g = tt.load %p : !tt.ptr<f16> -> f16
  // CHECK-NEXT: tt.store %p, %v : !tt.ptr<f16>
  tt.store %p, %v : !tt.ptr<f16>
  // CHECK-NEXT: tt.store %ps, %o, %m : tensor<64x32x!tt.ptr<f16>>
  tt.store %ps, %o, %m : tensor<64x32x!tt.ptr<f16>>
  // CHECK-NEXT: tt.store %ps, %o cacheModifier = wb {note} : tensor<64x32x!tt.ptr<f16>>
  tt.store %ps, %o cacheModifier = wb {note} : tensor<64x32x!tt.ptr<f16>>
  // CHECK-NEXT: tt.store %ps, %o cacheModifier = wt : tensor<64x32x!tt.ptr<f16>>
  tt.store %ps, %o {cachePolicy = #tt.cache_policy<cache_modifier = wt, eviction_policy = evict_normal>} : tensor<64x32x!tt.ptr<f16>>
  // CHECK-NEXT: tt.return
  tt.return
}

// CHECK-LABEL: tt.func @spaces(%p: !tt.ptr<f16, 3>, %q: !tt.ptr<!tt.ptr<f32>>, %r: tensor<8x!tt.ptr<i32, 4>>)
tt.func @spaces(%p: !tt.ptr<f16, 3>, %q: !tt.ptr<!tt.ptr<f32>>, %r: tensor<8x!tt.ptr<i32, 4>>) {
  // CHECK-NEXT: %a = tt.load %p : !tt.ptr<f16, 3>
  %a = tt.load %p : !tt.ptr<f16, 3>
  // CHECK-NEXT: %b = tt.load %q : !tt.ptr<!tt.ptr<f32>>
  %b = tt.load %q : !tt.ptr<!tt.ptr<f32>>
  // CHECK-NEXT: %c = tt.load %r : tensor<8x!tt.ptr<i32, 4>>
  %c = tt.load %r : tensor<8x!tt.ptr<i32, 4>>
  // CHECK-NEXT: tt.return
  tt.return
}

// CHECK-LABEL: tt.func @block_pointers(%p: !tt.ptr<f16>, %n: i64, %i: i32)
tt.func @block_pointers(%p: !tt.ptr<f16>, %n: i64, %i: i32) {
  // CHECK-NEXT: %a = tt.make_tensor_ptr %p, [%n, %n], [%n, %n], [%i, %i] {order = array<i32: 1, 0>} : <tensor<64x32xf16>>
  %a = tt.make_tensor_ptr %p, [%n, %n], [%n, %n], [%i, %i] {order = array<i32: 1, 0>} : <tensor<64x32xf16>>
  // CHECK-NEXT: %b = tt.make_tensor_ptr %p, [%n, %n], [%n, %n], [%i, %i] {order = array<i32: 0, 1>} : <tensor<64x32xf16>>
  %b = tt.make_tensor_ptr %p, [%n, %n], [%n, %n], [%i, %i] {order = array<i32: 0, 1>} : !tt.ptr<tensor<64x32xf16>>
  // CHECK-NEXT: %c = tt.advance %a, [%i, %i] : <tensor<64x32xf16>>
  %c = tt.advance %a, [%i, %i] : <tensor<64x32xf16>>
  // CHECK-NEXT: %d = tt.load %c {boundaryCheck = array<i32: 0, 1>, padding = 2 : i32, ttig.block_io = "row_major"} : !tt.ptr<tensor<64x32xf16>>
  %d = tt.load %c {boundaryCheck = array<i32: 0, 1>, padding = 2 : i32, ttig.block_io = "row_major"} : !tt.ptr<tensor<64x32xf16>>
  // CHECK-NEXT: tt.store %c, %d {boundaryCheck = array<i32: 1>} : !tt.ptr<tensor<64x32xf16>>
  tt.store %c, %d {boundaryCheck = array<i32: 1>} : !tt.ptr<tensor<64x32xf16>>
  // CHECK-NEXT: tt.return
  tt.return
}

// CHECK-LABEL: tt.func @descriptors(%p: !tt.ptr<f16>, %n: i32, %s: i64, %old: !tt.tensordesc<64x32xf16>, %rows: tensor<8xi32>)
tt.func @descriptors(%p: !tt.ptr<f16>, %n: i32, %s: i64, %old: !tt.tensordesc<tensor<64x32xf16>>, %rows: tensor<8xi32>) {
  // CHECK-NEXT: %a = tt.make_tensor_descriptor %p, [%n, %n], [%s, %s] : <f16>, <64x32xf16>
  %a = tt.make_tensor_descriptor %p, [%n, %n], [%s, %s] : <f16>, <64x32xf16>
  // CHECK-NEXT: %b = tt.make_tensor_descriptor %p, [%n, %n], [%s, %s] {padding = 2 : i32} : <f16>, <64x32xf16>
  %b = tt.make_tensor_descriptor %p, [%n, %n], [%s, %s] {padding = 2 : i32} : <f16>, <64x32xf16>
  // CHECK-NEXT: %c = tt.make_tensor_descriptor %p, [%n, %n, %n], [%s, %s, %s] {note} : <f16>, <1x64x32xf16>
  %c = tt.make_tensor_descriptor %p, [%n, %n, %n], [%s, %s, %s] {note} : !tt.ptr<f16>, !tt.tensordesc<tensor<1x64x32xf16>>
  // CHECK-NEXT: %d = tt.descriptor_load %a[%n, %n] : !tt.tensordesc<64x32xf16> -> tensor<64x32xf16>
  %d = tt.descriptor_load %a[%n, %n] : !tt.tensordesc<64x32xf16> -> tensor<64x32xf16>
  // CHECK-NEXT: %e = tt.descriptor_load %a[%n, %n] cacheModifier = ca evictionPolicy = evict_first {ttig.block_io = "row_major"} : !tt.tensordesc<64x32xf16> -> tensor<64x32xf16>
  %e = tt.descriptor_load %a[%n, %n] cacheModifier = ca evictionPolicy = evict_first {ttig.block_io = "row_major"} : !tt.tensordesc<64x32xf16> -> tensor<64x32xf16>
  // CHECK-NEXT: %f = tt.descriptor_load %b[%n, %n] {ttig.block_io = "column_major"} : !tt.tensordesc<64x32xf16> -> tensor<32x64xf16>
  %f = tt.descriptor_load %b[%n, %n] {ttig.block_io = "column_major"} : !tt.tensordesc<64x32xf16> -> tensor<32x64xf16>
  // CHECK-NEXT: %g = tt.descriptor_load %c[%n, %n, %n] : !tt.tensordesc<1x64x32xf16> -> tensor<64x32xf16>
  %g = tt.descriptor_load %c[%n, %n, %n] : !tt.tensordesc<1x64x32xf16> -> tensor<64x32xf16>
  // CHECK-NEXT: %h = tt.descriptor_load %old[%n, %n] : !tt.tensordesc<64x32xf16> -> tensor<64x32xf16>
  %h = tt.descriptor_load %old[%n, %n] : !tt.tensordesc<tensor<64x32xf16>> -> tensor<64x32xf16>
  // CHECK-NEXT: tt.descriptor_store %a[%n, %n], %d {ttig.block_io = "row_major"} : !tt.tensordesc<64x32xf16>, tensor<64x32xf16>
  tt.descriptor_store %a[%n, %n], %d {ttig.block_io = "row_major"} : !tt.tensordesc<64x32xf16>, tensor<64x32xf16>
  // CHECK-NEXT: %i = tt.make_tensor_descriptor %p, [%n, %n], [%s, %s] : <f16>, <1x32xf16>
  %i = tt.make_tensor_descriptor %p, [%n, %n], [%s, %s] : <f16>, <1x32xf16>
  // CHECK-NEXT: %j = tt.descriptor_gather %i[%rows, %n] : (!tt.tensordesc<1x32xf16>, tensor<8xi32>, i32) -> tensor<8x32xf16>
  %j = tt.descriptor_gather %i[%rows, %n] : (!tt.tensordesc<1x32xf16>, tensor<8xi32>, i32) -> tensor<8x32xf16>
  // CHECK-NEXT: tt.descriptor_scatter %i[%rows, %n], %j {note} : !tt.tensordesc<1x32xf16>, tensor<8xi32>, i32, tensor<8x32xf16>
  tt.descriptor_scatter %i[%rows, %n], %j {note} : !tt.tensordesc<1x32xf16>, tensor<8xi32>, i32, tensor<8x32xf16>
  // CHECK-NEXT: tt.return
  tt.return
}
