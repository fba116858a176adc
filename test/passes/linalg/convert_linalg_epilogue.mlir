// RUN: coopc-opt %s -p "convert-linalg-to-coopmatrix{tile=32,16,8}" | filecheck %s

// The sums are in no memory: what uses them becomes a function of an element, on the
// matrix, and what is stored is converted.

#id = affine_map<(m, n) -> (m, n)>
#col = affine_map<(m, n) -> (n)>
#row = affine_map<(m, n) -> (m)>
#one = affine_map<(m, n) -> ()>

// CHECK-LABEL: func.func @bias_relu
// CHECK-NOT:   memref.alloc
// CHECK:       %sum = scf.for
// CHECK:       [[Y:%.*]] = coopmatrix.apply (%i{{.*}}, %j{{.*}}, [[V:%.*]]) in %sum
// CHECK-SAME:    matrix<32x16xf32, acc> {
// CHECK-NEXT:    [[R:%.*]] = arith.addi %row, %i{{.*}} : index
// CHECK-NEXT:    [[C:%.*]] = arith.addi %col, %j{{.*}} : index
// CHECK-NEXT:    %0 = memref.load %bias[[[C]]] : memref<16xf32>
// CHECK-NEXT:    %1 = arith.addf [[V]], %0 : f32
// CHECK-NEXT:    %2 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    [[F:%.*]] = arith.maximumf %1, %2 : f32
// CHECK-NEXT:    coopmatrix.yield [[F]] : f32
// CHECK-NEXT:  }
// CHECK-NEXT:  [[H:%.*]] = coopmatrix.convert [[Y]]
// CHECK-SAME:    matrix<32x16xf32, acc> -> !coopmatrix.matrix<32x16xf16, acc>
// CHECK-NEXT:  coopmatrix.store [[H]], %d[%row, %col] row_major :
// CHECK-NEXT:  func.return
func.func @bias_relu(%a: memref<64x8xf16>, %b: memref<8x16xf16>, %bias: memref<16xf32>, %d: memref<64x16xf16>) {
  %zero = arith.constant 0.0 : f32
  %acc = memref.alloc() : memref<64x16xf32>
  linalg.fill ins(%zero : f32) outs(%acc : memref<64x16xf32>)
  linalg.matmul ins(%a, %b : memref<64x8xf16>, memref<8x16xf16>) outs(%acc : memref<64x16xf32>)
  linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias : memref<64x16xf32>, memref<16xf32>) outs(%d : memref<64x16xf16>) {
  ^bb0(%x: f32, %y: f32, %z: f16):
    %s = arith.addf %x, %y : f32
    %r = arith.maximumf %s, %zero : f32
    %t = arith.truncf %r : f32 to f16
    linalg.yield %t : f16
  }
  memref.dealloc %acc : memref<64x16xf32>
  func.return
}

// Elements beyond edges are computed at the last place inside, and are not stored.  The
// interface says which sizes are the same.

// CHECK-LABEL: func.func @dynamic
// CHECK-SAME:  simt.equal_sizes = [array<i64: 1, 0, 0, 1>, array<i64: 2, 0, 0, 0>, array<i64: 3, 0, 0, 0>]
// CHECK:       [[SIZE:%.*]] = memref.dim %d, %c0
// CHECK-NEXT:  [[LAST:%.*]] = arith.subi [[SIZE]], %c1 : index
// CHECK:       coopmatrix.apply (%i{{.*}}, %j{{.*}}, [[V:%.*]])
// CHECK-NEXT:    [[R:%.*]] = arith.addi %row, %i{{.*}} : index
// CHECK-NEXT:    [[IN:%.*]] = arith.minui [[R]], [[LAST]] : index
// CHECK:         memref.load %scale[[[IN]]] : memref<?xf32>
// CHECK:       coopmatrix.store %sum_{{.*}}_y0, %d[%row, %col] row_major checked(rows)
func.func @dynamic(%a: memref<?x?xf16>, %b: memref<?x16xf16>, %d: memref<?x16xf32>, %scale: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = arith.constant 0 : index
  %m = memref.dim %d, %0 : memref<?x16xf32>
  %acc = memref.alloc(%m) : memref<?x16xf32>
  linalg.fill ins(%zero : f32) outs(%acc : memref<?x16xf32>)
  linalg.matmul ins(%a, %b : memref<?x?xf16>, memref<?x16xf16>) outs(%acc : memref<?x16xf32>)
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %scale : memref<?x16xf32>, memref<?xf32>) outs(%d : memref<?x16xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.mulf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// Sums that are an argument are stored, too, after all is read; an argument may be read
// where it is written, and scalars may come from outside.

// CHECK-LABEL: func.func @two_outputs
// CHECK:       coopmatrix.apply
// CHECK:         memref.load %d[%at_rows{{.*}}, %at_cols{{.*}}]
// CHECK:         arith.mulf %0, %beta : f32
// CHECK:       coopmatrix.store %sum, %c
// CHECK-NEXT:  coopmatrix.store %sum_{{.*}}_y1, %d
func.func @two_outputs(%a: memref<64x8xf32>, %b: memref<8x16xf32>, %c: memref<64x16xf32>, %d: memref<64x16xf32>, %beta: f32) {
  linalg.matmul ins(%a, %b : memref<64x8xf32>, memref<8x16xf32>) outs(%c : memref<64x16xf32>)
  linalg.generic {indexing_maps = [#id, #one, #id], iterator_types = ["parallel", "parallel"]} ins(%c, %beta : memref<64x16xf32>, f32) outs(%d : memref<64x16xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %old = arith.mulf %z, %y : f32
    %s = arith.addf %x, %old : f32
    linalg.yield %s : f32
  }
  func.return
}

// Casts of all sums are casts of matrices; the bits of what else has another type go
// through a matrix of the type of the sums.

// CHECK-LABEL: func.func @dequantised
// CHECK:       [[X:%.*]] = coopmatrix.convert signed %sum
// CHECK-SAME:    matrix<32x16xi32, acc> -> !coopmatrix.matrix<32x16xf32, acc>
// CHECK-NEXT:  [[Y:%.*]] = coopmatrix.apply (%i{{.*}}, %j{{.*}}, [[V:%.*]]) in [[X]]
// CHECK:         arith.mulf [[V]], %0 : f32
// CHECK:       coopmatrix.store [[Y]], %d
func.func @dequantised(%a: memref<64x8xi8>, %b: memref<8x16xi8>, %scale: memref<f32>, %d: memref<64x16xf32>) {
  %zero = arith.constant 0 : i32
  %acc = memref.alloc() : memref<64x16xi32>
  linalg.fill ins(%zero : i32) outs(%acc : memref<64x16xi32>)
  linalg.matmul ins(%a, %b : memref<64x8xi8>, memref<8x16xi8>) outs(%acc : memref<64x16xi32>)
  linalg.generic {indexing_maps = [#id, #one, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %scale : memref<64x16xi32>, memref<f32>) outs(%d : memref<64x16xf32>) {
  ^bb0(%x: i32, %y: f32, %z: f32):
    %f = arith.sitofp %x : i32 to f32
    %s = arith.mulf %f, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// CHECK-LABEL: func.func @zero_point
// CHECK:       [[Y:%.*]] = coopmatrix.apply (%i{{.*}}, %j{{.*}}, [[V:%.*]]) in %sum
// CHECK:         arith.sitofp %{{.*}} : i32 to f32
// CHECK-NEXT:    arith.truncf
// CHECK-NEXT:    arith.extf
// CHECK-NEXT:    arith.bitcast %{{.*}} : f32 to i32
// CHECK:       [[B:%.*]] = coopmatrix.bitcast [[Y]]
// CHECK-NEXT:  [[H:%.*]] = coopmatrix.convert [[B]]
// CHECK-NEXT:  coopmatrix.store [[H]], %d
func.func @zero_point(%a: memref<64x8xi8>, %b: memref<8x16xi8>, %zp: i32, %d: memref<64x16xf16>) {
  %zero = arith.constant 0 : i32
  %acc = memref.alloc() : memref<64x16xi32>
  linalg.fill ins(%zero : i32) outs(%acc : memref<64x16xi32>)
  linalg.matmul ins(%a, %b : memref<64x8xi8>, memref<8x16xi8>) outs(%acc : memref<64x16xi32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : memref<64x16xi32>) outs(%d : memref<64x16xf16>) {
  ^bb0(%x: i32, %z: f16):
    %less = arith.subi %x, %zp : i32
    %f = arith.sitofp %less : i32 to f32
    %h = arith.truncf %f : f32 to f16
    linalg.yield %h : f16
  }
  func.return
}
