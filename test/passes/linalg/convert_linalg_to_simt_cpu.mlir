// RUN: coopc-opt %s -p 'convert-linalg-to-simt{device=amx explain=true tile=3,16},normalize' 2>%t | filecheck %s
// RUN: filecheck %s --check-prefix PLAN < %t
// RUN: coopc-opt %s -p 'convert-linalg-to-simt{device=nvidia},normalize' | filecheck %s --check-prefix GPU

// Columns of a result are neighbours. Three rows of it are reduced at once, with what is
// loaded of %b once for all, and products fused with sums; then the last two, each by
// itself.

// PLAN: remark: func.func: work-items: 16 along shared loop 1, 3 rows at once, 
// CHECK-LABEL: @rows_at_once
// CHECK-DAG:     %c3 = arith.constant 3 : index
// CHECK:         [[N:%.+]] = arith.divui {{%.+}}, %c3
// CHECK:         scf.for {{%.+}} = %c0 to [[N]] step %c1 {
// CHECK:         scf.for [[K:%.+]] = %c0 to %c7 step %c1 iter_args([[X:%.+]] = {{%.+}}, [[Y:%.+]] = {{%.+}}, [[Z:%.+]] = {{%.+}}) -> (f32, f32, f32) {
// CHECK-NEXT:      [[A0:%.+]] = memref.load %a[[[I0:%.+]], [[K]]]
// CHECK-NEXT:      [[B:%.+]] = memref.load %b[[[K]], [[J:%.+]]]
// CHECK-NEXT:      [[P0:%.+]] = arith.mulf [[A0]], [[B]] fastmath<contract>
// CHECK-NEXT:      [[S0:%.+]] = arith.addf [[X]], [[P0]] fastmath<contract>
// CHECK-NEXT:      [[A1:%.+]] = memref.load %a[[[I1:%.+]], [[K]]]
// CHECK-NEXT:      [[P1:%.+]] = arith.mulf [[A1]], [[B]] fastmath<contract>
// CHECK-NEXT:      [[S1:%.+]] = arith.addf [[Y]], [[P1]] fastmath<contract>
// CHECK-NEXT:      [[A2:%.+]] = memref.load %a[[[I2:%.+]], [[K]]]
// CHECK-NEXT:      [[P2:%.+]] = arith.mulf [[A2]], [[B]] fastmath<contract>
// CHECK-NEXT:      [[S2:%.+]] = arith.addf [[Z]], [[P2]] fastmath<contract>
// CHECK-NEXT:      scf.yield [[S0]], [[S1]], [[S2]]
// CHECK:         memref.store {{%.+}}, %c[[[I0]], [[J]]]
// CHECK-NEXT:    memref.store {{%.+}}, %c[[[I1]], [[J]]]
// CHECK-NEXT:    memref.store {{%.+}}, %c[[[I2]], [[J]]]
// CHECK:         scf.for
// CHECK:         scf.for {{.*}} -> (f32) {
// GPU-LABEL: @rows_at_once
// GPU-NOT:     fastmath
func.func @rows_at_once(%a: memref<11x7xf32>, %b: memref<7x16xf32>, %c: memref<11x16xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<11x7xf32>, memref<7x16xf32>) outs(%c : memref<11x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// A softmax computes each exponential once, and stores it: lanes share the row.

// CHECK-LABEL: @rows_store_exponentials
// CHECK:         %reused = memref.alloca() : memref<64xf32, #simt.memory<workgroup>>
// CHECK:         [[E:%.+]] = math.exp
// CHECK-NEXT:    memref.store [[E]], %reused[[[AT:%.+]]]
// CHECK-NOT:     math.exp
// CHECK:         [[K:%.+]] = memref.load %reused[[[AT2:%.+]]]
// CHECK-NEXT:    [[Q:%.+]] = arith.divf [[K]]
// CHECK-NEXT:    memref.store [[Q]], %y[{{%.+}}, [[AT2]]]
// GPU-LABEL: @rows_store_exponentials
// GPU-NOT:     alloca
// GPU-COUNT-2: math.exp
func.func @rows_store_exponentials(%x: memref<5x64xf32>, %y: memref<5x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<5xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<5xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<5x64xf32>) outs(%s : memref<5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %e = math.exp %a : f32
    %t = arith.addf %o, %e : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<5x64xf32>, memref<5xf32>) outs(%y : memref<5x64xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %e = math.exp %a : f32
    %q = arith.divf %e, %t : f32
    linalg.yield %q : f32
  }
  return
}

// Along columns, each work-item has its own.

// CHECK-LABEL: @columns_store_exponentials
// CHECK:         %reused = memref.alloca() : memref<5x64xf32, #simt.memory<workgroup>>
// CHECK:         [[E:%.+]] = math.exp
// CHECK-NEXT:    memref.store [[E]], %reused[{{%.+}}, [[LANE:%.+]]]
// CHECK:         memref.load %reused[{{%.+}}, [[LANE]]]
func.func @columns_store_exponentials(%x: memref<5x64xf32>, %y: memref<5x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<64xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<5x64xf32>) outs(%s : memref<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %e = math.exp %a : f32
    %t = arith.addf %o, %e : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<5x64xf32>, memref<64xf32>) outs(%y : memref<5x64xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %e = math.exp %a : f32
    %q = arith.divf %e, %t : f32
    linalg.yield %q : f32
  }
  return
}

// What is loaded along another loop than what is stored is staged: rows of a tile are
// copied, its columns are read.

// PLAN: remark: func.func: work-items: 16 along shared loop 1, tiles along shared loop 0, 
// CHECK-LABEL: @transpose
// CHECK:         %tile = memref.alloca() : memref<16x17xf32, #simt.memory<workgroup>>
// CHECK:         scf.for
// CHECK:         [[COL:%.+]] = arith.addi {{%.+}}, %lane
// CHECK-NEXT:    scf.for [[R:%.+]] = %c0 to %c16 step %c1 {
// CHECK-NEXT:      [[ROW:%.+]] = arith.addi {{%.+}}, [[R]]
// CHECK-NEXT:      [[X:%.+]] = memref.load %x[[[ROW]], [[COL]]]
// CHECK-NEXT:      memref.store [[X]], %tile[[[R]], %lane]
// CHECK:         simt.barrier workgroup memory = <workgroup>
// CHECK-NEXT:    scf.for [[C:%.+]] = %c0 to %c16 step %c1 {
// CHECK-NEXT:      [[AT:%.+]] = arith.addi {{%.+}}, [[C]]
// CHECK-NEXT:      [[Y:%.+]] = memref.load %tile[%lane, [[C]]]
// CHECK-NEXT:      memref.store [[Y]], %y[[[AT]],
// CHECK:         simt.barrier workgroup memory = <workgroup>
// GPU-LABEL: @transpose
// GPU:           memref<32x33xf32, #simt.memory<workgroup>>
func.func @transpose(%x: memref<32x64xf32>, %y: memref<64x32xf32>) {
  linalg.transpose ins(%x : memref<32x64xf32>) outs(%y : memref<64x32xf32>) permutation = [1, 0]
  return
}
