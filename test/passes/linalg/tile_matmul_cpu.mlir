// RUN: coopc-opt %s -p 'tile-matmul-cpu{block=4,2,8}' 2>%t | filecheck %s
// RUN: filecheck %s --check-prefix REMARK < %t
// RUN: coopc-opt %s -p 'tile-matmul-cpu{amx=false}' 2>&1 | filecheck %s --check-prefix AMX
// RUN: not coopc-opt %s -p 'coopc-cpu{block=4,2}' 2>&1 | filecheck %s --check-prefix COUNT
// RUN: coopc-opt %s -p 'tile-matmul-cpu{features=avx512bf16,avx512vnni}' 2>/dev/null | filecheck %s --check-prefix DOT
// RUN: not coopc-opt %s -p 'tile-matmul-cpu{features=avx2}' 2>&1 | filecheck %s --check-prefix FEATURES
// RUN: coopc-opt %s -p 'tile-matmul-cpu{threads=8}' 2>/dev/null | filecheck %s --check-prefix THIN
// RUN: not coopc-opt %s -p 'tile-matmul-cpu{tile=6,15}' 2>&1 | filecheck %s --check-prefix TILE
// RUN: not coopc-opt %s -p 'coopc-cpu{tile=1000,16}' 2>&1 | filecheck %s --check-prefix MOST
// RUN: not coopc-opt %s -p 'coopc-cpu{threads=0}' 2>&1 | filecheck %s --check-prefix THREADS

// A multiplication is two kernels: one packs A and B once, one multiplies what is packed.
// COUNT: pass-pipeline:1:1: error: coopc-cpu: expected a block of 3 numbers of 1 or more, panels of A, panels of B and K, got 4,2
// TILE: tile-matmul-cpu: expected a tile of rows and an even number of columns, got 6,15
// MOST: coopc-cpu: expected a tile of at most 1024 sums in registers, of which a row takes 16 or more, got 1000 x 16
// FEATURES: tile-matmul-cpu: expected features of avx512bf16, avx512vnni, got avx2
// THREADS: pass-pipeline:1:1: error: coopc-cpu: expected 1 thread or more, got 0

// CHECK: builtin.module attributes {cpu.kernels = {matmul = {
// CHECK-SAME: {name = "matmul.pack", groups = affine_map<(d0, d1, d2, d3, d4, d5) -> (((d4 ceildiv 6) + (d5 ceildiv 16)))>},
// CHECK-SAME: {name = "matmul.multiply", groups = affine_map<(d0, d1, d2, d3, d4, d5) -> ((d5 ceildiv 32), (d4 ceildiv 24))>}],
// CHECK-SAME: scratch = [{bytes = affine_map<{{.*}} -> ((d4 ceildiv 6), d1, 24)>, {{.*}} {bytes = affine_map<{{.*}} -> ((d5 ceildiv 16), d1, 64)>

// Rows of A are read along K and spread; rows of B are copied.
// CHECK-LABEL: func.func @matmul.pack(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>, %pa: memref<?xf32>, %pb: memref<?xf32>) attributes {simt.kernel, simt.subgroup_size = 1 : i32
// CHECK:         vector.load %a[{{.*}}] : memref<?x?xf32>, vector<16xf32>
// CHECK-COUNT-16: memref.store {{.*}}, %pa[
// CHECK:         vector.load %b[{{.*}}] : memref<?x?xf32>, vector<16xf32>
// CHECK:         vector.store {{.*}}, %pb[

// Four steps of K at a time, on six vectors of sums; then the rest.
// CHECK-LABEL: func.func @matmul.multiply(
// CHECK:         scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK-COUNT-24:  vector.fma {{.*}} : vector<16xf32>
// CHECK-NEXT:      scf.yield
// CHECK:         scf.for {{.*}} iter_args(
// CHECK-COUNT-6:   vector.fma
// CHECK-NEXT:      scf.yield
// AMX-LABEL: func.func @matmul.multiply(
func.func @matmul(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  func.return
}

// Narrow floats are packed as f32.
// CHECK-LABEL: func.func @narrow.pack(
// CHECK:         [[V:%.*]] = vector.load %a{{.*}}, vector<16xbf16>
// CHECK:         arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK-LABEL: func.func @narrow.multiply(
// AMX-LABEL: func.func @narrow(
func.func @narrow(%a: memref<64x64xbf16>, %b: memref<64x64xbf16>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x64xbf16>, memref<64x64xbf16>) outs(%c : memref<64x64xf32>)
  func.return
}

// Bytes are packed as pairs of i16, of which LLVM makes vpmaddwd.
// CHECK-LABEL: func.func @bytes.multiply(
// CHECK:         arith.extsi {{.*}} : vector<32xi16> to vector<32xi32>
// CHECK:         arith.muli {{.*}} : vector<32xi32>
// CHECK:         arith.addi {{.*}} : vector<16xi32>
// With AVX512_BF16 and AVX512_VNNI pairs and fours are multiplied as they are: bytes of A
// as a + 128, for which a last step of B has what that adds to sums.
// DOT-LABEL: func.func @narrow.multiply(
// DOT-COUNT-24: avx512.dot {{.*}} : vector<32xbf16>, vector<16xf32>
// DOT-LABEL: func.func @bytes.pack(
// DOT:         arith.xori {{.*}} : vector<64xi8>
// DOT:         avx512.dot {{.*}} : vector<64xi8>, vector<16xi32>
// DOT:         arith.subi {{.*}} : vector<16xi32>
// DOT-LABEL: func.func @bytes.multiply(
// DOT-COUNT-24: avx512.dot {{.*}} : vector<64xi8>, vector<16xi32>
func.func @bytes(%a: memref<64x64xi8>, %b: memref<64x64xi8>, %c: memref<64x64xi32>) {
  linalg.matmul ins(%a, %b : memref<64x64xi8>, memref<64x64xi8>) outs(%c : memref<64x64xi32>)
  func.return
}

// What is laid out in another way, or has other sums, stays, with a remark: it is slower.
// CHECK-LABEL: func.func @by_columns(
// CHECK:         linalg.matmul
func.func @by_columns(%a: memref<64x64xf32, strided<[1, 64]>>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x64xf32, strided<[1, 64]>>, memref<64x64xf32>) outs(%c : memref<64x64xf32>)
  func.return
}
// REMARK: tile_matmul_cpu.mlir:79:1: remark: func.func: not packed and blocked for the caches: elements of a row are not consecutive

// CHECK-LABEL: func.func @halves(
// CHECK:         linalg.matmul
func.func @halves(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %c: memref<64x64xf16>) {
  linalg.matmul ins(%a, %b : memref<64x64xf16>, memref<64x64xf16>) outs(%c : memref<64x64xf16>)
  func.return
}
// REMARK: tile_matmul_cpu.mlir:87:1: remark: func.func: not packed and blocked for the caches: no vectors multiply f16 and f16 into f16
// REMARK-NOT: remark

// With few rows nothing is packed: four words of B along K at a time, by those of A.
// Eight threads share K, as 64 columns are not enough for them.
// THIN: few = {stages = [{name = "few.multiply", groups = affine_map<() -> (1, 8)>}, {name = "few.add", groups = affine_map<() -> (1)>}], scratch = [{bytes = affine_map<() -> (8, 4, 128)>
// THIN-LABEL: func.func @few.multiply(%a: memref<2x2048xbf16>, %b: memref<2048x64xbf16>, %c: memref<2x64xf32>, %pa: memref<?xf32>)
// THIN:         scf.for %s = %s_first to %steps step %c32
// THIN:           scf.for %j = %j0 to %j1
// THIN:             vector.load %b[{{.*}}] : memref<2048x64xbf16>, vector<16xbf16>
// THIN-COUNT-8:     vector.fma
// THIN:             vector.maskedload %b[
// THIN-COUNT-8:     vector.fma
// THIN-LABEL: func.func @few.add(
// THIN:         scf.for %part = %c0 to %c8 step %c1
// THIN:         vector.store {{.*}}, %c[
func.func @few(%a: memref<2x2048xbf16>, %b: memref<2048x64xbf16>, %c: memref<2x64xf32>) {
  linalg.matmul ins(%a, %b : memref<2x2048xbf16>, memref<2048x64xbf16>) outs(%c : memref<2x64xf32>)
  func.return
}
