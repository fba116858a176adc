// RUN: %roundtrip

// Loads by 2D blocks, the numbers of descriptors, prefetches.

// CHECK-LABEL: tt.func @"2d_loads"(%p: !tt.ptr<f16>, %w: i32, %i: i32, %ps: tensor<64x32x!tt.ptr<f16>>, %m: tensor<64x32xi1>, %o: tensor<64x32xf16>)
tt.func @"2d_loads"(%p: !tt.ptr<f16>, %w: i32, %i: i32, %ps: tensor<64x32x!tt.ptr<f16>>, %m: tensor<64x32xi1>, %o: tensor<64x32xf16>) {
  // CHECK-NEXT: %a = ttig.2d_block_load %p, %w, %i, %w[%i, %i] {row_major} : !tt.ptr<f16> -> tensor<64x32xf16>
  %a = ttig.2d_block_load %p, %w, %i, %w[%i, %i] {row_major} : !tt.ptr<f16> -> tensor<64x32xf16>
  // CHECK-NEXT: %b = ttig.2d_block_load %p, %w, %i, %w[%i, %i] {column_major, pad_nan} {ttig.one_matrix_per_load} : !tt.ptr<f16> -> tensor<64x32xf16>
  %b = ttig.2d_block_load %p, %w, %i, %w[%i, %i] {column_major, pad_nan} {ttig.one_matrix_per_load} : !tt.ptr<f16> -> tensor<64x32xf16>
  // CHECK-NEXT: %c = ttig.2d_block_load_from_ptr %ps, %w {row_major} {base_height = 8 : i32, base_width = 64 : i32} : (tensor<64x32x!tt.ptr<f16>>, i32) -> tensor<64x32xf16>
  %c = ttig.2d_block_load_from_ptr %ps, %w {row_major} {base_height = 8 : i32, base_width = 64 : i32} : (tensor<64x32x!tt.ptr<f16>>, i32) -> tensor<64x32xf16>
  // CHECK-NEXT: %d = ttig.2d_block_load_from_ptr %ps, %w, %m, %o {column_major} {base_width = 64 : i32, base_height = 8 : i32, note} : (tensor<64x32x!tt.ptr<f16>>, i32, tensor<64x32xi1>, tensor<64x32xf16>) -> tensor<64x32xf16>
  %d = ttig.2d_block_load_from_ptr %ps, %w, %m, %o {column_major} {note, base_width = 64 : i32, base_height = 8 : i32} : (tensor<64x32x!tt.ptr<f16>>, i32, tensor<64x32xi1>, tensor<64x32xf16>) -> (tensor<64x32xf16>)
  // CHECK-NEXT: tt.return
  tt.return
}

// CHECK-LABEL: tt.func @descriptors(%d: !tt.tensordesc<64x32xf16>, %i: i32)
tt.func @descriptors(%d: !tt.tensordesc<64x32xf16>, %i: i32) {
  // CHECK-NEXT: %a = ttig.extract_desc %d[1] : <64x32xf16> -> i64
  %a = ttig.extract_desc %d[1] : <64x32xf16> -> i64
  // CHECK-NEXT: %b = ttig.extract_desc %d[4] {note} : <64x32xf16> -> !tt.ptr<f16>
  %b = ttig.extract_desc %d[4] {note} : <64x32xf16> -> !tt.ptr<f16>
  // CHECK-NEXT: %c = ttig.extract_desc %d[2] : <64x32xf16> -> i64
  %c = ttig.extract_desc %d[2] : !tt.tensordesc<64x32xf16> -> i64
  // CHECK-NEXT: ttig.descriptor_prefetch %d[%i, %i] : !tt.tensordesc<64x32xf16>
  ttig.descriptor_prefetch %d[%i, %i] cacheModifier = none evictionPolicy = evict_normal : !tt.tensordesc<64x32xf16>
  // CHECK-NEXT: ttig.descriptor_prefetch %d[%i, %i] cacheModifier = ca {ttig.block_io = "row_major"} : !tt.tensordesc<64x32xf16>
  ttig.descriptor_prefetch %d[%i, %i] cacheModifier = ca {ttig.block_io = "row_major"} : !tt.tensordesc<64x32xf16>
  // CHECK-NEXT: tt.return
  tt.return
}

// CHECK-LABEL: tt.func @prefetches(%ps: tensor<64x32x!tt.ptr<f16>>, %m: tensor<64x32xi1>, %b: !tt.ptr<tensor<64x32xf16>>, %l: !tt.ptr<f16, 3>, %x: tensor<16x16xf16>)
tt.func @prefetches(%ps: tensor<64x32x!tt.ptr<f16>>, %m: tensor<64x32xi1>, %b: !tt.ptr<tensor<64x32xf16>>, %l: !tt.ptr<f16, 3>, %x: tensor<16x16xf16>) {
  // CHECK-NEXT: ttig.prefetch %ps {cache = 1 : i32, evict = 1 : i32, isVolatile = false} : tensor<64x32x!tt.ptr<f16>>
  ttig.prefetch %ps {cache = 1 : i32, evict = 1 : i32, isVolatile = false} : tensor<64x32x!tt.ptr<f16>>
  // CHECK-NEXT: ttig.prefetch %ps, %m {cache = 1 : i32, evict = 1 : i32, isVolatile = false, boundaryCheck = array<i32>, ttig.block_io = "row_major"} : tensor<64x32x!tt.ptr<f16>>
  ttig.prefetch %ps, %m {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 1, 1>, ttig.block_io = "row_major"} : tensor<64x32x!tt.ptr<f16>>
  // CHECK-NEXT: ttig.prefetch %b {cache = 2 : i32, evict = 1 : i32, isVolatile = false} : !tt.ptr<tensor<64x32xf16>>
  ttig.prefetch %b {cache = 2 : i32, evict = 1 : i32, isVolatile = false} : !tt.ptr<tensor<64x32xf16>>
  // CHECK-NEXT: %y = ttig.sub_group_transpose %l, %x : tensor<16x16xf16>
  %y = ttig.sub_group_transpose %l, %x : tensor<16x16xf16>
  // CHECK-NEXT: tt.return
  tt.return
}
