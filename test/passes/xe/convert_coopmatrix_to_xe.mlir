// RUN: coopc-opt %s -p 'coopc-xe{device=bmg explain=true}' 2>%t.remarks | filecheck %s
// RUN: filecheck %s --check-prefix REMARK --input-file %t.remarks
// RUN: coopc-opt %s -p 'coopc-xe{device=bmg}' -t abi-json | filecheck %s --check-prefix ABI
// RUN: coopc-opt %s -p 'coopc-xe{device=bmg fallback=true}' | filecheck %s --check-prefix ANY

// What has conditions gets a second entry point without any, for the host to call.

// ANY: func.func @product({{.*}}simt.conditions
// ANY: func.func @product.fallback({{.*}}attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
// ANY-NOT: xe.block
// ANY: func.func @parts(
// ANY: func.func @lane_by_lane(
// ANY-NOT: func.func

// A matrix is a vector for each operand of DPAS; loads and stores are messages that
// cover all of them, and what memory must be like for that is written on the kernel.

// ABI: "conditions"
// ABI: "dimension": 1,
// ABI-NEXT: "multiple_of": 8,
// ABI-NEXT: "at_least": 32,
// ABI-NEXT: "less_than": 8388608,
// ABI: "why": "width of a surface"

// CHECK: func.func @product(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x64xf32>)
// CHECK-SAME: simt.subgroup_size = 16 : i32
// CHECK-SAME: {what = "address", argument = 0 : i64, multiple_of = 64 : i64, why = "base of a surface"}
// CHECK-SAME: {what = "size", argument = 0 : i64, dimension = 1 : i64, multiple_of = 8 : i64, at_least = 32 : i64, less_than = 8388608 : i64, why = "width of a surface"}
func.func @product(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x64xf32>)
    attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %y = simt.workgroup_id y : index
  %row = arith.muli %y, %c32 : index
  // CHECK: %row_1 = arith.index_cast %row : index to i32
  // CHECK: xe.block_load_2d %a[%c32{{.*}}, %row_1] surface({{.*}}) block <16, 32x16x2> : memref<?x?xf16> -> vector<8xi16>, vector<8xi16>, vector<8xi16>, vector<8xi16>, vector<8xi16>, vector<8xi16>, vector<8xi16>, vector<8xi16>
  // REMARK: convert_coopmatrix_to_xe.mlir:[[#]]:3: remark: coopmatrix.load: 1 message of 16 bits, 32x16x2
  %x = coopmatrix.load %a[%row, %c32] row_major : memref<?x?xf16> -> !coopmatrix.matrix<32x32xf16, a>
  // CHECK: %w_0x0, %w_1x0, %w_0x1, %w_1x1 = xe.block_load_2d %b[%c0{{.*}}, %row_1] {{.*}} block <16, 32x16x2, transform> {{.*}} -> vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>
  // REMARK: remark: coopmatrix.load: 1 message of 16 bits, 32x16x2, transform
  %w = coopmatrix.load %b[%row, %c0] row_major : memref<?x?xf16> -> !coopmatrix.matrix<32x32xf16, b>
  %zero = arith.constant 0.0 : f32
  %z = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<32x32xf32, acc>
  // Each b for all rows of a, then the next: no sum is used twice in a row.
  // CHECK: [[S00:%.+]] = xe.dpas f16 x f16 repeat 8 [[A00:%.+]], %w_0x0, {{.*}}
  // CHECK-NEXT: [[S10:%.+]] = xe.dpas f16 x f16 repeat 8 [[A10:%.+]], %w_0x0,
  // CHECK-NEXT: [[S20:%.+]] = xe.dpas f16 x f16 repeat 8 [[A20:%.+]], %w_0x0,
  // CHECK-NEXT: [[S30:%.+]] = xe.dpas f16 x f16 repeat 8 [[A30:%.+]], %w_0x0,
  // CHECK-NEXT: [[S01:%.+]] = xe.dpas f16 x f16 repeat 8 [[A00]], %w_0x1,
  // CHECK-COUNT-3: xe.dpas
  // CHECK-NEXT: {{%.+}} = xe.dpas f16 x f16 repeat 8 [[A01:%.+]], %w_1x0, [[S00]]
  // CHECK-COUNT-7: xe.dpas
  // CHECK-NOT: xe.dpas
  %s = coopmatrix.mul_add %x, %w, %z : !coopmatrix.matrix<32x32xf16, a>, !coopmatrix.matrix<32x32xf16, b>, !coopmatrix.matrix<32x32xf32, acc>
  // CHECK: xe.block_store_2d {{%.+}} into %c[%c0{{.*}}, %row_1] surface(%c256, {{%.+}}, %c256) block <32, 8x16x1>
  // CHECK: xe.block_store_2d {{%.+}} into %c[%c16{{.*}}, %row_1]
  // CHECK: xe.block_store_2d {{%.+}} into %c[%c0{{.*}}, [[ROW8:%.+]]]
  // CHECK-COUNT-5: xe.block_store_2d
  // CHECK-NOT: xe.block_store_2d
  // REMARK: remark: coopmatrix.store: 8 messages of 32 bits, 8x16x1
  coopmatrix.store %s, %c[%row, %c0] row_major checked(rows) : !coopmatrix.matrix<32x32xf32, acc>, memref<?x64xf32>
  func.return
}

// 24 x 48 is 16 + 8 rows by 32 + 16 columns; what is packed in memory needs no transform.
// CHECK-LABEL: func.func @parts
func.func @parts(%a: memref<64x64xf16>, %b: memref<32x128xf16>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  // CHECK: xe.block_load_2d %a[%c0{{.*}}, %c0{{.*}}] surface(%c128, %c64, %c128) block <16, 16x16x2>
  // CHECK: xe.block_load_2d %a[%c32, %c0{{.*}}] {{.*}} block <16, 16x16x1>
  // CHECK: xe.block_load_2d %a[%c0{{.*}}, %c16] {{.*}} block <16, 8x16x2>
  // CHECK: xe.block_load_2d %a[%c32, %c16] {{.*}} block <16, 8x16x1>
  %x = coopmatrix.load %a[%c0, %c0] row_major : memref<64x64xf16> -> !coopmatrix.matrix<24x48xf16, a>
  // CHECK: xe.block_load_2d %b[%c0{{.*}}, %c0{{.*}}] surface(%c256, %c32, %c256) block <16, 16x32x1> : memref<32x128xf16> -> vector<8xi32>, vector<8xi32>
  // CHECK: xe.block_load_2d %b[%c32, %c0{{.*}}] surface
  %w = coopmatrix.load %b[%c0, %c0] packed : memref<32x128xf16> -> !coopmatrix.matrix<32x32xf16, b>
  // CHECK: xe.block_store_2d {{.*}} into %a[%c0{{.*}}, %c0{{.*}}] {{.*}} block <16, 8x16x1>
  // CHECK-COUNT-8: xe.block_store_2d {{.*}} into %a
  coopmatrix.store %x, %a[%c0, %c0] row_major : !coopmatrix.matrix<24x48xf16, a>, memref<64x64xf16>
  // CHECK-COUNT-8: xe.block_store_2d {{.*}} into %b
  // CHECK-NOT: xe.block
  coopmatrix.store %w, %b[%c0, %c0] row_major : !coopmatrix.matrix<32x32xf16, b>, memref<32x128xf16>
  func.return
}

// Between uses whose elements are in the same lanes only registers move; arithmetic is on
// vectors; a prefetch is 64 bytes wide.
// CHECK-LABEL: func.func @elements
func.func @elements(%a: memref<64x64xf16>, %n: f16) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  // CHECK: xe.block_prefetch_2d %a[%c0{{.*}}, %c0{{.*}}] {{.*}} block <16, 16x32x1> cache <l1 = cached, l3 = cached>
  coopmatrix.prefetch %a[%c0, %c0] row_major : memref<64x64xf16>, !coopmatrix.matrix<16x32xf16, a>
  // CHECK: xe.block_load_2d %a{{.*}} block <16, 16x16x1> : memref<64x64xf16> -> vector<8xi16>, vector<8xi16>
  %x = coopmatrix.load %a[%c0, %c0] row_major : memref<64x64xf16> -> !coopmatrix.matrix<16x16xf16, acc>
  // CHECK: arith.mulf {{.*}} : vector<8xf16>
  // CHECK: arith.mulf {{.*}} : vector<8xf16>
  %s = coopmatrix.scale %x, %n : !coopmatrix.matrix<16x16xf16, acc>, f16
  // CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] : vector<8xf16>, vector<8xf16>
  // CHECK: vector.bitcast {{.*}} : vector<16xf16> to vector<8xi32>
  %b = coopmatrix.convert %s : !coopmatrix.matrix<16x16xf16, acc> -> !coopmatrix.matrix<16x16xf16, b>
  coopmatrix.store %b, %a[%c0, %c0] row_major : !coopmatrix.matrix<16x16xf16, b>, memref<64x64xf16>
  func.return
}

// What is no surface is moved lane by lane, with the reason; checked axes are.
// CHECK-LABEL: func.func @lane_by_lane
// CHECK-NOT: simt.conditions
func.func @lane_by_lane(%a: memref<?x16xf16>, %x: index) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  // CHECK: %lane = simt.lane_id : index
  // CHECK: [[ROWS:%.+]] = memref.dim %a
  // CHECK: [[INSIDE:%.+]] = arith.cmpi ult, %x, [[ROWS]] : index
  // CHECK: scf.if [[INSIDE]] -> (f16) {
  // CHECK-NEXT: memref.load %a[%x, %lane] : memref<?x16xf16>
  // REMARK: remark: coopmatrix.load: moved lane by lane: the width is not valid for a surface: expected a width that is at least 64, got 32
  %m = coopmatrix.load %a[%x, %c0] row_major checked(rows) : memref<?x16xf16> -> !coopmatrix.matrix<8x16xf16, a>
  // CHECK-COUNT-8: memref.store
  // REMARK: remark: coopmatrix.store: moved lane by lane: the width is not valid for a surface
  coopmatrix.store %m, %a[%x, %c0] row_major : !coopmatrix.matrix<8x16xf16, a>, memref<?x16xf16>
  func.return
}
