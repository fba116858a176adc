// REQUIRES: ocloc, spirv-val
// RUN: coopc-isa %s --device bmg,pvc --registers 256 --clean --expect simd=16 \
// RUN:   inner.dpas=32 inner.send=0 inner.load_block2d.d16=1 inner.load_block2d.d16v=2 store2d=16

// C = A * B, f16 to f32: 32 x 64 of C for each of 4 x 4 subgroups, 32 of K a step. One
// load of A, two loads of B, packed as they arrive; x of A and y of B are the loop's own
// variable, so that the compiler keeps both addresses in registers and moves one number
// into each.

func.func @gemm(%a: memref<f16>, %b: memref<f16>, %c: memref<f32>,
                %m: i32, %n: i32, %k: i32)
    attributes {simt.kernel, simt.work_group_size = array<i32: 256>,
                simt.subgroup_size = 16 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c4 = arith.constant 4 : i32
  %c8 = arith.constant 8 : i32
  %c16 = arith.constant 16 : i32
  %c24 = arith.constant 24 : i32
  %c32 = arith.constant 32 : i32
  %c48 = arith.constant 48 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : vector<8xf32>
  // Where the subgroup's tile of C is.
  %group_x = simt.workgroup_id x : index
  %group_y = simt.workgroup_id y : index
  %id = simt.subgroup_id : index
  %gx = arith.index_cast %group_x : index to i32
  %gy = arith.index_cast %group_y : index to i32
  %s = arith.index_cast %id : index to i32
  %sx = arith.remui %s, %c4 : i32
  %sy = arith.divui %s, %c4 : i32
  %ty0 = arith.muli %gy, %c4 : i32
  %ty = arith.addi %ty0, %sy : i32
  %tx0 = arith.muli %gx, %c4 : i32
  %tx = arith.addi %tx0, %sx : i32
  %row = arith.muli %ty, %c32 : i32
  %col = arith.muli %tx, %c64 : i32
  // The surfaces, in bytes.
  %k_bytes = arith.muli %k, %c2 : i32
  %n_bytes = arith.muli %n, %c2 : i32
  %c_bytes = arith.muli %n, %c4 : i32
  %col16 = arith.addi %col, %c16 : i32
  %col32 = arith.addi %col, %c32 : i32
  %col48 = arith.addi %col, %c48 : i32
  %row8 = arith.addi %row, %c8 : i32
  %row16 = arith.addi %row, %c16 : i32
  %row24 = arith.addi %row, %c24 : i32
  %sum:16 = scf.for %x = %c0 to %k step %c32
      iter_args(%s0_0 = %zero, %s0_1 = %zero, %s0_2 = %zero, %s0_3 = %zero, %s1_0 =
        %zero, %s1_1 = %zero, %s1_2 = %zero, %s1_3 = %zero, %s2_0 = %zero, %s2_1 =
        %zero, %s2_2 = %zero, %s2_3 = %zero, %s3_0 = %zero, %s3_1 = %zero, %s3_2 =
        %zero, %s3_3 = %zero)
      -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>,
        vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>,
        vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>,
        vector<8xf32>) : i32 {
    %a0_0, %a1_0, %a2_0, %a3_0, %a0_1, %a1_1, %a2_1, %a3_1 =
      xe.block_load_2d %a[%x, %row] surface(%k_bytes, %m, %k_bytes) block <16, 32x16x2>
      : memref<f16> -> vector<8xi16>, vector<8xi16>, vector<8xi16>, vector<8xi16>,
        vector<8xi16>, vector<8xi16>, vector<8xi16>, vector<8xi16>
    %b0_0, %b1_0, %b0_1, %b1_1 =
      xe.block_load_2d %b[%col, %x] surface(%n_bytes, %k, %n_bytes) block <16,
        32x16x2, transform>
      : memref<f16> -> vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>
    %b0_2, %b1_2, %b0_3, %b1_3 =
      xe.block_load_2d %b[%col32, %x] surface(%n_bytes, %k, %n_bytes) block <16,
        32x16x2, transform>
      : memref<f16> -> vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>
    %t0_0 = xe.dpas f16 x f16 repeat 8 %a0_0, %b0_0, %s0_0
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %t1_0 = xe.dpas f16 x f16 repeat 8 %a1_0, %b0_0, %s1_0
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %t2_0 = xe.dpas f16 x f16 repeat 8 %a2_0, %b0_0, %s2_0
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %t3_0 = xe.dpas f16 x f16 repeat 8 %a3_0, %b0_0, %s3_0
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %t0_1 = xe.dpas f16 x f16 repeat 8 %a0_0, %b0_1, %s0_1
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %t1_1 = xe.dpas f16 x f16 repeat 8 %a1_0, %b0_1, %s1_1
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %t2_1 = xe.dpas f16 x f16 repeat 8 %a2_0, %b0_1, %s2_1
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %t3_1 = xe.dpas f16 x f16 repeat 8 %a3_0, %b0_1, %s3_1
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %t0_2 = xe.dpas f16 x f16 repeat 8 %a0_0, %b0_2, %s0_2
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %t1_2 = xe.dpas f16 x f16 repeat 8 %a1_0, %b0_2, %s1_2
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %t2_2 = xe.dpas f16 x f16 repeat 8 %a2_0, %b0_2, %s2_2
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %t3_2 = xe.dpas f16 x f16 repeat 8 %a3_0, %b0_2, %s3_2
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %t0_3 = xe.dpas f16 x f16 repeat 8 %a0_0, %b0_3, %s0_3
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %t1_3 = xe.dpas f16 x f16 repeat 8 %a1_0, %b0_3, %s1_3
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %t2_3 = xe.dpas f16 x f16 repeat 8 %a2_0, %b0_3, %s2_3
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %t3_3 = xe.dpas f16 x f16 repeat 8 %a3_0, %b0_3, %s3_3
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u0_0 = xe.dpas f16 x f16 repeat 8 %a0_1, %b1_0, %t0_0
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u1_0 = xe.dpas f16 x f16 repeat 8 %a1_1, %b1_0, %t1_0
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u2_0 = xe.dpas f16 x f16 repeat 8 %a2_1, %b1_0, %t2_0
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u3_0 = xe.dpas f16 x f16 repeat 8 %a3_1, %b1_0, %t3_0
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u0_1 = xe.dpas f16 x f16 repeat 8 %a0_1, %b1_1, %t0_1
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u1_1 = xe.dpas f16 x f16 repeat 8 %a1_1, %b1_1, %t1_1
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u2_1 = xe.dpas f16 x f16 repeat 8 %a2_1, %b1_1, %t2_1
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u3_1 = xe.dpas f16 x f16 repeat 8 %a3_1, %b1_1, %t3_1
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u0_2 = xe.dpas f16 x f16 repeat 8 %a0_1, %b1_2, %t0_2
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u1_2 = xe.dpas f16 x f16 repeat 8 %a1_1, %b1_2, %t1_2
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u2_2 = xe.dpas f16 x f16 repeat 8 %a2_1, %b1_2, %t2_2
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u3_2 = xe.dpas f16 x f16 repeat 8 %a3_1, %b1_2, %t3_2
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u0_3 = xe.dpas f16 x f16 repeat 8 %a0_1, %b1_3, %t0_3
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u1_3 = xe.dpas f16 x f16 repeat 8 %a1_1, %b1_3, %t1_3
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u2_3 = xe.dpas f16 x f16 repeat 8 %a2_1, %b1_3, %t2_3
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    %u3_3 = xe.dpas f16 x f16 repeat 8 %a3_1, %b1_3, %t3_3
      : vector<8xi16>, vector<8xi32>, vector<8xf32>
    scf.yield %u0_0, %u0_1, %u0_2, %u0_3, %u1_0, %u1_1, %u1_2, %u1_3, %u2_0, %u2_1,
      %u2_2, %u2_3, %u3_0, %u3_1, %u3_2, %u3_3 : vector<8xf32>, vector<8xf32>,
      vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>,
      vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>,
      vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>
  }
  %v0_0 = vector.bitcast %sum#0 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v0_0 into %c[%col, %row] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  %v0_1 = vector.bitcast %sum#1 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v0_1 into %c[%col16, %row] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  %v0_2 = vector.bitcast %sum#2 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v0_2 into %c[%col32, %row] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  %v0_3 = vector.bitcast %sum#3 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v0_3 into %c[%col48, %row] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  %v1_0 = vector.bitcast %sum#4 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v1_0 into %c[%col, %row8] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  %v1_1 = vector.bitcast %sum#5 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v1_1 into %c[%col16, %row8] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  %v1_2 = vector.bitcast %sum#6 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v1_2 into %c[%col32, %row8] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  %v1_3 = vector.bitcast %sum#7 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v1_3 into %c[%col48, %row8] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  %v2_0 = vector.bitcast %sum#8 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v2_0 into %c[%col, %row16] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  %v2_1 = vector.bitcast %sum#9 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v2_1 into %c[%col16, %row16] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  %v2_2 = vector.bitcast %sum#10 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v2_2 into %c[%col32, %row16] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  %v2_3 = vector.bitcast %sum#11 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v2_3 into %c[%col48, %row16] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  %v3_0 = vector.bitcast %sum#12 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v3_0 into %c[%col, %row24] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  %v3_1 = vector.bitcast %sum#13 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v3_1 into %c[%col16, %row24] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  %v3_2 = vector.bitcast %sum#14 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v3_2 into %c[%col32, %row24] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  %v3_3 = vector.bitcast %sum#15 : vector<8xf32> to vector<8xi32>
  xe.block_store_2d %v3_3 into %c[%col48, %row24] surface(%c_bytes, %m, %c_bytes)
    block <32, 8x16x1> : vector<8xi32> into memref<f32>
  func.return
}
