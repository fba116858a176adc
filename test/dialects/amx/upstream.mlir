// REQUIRES: mlir-opt
// RUN: coopc-opt %root/test/dialects/amx/ops.mlir | mlir-opt | filecheck %s
// RUN: coopc-opt %root/test/dialects/amx/ops.mlir --print-op-generic | mlir-opt | filecheck %s
// RUN: coopc-opt %root/test/dialects/amx/ops.mlir | mlir-opt --mlir-print-op-generic | coopc-opt | filecheck %s

// Upstream's mlir-opt reads what coopc prints, custom and generic, and coopc what it
// prints.

// CHECK-LABEL: func.func @memory(
// CHECK:      amx.tile_load %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
// CHECK-NEXT: amx.tile_load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}], %{{.*}} {note} : memref<3x4x64xi8, strided<[?, 80, 1]>> into !amx.tile<4x64xi8>
// CHECK-NEXT: amx.tile_load %{{.*}}[%{{.*}}], %{{.*}} : memref<?xf32> into !amx.tile<1x1xf32>
// CHECK-NEXT: amx.tile_store %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} : memref<?x?xbf16>, !amx.tile<16x32xbf16>
// CHECK-NEXT: amx.tile_store %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} : memref<?xf32>, !amx.tile<1x1xf32>
// CHECK-LABEL: func.func @products(
// CHECK:      amx.tile_zero : !amx.tile<5x7xf32>
// CHECK-NEXT: amx.tile_mulf %{{.*}}, %{{.*}}, %{{.*}} : !amx.tile<5x6xf16>, !amx.tile<3x14xf16>, !amx.tile<5x7xf32>
// CHECK-NEXT: amx.tile_zero : !amx.tile<16x16xi32>
// CHECK-NEXT: amx.tile_muli %{{[^ ]*}}, %{{[^ ]*}}, %{{.*}} : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
// CHECK-NEXT: amx.tile_muli %{{.*}} zext, %{{[^ ]*}}, %{{.*}} :
// CHECK-NEXT: amx.tile_muli %{{[^ ]*}}, %{{.*}} zext, %{{.*}} :
// CHECK-NEXT: amx.tile_muli %{{.*}} zext, %{{.*}} zext, %{{.*}} :
