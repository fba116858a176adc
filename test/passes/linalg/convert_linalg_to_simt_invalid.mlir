// RUN: coopc-opt %s -p 'convert-linalg-to-simt{device=amx}' --verify-diagnostics --split-input-file | filecheck %s
// RUN: not coopc-opt %s -p "convert-linalg-to-simt{device=amx tile=12}" --split-input-file 2>&1 | filecheck %s --check-prefix TILE
// TILE: error: convert-linalg-to-simt: expected 1 or more rows and columns, got tile=12

#p = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>

// Rows are computed at the same time: one may not read what another one writes.

func.func @transposed_in_place(%a: memref<8x8xf32>) {
  linalg.generic {indexing_maps = [#t, #p], iterator_types = ["parallel", "parallel"]} ins(%a : memref<8x8xf32>) outs(%a : memref<8x8xf32>) {
  ^bb0(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}
// CHECK: linalg.generic: expected memory that is written to be read before, at the same index

// -----

#p = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>
#c = affine_map<(d0, d1) -> (d1)>

// Rows and columns of a dynamic matrix are not known to be as many.

func.func @both(%a: memref<?x?xf32>, %r: memref<?xf32>, %c: memref<?xf32>) {
  linalg.generic {indexing_maps = [#p, #r], iterator_types = ["parallel", "reduction"]} ins(%a : memref<?x?xf32>) outs(%r : memref<?xf32>) {
  ^bb0(%x: f32, %z: f32):
    %s = arith.addf %x, %z : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#p, #c], iterator_types = ["reduction", "parallel"]} ins(%a : memref<?x?xf32>) outs(%c : memref<?xf32>) {
  ^bb0(%x: f32, %z: f32):
    %s = arith.addf %x, %z : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK: linalg.generic: expected the parallel loops of the first reduction, which are known to have the same sizes

// -----

#p = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>
#c = affine_map<(d0, d1) -> (d1)>

// What a row has reduced is known to this row only.

func.func @other_row(%a: memref<8x8xf32>, %o: memref<8x8xf32>) {
  %m = memref.alloc() : memref<8xf32>
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%m : memref<8xf32>)
  linalg.generic {indexing_maps = [#p, #r], iterator_types = ["parallel", "reduction"]} ins(%a : memref<8x8xf32>) outs(%m : memref<8xf32>) {
  ^bb0(%x: f32, %z: f32):
    %s = arith.addf %x, %z : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#r, #c, #p], iterator_types = ["parallel", "parallel"]} ins(%m, %m : memref<8xf32>, memref<8xf32>) outs(%o : memref<8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.subf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK: linalg.generic: expected what a row has reduced to be read by the same row, got index

// -----

func.func @unwritten(%o: memref<8xf32>) {
  %m = memref.alloc() : memref<8xf32>
  linalg.add ins(%m, %m : memref<8xf32>, memref<8xf32>) outs(%o : memref<8xf32>)
  func.return
}
// CHECK: linalg.add: expected memory that an operation has written

// -----

func.func @store(%o: memref<8xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  linalg.fill ins(%x : f32) outs(%o : memref<8xf32>)
  memref.store %x, %o[%c0] : memref<8xf32>
  func.return
}
// CHECK: memref.store: expected linalg, memory and numbers, got memref.store

// -----

// What a reduction gives has no place along its loop.

#p = affine_map<(d0, d1) -> (d0, d1)>

func.func @along_reduction(%a: memref<6x6xf32>, %b: memref<6x6xf32>) {
  linalg.generic {indexing_maps = [#p, #p], iterator_types = ["parallel", "reduction"]} ins(%a : memref<6x6xf32>) outs(%b : memref<6x6xf32>) {
  ^bb0(%x: f32, %z: f32):
    %s = arith.addf %x, %z : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK: linalg.generic: expected outputs at places along parallel loops only, got (d0, d1) -> (d0, d1)
