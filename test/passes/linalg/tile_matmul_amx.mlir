// RUN: coopc-opt %s -p 'tile-matmul-amx{block=4,2,8}' 2>%t | filecheck %s
// RUN: filecheck %s --check-prefix REMARK < %t
// RUN: coopc-opt %s -p 'tile-matmul-amx{prepack=b}' 2>%t.prepack | filecheck %s --check-prefix PREPACK
// RUN: filecheck %s --check-prefix ELSEWHERE < %t.prepack
// RUN: coopc-opt %s -p 'tile-matmul-amx{threads=16}' 2>/dev/null | filecheck %s --check-prefix BAND
// RUN: not coopc-opt %s -p 'tile-matmul-amx{block=64,64,8}' 2>&1 | filecheck %s --check-prefix LARGE
// RUN: not coopc-opt %s -p 'coopc-amx{block=4,2}' 2>&1 | filecheck %s --check-prefix COUNT
// RUN: not coopc-opt %s -p 'tile-matmul-amx{block=4,0,8}' 2>&1 | filecheck %s --check-prefix NONE
// RUN: not coopc-opt %s -p 'coopc-amx{threads=0}' 2>&1 | filecheck %s --check-prefix THREADS

// A multiplication is two kernels: one packs A and B once, one multiplies what is packed.
// LARGE: expected at most 1048576 bytes of accumulators in a block, got 16777216
// COUNT: pass-pipeline:1:1: error: coopc-amx: expected a block of 3 numbers, panels of A, panels of B and steps of K, got 4,2
// NONE: tile-matmul-amx: expected a block of 1 or more of each, got 4 x 0 panels and 8 steps
// THREADS: pass-pipeline:1:1: error: coopc-amx: expected 1 thread or more, got 0

// CHECK: builtin.module attributes {cpu.kernels = {matmul = {
// CHECK-SAME: stages = [
// CHECK-SAME: {name = "matmul.pack", groups = affine_map<(d0, d1, d2, d3, d4, d5) -> (((d4 ceildiv 32) + (d1 ceildiv 64)))>},
// CHECK-SAME: {name = "matmul.multiply", groups = affine_map<(d0, d1, d2, d3, d4, d5) -> (((d5 ceildiv 32) ceildiv 2), ((d4 ceildiv 32) ceildiv 4))>}],
// CHECK-SAME: scratch = [{bytes = affine_map<(d0, d1, d2, d3, d4, d5) -> ((d4 ceildiv 32), (d1 ceildiv 64), 2048)>, sizes = affine_map<{{.*}} -> ({{[0-9]+}})>}, {bytes = affine_map<{{.*}} -> ((d5 ceildiv 32), (d1 ceildiv 64), 2048)>, sizes

// B: four rows of K by turns, into two tiles side by side.
// CHECK-LABEL: func.func @matmul.pack(%a: memref<?x?xi8>, %b: memref<?x?xi8>, %c: memref<?x?xi32>, %pa: memref<32x?xi8, strided<[64, 1]>>, %pb: memref<32x?xi8, strided<[64, 1]>>) attributes {simt.kernel, simt.subgroup_size = 1 : i32
// CHECK:         vector.load %a[{{.*}}] : memref<?x?xi8>, vector<64xi8>
// CHECK:         vector.store {{.*}}, %pa[
// CHECK:         vector.load %b[{{.*}}] : memref<?x?xi8>, vector<32xi8>
// CHECK:         [[L:%.*]] = vector.shuffle {{.*}} [0, 32, 1, 33, 2, 34, {{.*}}, 15, 47] : vector<32xi8>, vector<32xi8>
// CHECK:         vector.shuffle {{.*}} [0, 16, 1, 17, {{.*}}, 15, 31] : vector<16xi16>, vector<16xi16>
// CHECK:         vector.shuffle {{.*}} [16, 48, {{.*}}, 31, 63] : vector<32xi8>, vector<32xi8>
// CHECK-COUNT-2: vector.store {{.*}}, %pb[

// Four steps of K at a time, on two tiles of A, two of B and four sums; then the rest.
// CHECK-LABEL: func.func @matmul.multiply(
// CHECK:         memref.alloca() {alignment = 64 : i64} : memref<256x32xi32>
// CHECK:         scf.for {{.*}} iter_args({{.*}}) -> (!coopmatrix.matrix<32x16xi32, acc>, !coopmatrix.matrix<32x16xi32, acc>) {
// CHECK:           coopmatrix.load %pa[{{.*}}] row_major nontemporal
// CHECK-COUNT-2:   coopmatrix.mul_add {{.*}} signed(a, b, c, result) : !coopmatrix.matrix<32x64xi8, a>, !coopmatrix.matrix<64x16xi8, b>, !coopmatrix.matrix<32x16xi32, acc>
// CHECK:           coopmatrix.prefetch %pa[{{.*}}] row_major level = 2 : memref<32x?xi8, strided<[64, 1]>>, !coopmatrix.matrix<16x64xi8, a>
// CHECK:           coopmatrix.prefetch %pb[{{.*}}] row_major level = 2 : memref<32x?xi8, strided<[64, 1]>>, !coopmatrix.matrix<8x64xi8, a>
// CHECK-COUNT-8:   memref.prefetch %target[{{.*}}], write, locality<3>, data
// CHECK-COUNT-6:   coopmatrix.mul_add
// CHECK-NOT:       coopmatrix.mul_add
// CHECK:           scf.yield
// CHECK:         scf.for {{.*}} iter_args(
// CHECK-COUNT-2:   coopmatrix.mul_add
// CHECK-NEXT:      scf.yield
func.func @matmul(%a: memref<?x?xi8>, %b: memref<?x?xi8>, %c: memref<?x?xi32>) {
  linalg.matmul ins(%a, %b : memref<?x?xi8>, memref<?x?xi8>) outs(%c : memref<?x?xi32>)
  func.return
}

// A transposed B has rows along K: they are rows of tiles once its words are turned, and
// so have columns of a transposed A, once they are interleaved. Panels of a batch follow
// each other.
// CHECK-LABEL: func.func @turned.pack(
// CHECK:         %turned = memref.alloca() {alignment = 64 : i64} : memref<32x32xbf16>
// CHECK:         vector.load %a[%batch, {{.*}}] : memref<3x64x192xbf16>, vector<32xbf16>
// CHECK-COUNT-2: vector.store {{.*}}, %turned[
// CHECK-COUNT-16: vector.load %turned[
// CHECK:         vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23] : vector<16xi32>, vector<16xi32>
// CHECK-COUNT-16: vector.store {{.*}}, %pa[
// CHECK:         vector.load %b[%batch, {{.*}}] : memref<3x64x64xbf16>, vector<32xbf16>
// CHECK:         vector.store {{.*}}, %turned[
// CHECK-COUNT-16: vector.store {{.*}}, %pb[
// CHECK-LABEL: func.func @turned.multiply(
// CHECK:         memref.subview %c[%batch, %row, %col] [1, 32, 32] [1, 1, 1]
func.func @turned(%a: memref<3x64x192xbf16>, %b: memref<3x64x64xbf16>, %c: memref<3x192x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, k, m)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : memref<3x64x192xbf16>, memref<3x64x64xbf16>) outs(%c : memref<3x192x64xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %v = arith.extf %x : bf16 to f32
    %w = arith.extf %y : bf16 to f32
    %p = arith.mulf %v, %w : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }
  func.return
}

// What is laid out in another way stays, with a remark: it is slower.
// CHECK-LABEL: func.func @by_columns(
// CHECK:         linalg.matmul
func.func @by_columns(%a: memref<64x64xbf16, strided<[1, 64]>>, %b: memref<64x64xbf16>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x64xbf16, strided<[1, 64]>>, memref<64x64xbf16>) outs(%c : memref<64x64xf32>)
  func.return
}
// REMARK:     tile_matmul_amx.mlir:83:1: remark: func.func: not packed and blocked for the caches: elements of a row are not consecutive
// REMARK-NOT: remark

// What AMX does not multiply stays, without one.
// CHECK-LABEL: func.func @left(
// CHECK:         linalg.matmul
func.func @left(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  func.return
}

// A name that is taken gets a number.
// CHECK-LABEL: func.func @taken_1.pack(
// CHECK:       func.func @taken_1.multiply(
// CHECK:       func.func @taken.pack()
func.func @taken(%a: memref<192x64xi8>, %b: memref<64x64xi8>, %c: memref<192x64xi32>) {
  linalg.matmul ins(%a, %b : memref<192x64xi8>, memref<64x64xi8>) outs(%c : memref<192x64xi32>)
  func.return
}
func.func @taken.pack() {
  func.return
}

// One row of work-groups has all rows of C: each packs its panels of B, eight steps of K
// at a time, and multiplies them.
// CHECK-LABEL: func.func @one_row.multiply(%a: memref<50x300xbf16>, %b: memref<300x100xbf16>, %c: memref<50x100xf32>, %pa: memref<32x?xbf16, strided<[32, 1]>>)
// CHECK:         %slab = memref.alloca() {alignment = 64 : i64} : memref<512x32xbf16>
// CHECK:         %pb = memref.reinterpret_cast %slab
// CHECK:         vector.load %b[
// CHECK-COUNT-2: vector.store {{.*}}, %pb[
// CHECK:         coopmatrix.load %pb[{{.*}}] packed
func.func @one_row(%a: memref<50x300xbf16>, %b: memref<300x100xbf16>, %c: memref<50x100xf32>) {
  linalg.matmul ins(%a, %b : memref<50x300xbf16>, memref<300x100xbf16>) outs(%c : memref<50x100xf32>)
  func.return
}

// With prepack=b the caller has B packed by a kernel of its own, as large as the map
// says, and gives it in the place of B. A that is read as it is needs no kernel. Two steps
// are one slab, and leave room in the first cache for A.
// PREPACK: known.pack_b = {stages = [{name = "known.pack_b", groups = affine_map<(d0) -> (2)>}], scratch = []}
// PREPACK-SAME: known = {stages = [{name = "known.multiply", groups = affine_map<(d0) -> (1, 1)>}], scratch = [{bytes = affine_map<(d0) -> (0, 2, 2048)>, {{.*}}}], packed = {argument = 1 : i64, type = memref<?xbf16>, elements = affine_map<(d0) -> (2, 2, 1024)>}}
// PREPACK-LABEL: func.func @known.multiply(%a: memref<64x64xbf16>, %b: memref<?xbf16>, %c: memref<64x64xf32>, %pa: memref<32x?xbf16, strided<[32, 1]>>)
// PREPACK:         memref.reinterpret_cast %b to offset: [0], sizes: [32, {{.*}}], strides: [32, 1] : memref<?xbf16> to memref<32x?xbf16, strided<[32, 1]>>
// PREPACK-NOT:     nontemporal
// PREPACK-NOT:     coopmatrix.prefetch
// PREPACK-LABEL: func.func @known.pack_b(%b: memref<64x64xbf16>, %b_packed: memref<?xbf16>)
func.func @known(%a: memref<64x64xbf16>, %b: memref<64x64xbf16>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x64xbf16>, memref<64x64xbf16>) outs(%c : memref<64x64xf32>)
  func.return
}

// ELSEWHERE: func.func: B is not packed by a kernel of its own: it is used elsewhere, too
// PREPACK-LABEL: func.func @square.pack(%a: memref<64x64xbf16>, %c: memref<64x64xf32>, %pa
// PREPACK-LABEL: func.func @square.multiply(
func.func @square(%a: memref<64x64xbf16>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %a : memref<64x64xbf16>, memref<64x64xbf16>) outs(%c : memref<64x64xf32>)
  func.return
}

// Few rows of C are left to vectors, unless B is packed.
// CHECK-LABEL: func.func @few.multiply(
// PREPACK-LABEL: func.func @few.multiply(
func.func @few(%a: memref<4x64xbf16>, %b: memref<64x64xbf16>, %c: memref<4x64xf32>) {
  linalg.matmul ins(%a, %b : memref<4x64xbf16>, memref<64x64xbf16>) outs(%c : memref<4x64xf32>)
  func.return
}

// Threads have shares near squares: of 16 x 32 blocks 32 each, in bands of four. Parts of
// a step of B are packed that are as large as a panel of A, which several threads read as
// it is: rows of 2 KiB are prefetched, eight lines at a time.
// BAND: large = {stages = [{name = "large.pack", groups = affine_map<() -> (64)>}, {name = "large.multiply", groups = affine_map<() -> (16, 32)>}]
// BAND-SAME: own = {stages = [{name = "own.multiply", groups = affine_map<() -> (2, 7)>}]
// BAND-LABEL: func.func @large.pack(
// BAND:         %p0 = arith.muli %part, %c32
// BAND-LABEL: func.func @large.multiply(
// BAND:         %in_band = arith.muli %across, %c4
// BAND:         %high = arith.minui %below, %c4
// BAND:         %x = arith.divui %at_band, %high
// BAND:         coopmatrix.load %a[%row, %{{.*}}] row_major nontemporal : memref<4096x2048xi8>
// BAND:         coopmatrix.prefetch %a[%q_row0, %q_col0] row_major level = 2 : memref<4096x2048xi8>, !coopmatrix.matrix<1x512xi8, a>
func.func @large(%a: memref<4096x2048xi8>, %b: memref<2048x2048xi8>, %c: memref<4096x2048xi32>) {
  linalg.matmul ins(%a, %b : memref<4096x2048xi8>, memref<2048x2048xi8>) outs(%c : memref<4096x2048xi32>)
  func.return
}

// Where C has few rows, each thread packs what it needs of B. A is read in place: what
// ends beyond its last row and its last column is copied and padded with zeros.
// BAND-LABEL: func.func @own.multiply(
// BAND:         %[[TAIL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x512xbf16>
// BAND:         %[[BEYOND:.*]] = memref.alloca() {alignment = 64 : i64} : memref<{{.*}}x32xbf16>
// BAND:         vector.store %{{.*}}, %last_step[%row_{{.*}}, %{{.*}}] : memref<32x?xbf16, strided<[32, 1]>>, vector<32xbf16>
// BAND:         vector.store %{{.*}}, %[[TAIL]][%{{.*}}, %{{.*}}] : memref<32x512xbf16>, vector<32xbf16>
// BAND:         %panel = scf.if %row_in -> (memref<32x?xbf16, strided<[?, 1], offset: ?>>)
// BAND:           memref.subview %a[%row{{.*}}, 0] [32, %{{.*}}] [1, 1]
// BAND:         } else {
// BAND:           memref.cast %[[TAIL]]
// BAND:         coopmatrix.load %panel[%c0, %{{.*}}] row_major
// BAND:         scf.for %{{.*}} = %full to %some step
// BAND:           coopmatrix.load %last_step[%c0, %at_ii] row_major
func.func @own(%a: memref<650x917xbf16>, %b: memref<917x192xbf16>, %c: memref<650x192xf32>) {
  linalg.matmul ins(%a, %b : memref<650x917xbf16>, memref<917x192xbf16>) outs(%c : memref<650x192xf32>)
  func.return
}

// Few steps along K, and more of C than the second cache has: a tile prefetches the rows
// of the next one, of two lines each. What is smaller is there already.

// CHECK-LABEL: func.func @short.multiply
// CHECK:         %[[LAST:.*]] = arith.subi %m, %c1
// CHECK:         %[[BELOW:.*]] = arith.addi %row, %c32
// CHECK-NEXT:    %[[NEAR:.*]] = arith.minui %[[BELOW]], %[[LAST]]
// CHECK:         memref.prefetch %c[%[[NEAR]], %{{.*}}], write, locality<3>, data : memref<1155x1045xi32>
// CHECK-COUNT-63: memref.prefetch %c[{{.*}}], write, locality<3>, data
// CHECK:         coopmatrix.mul_add
func.func @short(%a: memref<1155x160xi8>, %b: memref<160x1045xi8>, %c: memref<1155x1045xi32>) {
  linalg.matmul ins(%a, %b : memref<1155x160xi8>, memref<160x1045xi8>) outs(%c : memref<1155x1045xi32>)
  func.return
}

// CHECK-LABEL: func.func @small.multiply
// CHECK-NOT:     memref.prefetch %c
// CHECK:         func.return
func.func @small(%a: memref<512x160xi8>, %b: memref<160x512xi8>, %c: memref<512x512xi32>) {
  linalg.matmul ins(%a, %b : memref<512x160xi8>, memref<160x512xi8>) outs(%c : memref<512x512xi32>)
  func.return
}

// Rows of C that are whole lines: where it begins with one, stores pass the caches, and no
// row is prefetched. Else tiles are stored where they are, as before.
// CHECK-LABEL: func.func @lines.multiply
// CHECK:         %[[FIRST:.*]] = memref.reinterpret_cast %c to offset: [0], sizes: [], strides: [] : memref<1100x1024xi32> to memref<i32>
// CHECK-NEXT:    %[[AT:.*]] = simt.address_of %[[FIRST]]
// CHECK-NEXT:    %[[ANY:.*]] = arith.ori %of_line, %[[AT]] : i64
// CHECK-NEXT:    %{{.*}} = arith.constant 63 : i64
// CHECK-NEXT:    %[[IN:.*]] = arith.andi %[[ANY]], %{{.*}} : i64
// CHECK-NEXT:    %[[STREAMS:.*]] = arith.cmpi eq, %[[IN]], %of_line : i64
// CHECK:         %[[APART:.*]] = arith.ori %outside, %[[STREAMS]] : i1
// CHECK:         scf.if %[[APART]] -> (memref<32x32xi32, strided<[?, 1], offset: ?>>)
// CHECK-NEXT:      memref.cast %edge
// CHECK:         scf.if %[[STREAMS]] {
// CHECK-NEXT:    } else {
// CHECK:           memref.prefetch %c
// CHECK:         coopmatrix.store %{{.*}}, %target
// CHECK:         scf.if %col_in {
// CHECK-NEXT:      scf.if %[[STREAMS]] {
// CHECK:             vector.store %total, %c[%at, %col] {alignment = 64 : i64, nontemporal = true} : memref<1100x1024xi32>, vector<32xi32>
// CHECK:           } else {
// CHECK:             vector.store %total{{.*}}, %c[%at{{.*}}, %col] : memref<1100x1024xi32>, vector<32xi32>
// CHECK:         } else {
// CHECK:           vector.maskedstore %c
func.func @lines(%a: memref<1100x160xi8>, %b: memref<160x1024xi8>, %c: memref<1100x1024xi32>) {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%c : memref<1100x1024xi32>)
  linalg.matmul ins(%a, %b : memref<1100x160xi8>, memref<160x1024xi8>) outs(%c : memref<1100x1024xi32>)
  func.return
}
