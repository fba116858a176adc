// RUN: coopc-opt %s -p 'convert-coopmatrix-to-xe{device=dg2 explain=true},normalize' 2>%t | filecheck %s
// RUN: filecheck %s --input-file %t --check-prefix REMARK

// DG2 has no 2D blocks.  What lies in memory as the lanes hold it is loaded by channels,
// with an offset of 32 bits; the rest lane by lane.

// A in tiles of 8 x 16 is one message of 8 channels a lane: 256 bytes.  What does not
// change in the loop is computed before it, and so is what is added to it.

// REMARK: remark: coopmatrix.load: 1 block load of 8 x 32 bits a lane
// REMARK: remark: coopmatrix.load: 1 block load of 8 x 32 bits a lane
// CHECK-LABEL: func.func @tiles(
// CHECK-SAME: simt.conditions = [{what = "address", argument = 0 : i64, multiple_of = 4 : i64, why = "base of a surface"}, {what = "bytes", argument = 0 : i64, {{.*}}less_than = 4294967296 : i64, why = "offsets of 32 bits"}]
// CHECK:       [[TILES:%.*]] = memref.dim %p, %c1 : memref<?x?x8x16xf16>
// CHECK-NEXT:  [[N:%.*]] = arith.index_cast [[TILES]] : index to i32
// CHECK-NEXT:  [[TILE:%.*]] = arith.constant 256 : i32
// CHECK-NEXT:  [[M:%.*]] = arith.muli %m, [[TILE]] : i32
// CHECK-NEXT:  [[ROW:%.*]] = arith.muli [[M]], [[N]] : i32
// CHECK-NEXT:  [[PITCH:%.*]] = arith.muli [[N]], [[TILE]] : i32
// CHECK-NEXT:  [[NEXT:%.*]] = arith.addi [[ROW]], [[PITCH]] : i32
// CHECK:       scf.for %k =
// CHECK-NEXT:    [[K:%.*]] = arith.muli %k, [[TILE]] : i32
// CHECK-NEXT:    [[AT:%.*]] = arith.addi [[ROW]], [[K]] : i32
// CHECK-NEXT:    %a = xe.block_load %p[[[AT]]] : memref<?x?x8x16xf16> -> vector<8xi32>
// CHECK-NEXT:    [[AT2:%.*]] = arith.addi [[NEXT]], [[K]] : i32
// CHECK-NEXT:    %a2 = xe.block_load %p[[[AT2]]] : memref<?x?x8x16xf16> -> vector<8xi32>
// CHECK-NEXT:    xe.dpas
func.func @tiles(%p: memref<?x?x8x16xf16>, %m: i32, %end: i32, %out: memref<8x8xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %c0 = arith.constant 0 : index
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f16
  %row = arith.index_cast %m : i32 to index
  %m2 = arith.addi %m, %i1 : i32
  %row2 = arith.index_cast %m2 : i32 to index
  %b = coopmatrix.fill %half : f16 -> !coopmatrix.matrix<16x8xf16, b>
  %c = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<8x8xf32, acc>
  %sum = scf.for %k = %i0 to %end step %i1 iter_args(%s = %c)
      -> (!coopmatrix.matrix<8x8xf32, acc>) : i32 {
    %at = arith.index_cast %k : i32 to index
    %a = coopmatrix.load %p[%row, %at, %c0, %c0] row_major
      : memref<?x?x8x16xf16> -> !coopmatrix.matrix<8x16xf16, a>
    %a2 = coopmatrix.load %p[%row2, %at, %c0, %c0] row_major
      : memref<?x?x8x16xf16> -> !coopmatrix.matrix<8x16xf16, a>
    %d = coopmatrix.mul_add %a, %b, %s : !coopmatrix.matrix<8x16xf16, a>,
      !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    %e = coopmatrix.mul_add %a2, %b, %d : !coopmatrix.matrix<8x16xf16, a>,
      !coopmatrix.matrix<16x8xf16, b>, !coopmatrix.matrix<8x8xf32, acc>
    scf.yield %e : !coopmatrix.matrix<8x8xf32, acc>
  }
  coopmatrix.store %sum, %out[%c0, %c0] row_major
    : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}

// Packed B of 8 bits: a line of memory is four rows of B.  The last size of memory, which
// is the pitch, has to be a multiple of 4 bytes, and the host checks it.

// REMARK: remark: coopmatrix.store: moved lane by lane
// REMARK: remark: coopmatrix.load: 8 block loads of 1 x 32 bits a lane
// CHECK-LABEL: func.func @packed(
// CHECK-SAME: what = "size", argument = 0 : i64, dimension = 1 : i64, multiple_of = 4 : i64, {{.*}}why = "pitch of a surface"
// CHECK-COUNT-8: xe.block_load %p[{{%.*}}] : memref<?x?xi8> -> vector<1xi32>
// CHECK-NOT: memref.load
func.func @packed(%p: memref<?x?xi8>, %out: memref<32x8xi8>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %c0 = arith.constant 0 : index
  %b = coopmatrix.load %p[%c0, %c0] packed : memref<?x?xi8> -> !coopmatrix.matrix<32x8xi8, b>
  coopmatrix.store %b, %out[%c0, %c0] row_major
    : !coopmatrix.matrix<32x8xi8, b>, memref<32x8xi8>
  func.return
}

// Row-major B: a channel is two rows, so elements are loaded as such, a row of both tiles
// in one message.  They are packed in registers: row 0 and 1 of the first tile are slots 0
// of two messages, those of the second their slots 1.

// REMARK: remark: coopmatrix.load: 16 block loads of 2 x 16 bits a lane
// CHECK-LABEL: func.func @row_major_b(
// CHECK:       [[R0:%.*]] = xe.block_load %p[{{%.*}}] : memref<64x64xf16> -> vector<2xi16>
// CHECK:       [[R1:%.*]] = xe.block_load %p[{{%.*}}] : memref<64x64xf16> -> vector<2xi16>
// CHECK-COUNT-14: xe.block_load
// CHECK-NOT:   xe.block_load
// CHECK:       vector.shuffle [[R0]], [[R1]] [0, 2] : vector<2xi16>, vector<2xi16>
// CHECK:       vector.bitcast {{%.*}} : vector<16xi16> to vector<8xi32>
// CHECK:       vector.shuffle [[R0]], [[R1]] [1, 3] : vector<2xi16>, vector<2xi16>
// CHECK:       vector.bitcast {{%.*}} : vector<16xi16> to vector<8xi32>
func.func @row_major_b(%p: memref<64x64xf16>, %out: memref<16x16xf16>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %c0 = arith.constant 0 : index
  %b = coopmatrix.load %p[%c0, %c0] row_major
    : memref<64x64xf16> -> !coopmatrix.matrix<16x16xf16, b>
  coopmatrix.store %b, %out[%c0, %c0] row_major
    : !coopmatrix.matrix<16x16xf16, b>, memref<16x16xf16>
  func.return
}

// An accumulator whose rows follow each other is one message, of f32 as they are.

// REMARK: remark: coopmatrix.load: 1 block load of 8 x 32 bits a lane
// CHECK-LABEL: func.func @accumulator(
// CHECK: [[C:%.*]] = xe.block_load %p[{{%.*}}] : memref<64x8xf32> -> vector<8xi32>
// CHECK: vector.bitcast [[C]] : vector<8xi32> to vector<8xf32>
func.func @accumulator(%p: memref<64x8xf32>, %row: index, %out: memref<8x8xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %c0 = arith.constant 0 : index
  %c = coopmatrix.load %p[%row, %c0] row_major
    : memref<64x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %c, %out[%c0, %c0] row_major
    : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}

// Why not: one reason each.

// REMARK: remark: coopmatrix.load: {{.*}}nor by channels: a block is not checked against the edges of memory: along rows
// REMARK: remark: coopmatrix.load: {{.*}}nor by channels: a block is not accessed as volatile or nontemporal: it is one of them
// REMARK: remark: coopmatrix.load: {{.*}}nor by channels: the elements of a slot do not follow each other in memory: (0, 0) and (0, 1)
// REMARK: remark: coopmatrix.load: {{.*}}nor by channels: addresses are not known to be multiples of 4 bytes: a position is a multiple of 1
// REMARK: remark: coopmatrix.load: {{.*}}nor by channels: addresses are not known to be multiples of 4 bytes: rows are of 33 elements
// REMARK: remark: coopmatrix.load: {{.*}}nor by channels: addresses are not known to be multiples of 4 bytes: a stride is not known
// REMARK: remark: coopmatrix.load: {{.*}}nor by channels: no dimension is known to be contiguous
// REMARK: remark: coopmatrix.load: 8 block loads of 1 x 32 bits a lane
// CHECK-LABEL: func.func @refused(
// CHECK-COUNT-8: xe.block_load %p[
// CHECK-NOT: xe.block_load
func.func @refused(%p: memref<64x64xf16>, %q: memref<64x33xf16>,
                   %r: memref<64x64xf16, strided<[?, 1]>>,
                   %s: memref<64x64xf16, strided<[1, 64]>>,
                   %x: index, %out: memref<8x16xf16>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %c0 = arith.constant 0 : index
  %a0 = coopmatrix.load %p[%c0, %c0] row_major checked(rows)
    : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %a1 = coopmatrix.load %p[%c0, %c0] row_major nontemporal
    : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %a2 = coopmatrix.load %p[%c0, %c0] col_major
    : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %a3 = coopmatrix.load %p[%c0, %x] row_major
    : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %a4 = coopmatrix.load %q[%c0, %c0] row_major
    : memref<64x33xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %a5 = coopmatrix.load %r[%c0, %c0] row_major
    : memref<64x64xf16, strided<[?, 1]>> -> !coopmatrix.matrix<8x16xf16, a>
  %a6 = coopmatrix.load %s[%c0, %c0] row_major
    : memref<64x64xf16, strided<[1, 64]>> -> !coopmatrix.matrix<8x16xf16, a>
  // What the load says of its address is taken for true.
  %a7 = coopmatrix.load %p[%c0, %x] row_major alignment = 4
    : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %s01 = coopmatrix.add %a0, %a1 : !coopmatrix.matrix<8x16xf16, a>
  %s23 = coopmatrix.add %a2, %a3 : !coopmatrix.matrix<8x16xf16, a>
  %s45 = coopmatrix.add %a4, %a5 : !coopmatrix.matrix<8x16xf16, a>
  %s67 = coopmatrix.add %a6, %a7 : !coopmatrix.matrix<8x16xf16, a>
  %s03 = coopmatrix.add %s01, %s23 : !coopmatrix.matrix<8x16xf16, a>
  %s47 = coopmatrix.add %s45, %s67 : !coopmatrix.matrix<8x16xf16, a>
  %all = coopmatrix.add %s03, %s47 : !coopmatrix.matrix<8x16xf16, a>
  coopmatrix.store %all, %out[%c0, %c0] row_major
    : !coopmatrix.matrix<8x16xf16, a>, memref<8x16xf16>
  func.return
}
