// RUN: coopc-opt %s -p 'plan-block-io{device=bmg},convert-ttgir-to-xe' | filecheck %s --check-prefix XE
// RUN: coopc-opt %s -p 'plan-block-io{device=bmg},convert-ttgir-to-xe,expand-exchanges' | filecheck %s

// Where elements move between lanes: the least that does it, with every index.

#across = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [2, 1], order = [1, 0]}>
#down = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [1, 16], warpsPerCTA = [2, 1], order = [1, 0]}>
#back = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [2, 1], order = [0, 1]}>
#other = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [1, 2], order = [1, 0]}>
module attributes {"ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // XE-LABEL: func.func @transposed
  // XE: simt.exchange %{{.+}} from #linear to #linear1 : vector<4xf32> -> vector<4xf32>
  // XE-NOT: simt.shuffle
  // Lanes read each other in four turns: each offers one of its registers, and puts
  // what it reads into another one, both by the number of the lane.
  // CHECK-LABEL: func.func @transposed
  // CHECK: [[BIT2:%.+]] = arith.andi %lane, %{{.+}} : i32
  // CHECK: [[HAS2:%.+]] = arith.cmpi ne, [[BIT2]]
  // CHECK: [[A:%.+]] = vector.shuffle [[X:%.+]], [[X]] [1, 0, 3, 2] : vector<4xf32>
  // CHECK-NEXT: [[B:%.+]] = arith.select [[HAS2]], [[A]], [[X]]
  // CHECK: [[BIT3:%.+]] = arith.andi %lane, %{{.+}} : i32
  // CHECK: [[HAS3:%.+]] = arith.cmpi ne, [[BIT3]]
  // CHECK: [[C:%.+]] = vector.shuffle [[B]], [[B]] [2, 3, 0, 1]
  // CHECK-NEXT: [[D:%.+]] = arith.select [[HAS3]], [[C]], [[B]]
  // CHECK: [[O0:%.+]] = vector.shuffle [[D]], [[D]] [0]
  // CHECK: [[ROW:%.+]] = arith.andi %lane, %{{.+}} : i32
  // CHECK: [[LOW:%.+]] = arith.shli [[ROW]], %{{.+}} : i32
  // CHECK: [[HIGH:%.+]] = arith.shrui %lane, %{{.+}} : i32
  // CHECK: [[SWAP:%.+]] = arith.xori [[LOW]], [[HIGH]] : i32
  // CHECK: [[TURN0:%.+]] = arith.index_cast [[SWAP]]
  // CHECK-NEXT: simt.shuffle idx [[O0]], [[TURN0]] : vector<1xf32>
  // CHECK: [[O1:%.+]] = vector.shuffle [[D]], [[D]] [1]
  // CHECK: [[FLIP4:%.+]] = arith.xori [[SWAP]], %{{.+}} : i32
  // CHECK: [[TURN1:%.+]] = arith.index_cast [[FLIP4]]
  // CHECK-NEXT: simt.shuffle idx [[O1]], [[TURN1]] : vector<1xf32>
  // CHECK: [[O2:%.+]] = vector.shuffle [[D]], [[D]] [2]
  // CHECK: [[FLIP8:%.+]] = arith.xori [[SWAP]], %{{.+}} : i32
  // CHECK: [[TURN2:%.+]] = arith.index_cast [[FLIP8]]
  // CHECK-NEXT: simt.shuffle idx [[O2]], [[TURN2]] : vector<1xf32>
  // CHECK: [[O3:%.+]] = vector.shuffle [[D]], [[D]] [3]
  // CHECK: [[FLIP12:%.+]] = arith.xori [[SWAP]], %{{.+}} : i32
  // CHECK: [[TURN3:%.+]] = arith.index_cast [[FLIP12]]
  // CHECK-NEXT: simt.shuffle idx [[O3]], [[TURN3]] : vector<1xf32>
  // CHECK: [[BIT0:%.+]] = arith.andi %lane, %{{.+}} : i32
  // CHECK: [[HAS0:%.+]] = arith.cmpi ne, [[BIT0]]
  // CHECK: [[E:%.+]] = vector.shuffle [[Y:%.+]], [[Y]] [1, 0, 3, 2]
  // CHECK-NEXT: [[F:%.+]] = arith.select [[HAS0]], [[E]], [[Y]]
  // CHECK: [[BIT1:%.+]] = arith.andi %lane, %{{.+}} : i32
  // CHECK: [[HAS1:%.+]] = arith.cmpi ne, [[BIT1]]
  // CHECK: [[G:%.+]] = vector.shuffle [[F]], [[F]] [2, 3, 0, 1]
  // CHECK-NEXT: arith.select [[HAS1]], [[G]], [[F]]
  tt.func public @transposed(%x: f32, %q: !tt.ptr<f32>) {
    %0 = tt.splat %x : f32 -> tensor<8x16xf32, #across>
    %1 = ttg.convert_layout %0 : tensor<8x16xf32, #across> -> tensor<8x16xf32, #down>
    %p = tt.splat %q : !tt.ptr<f32> -> tensor<8x16x!tt.ptr<f32>, #down>
    tt.store %p, %1 : tensor<8x16x!tt.ptr<f32>, #down>
    tt.return
  }

  // Rows and columns of lanes change places: all registers go at once.
  // CHECK-LABEL: func.func @other_lanes
  // CHECK: [[COL:%.+]] = arith.andi %lane, %{{.+}} : i32
  // CHECK: [[UP:%.+]] = arith.shli [[COL]], %{{.+}} : i32
  // CHECK: [[DOWN:%.+]] = arith.shrui %lane, %{{.+}} : i32
  // CHECK: [[FROM:%.+]] = arith.xori [[UP]], [[DOWN]] : i32
  // CHECK: [[LANE:%.+]] = arith.index_cast [[FROM]] : i32 to index
  // CHECK: simt.shuffle idx {{%.+}}, [[LANE]] : vector<4xf32>
  // CHECK-NOT: simt.shuffle
  tt.func public @other_lanes(%x: f32, %q: !tt.ptr<f32>) {
    %0 = tt.splat %x : f32 -> tensor<8x16xf32, #across>
    %1 = ttg.convert_layout %0 : tensor<8x16xf32, #across> -> tensor<8x16xf32, #back>
    %p = tt.splat %q : !tt.ptr<f32> -> tensor<8x16x!tt.ptr<f32>, #back>
    tt.store %p, %1 : tensor<8x16x!tt.ptr<f32>, #back>
    tt.return
  }

  // Each subgroup has rows, and wants columns: through memory, between two barriers.
  // CHECK-LABEL: func.func @across_subgroups
  // CHECK: %scratch = memref.alloca() : memref<256xf32, #simt.memory<workgroup>>
  // CHECK: simt.barrier workgroup
  // CHECK: arith.constant dense<[0, 1, 2, 3, 16, 17, 18, 19]> : vector<8xi32>
  // CHECK-COUNT-8: memref.store {{.*}}, %scratch[
  // CHECK-NOT: memref.store
  // CHECK: simt.barrier workgroup
  // CHECK: arith.constant dense<[0, 0, 0, 0, 4, 4, 4, 4]> : vector<8xi32>
  // CHECK-COUNT-8: memref.load %scratch[
  // CHECK-NOT: memref.load
  // CHECK: memref.store {{.*}} : memref<1099511627776xf32>
  tt.func public @across_subgroups(%x: f32, %q: !tt.ptr<f32>) {
    %0 = tt.splat %x : f32 -> tensor<8x32xf32, #across>
    %1 = ttg.convert_layout %0 : tensor<8x32xf32, #across> -> tensor<8x32xf32, #other>
    %p = tt.splat %q : !tt.ptr<f32> -> tensor<8x32x!tt.ptr<f32>, #other>
    tt.store %p, %1 : tensor<8x32x!tt.ptr<f32>, #other>
    tt.return
  }
}
