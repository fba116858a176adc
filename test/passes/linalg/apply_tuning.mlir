// RUN: coopc-opt %s -p 'set-target{device=nvidia},apply-tuning{tuning="%S/Inputs/nvidia.toml" pipeline=coopc-khr staged=true}' 2>&1 | filecheck %s
// RUN: coopc-opt %s -p 'set-target{device=nvidia},apply-tuning{tuning="%S/Inputs/nvidia.toml" pipeline=coopc-khr}' 2>&1 | filecheck %s --check-prefix MODEL
// RUN: coopc-opt %s -p 'set-target{device=nvidia},apply-tuning{tuning="%S/Inputs/nvidia.toml" pipeline=coopc-khr explicit=tile}' 2>&1 | filecheck %s --check-prefix EXPLICIT
// RUN: coopc-opt %s -p 'coopc-khr{device=nvidia staged=true tuning="%S/Inputs/nvidia.toml"}' 2>/dev/null | filecheck %s --check-prefix STAGED
// RUN: coopc-opt %s -p 'coopc-khr{device=nvidia tuning="%S/Inputs/nvidia.toml"}' 2>/dev/null | filecheck %s --check-prefix DIRECT

// What the file has for a product is said of its function, and a remark says it.

// CHECK: remark: func.func: planned by {{.*}}nvidia.toml: group 64x32, subgroup 32x16, step 32
// CHECK: remark: func.func: planned by {{.*}}nvidia.toml: tile 16x16x16
// CHECK: remark: func.func: planned by the device table of nvidia: {{.*}}nvidia.toml does not have 64x64x64 f16 f16 f32, added to c
// MODEL: remark: func.func: planned by the cost model: {{.*}}nvidia.toml does not have 64x64x64
// EXPLICIT: remark: func.func: planned by the option tile, not by {{.*}}nvidia.toml
// EXPLICIT-NOT: coopmatrix.tuned

// CHECK: func.func @tiles
// CHECK-SAME: coopmatrix.tuned = "{{.*}}group{{.*}}[64, 32]
// CHECK: func.func @tile
// CHECK-SAME: coopmatrix.tuned = "{{.*}}tile{{.*}}[16, 16, 16]
// CHECK: func.func @other
// CHECK-NOT: coopmatrix.tuned

// Tiles are followed with and without `staged`, which is for other products.

// STAGED: func.func @tiles
// STAGED-SAME: simt.work_group_size = array<i32: 128
// STAGED: func.func @tile
// STAGED-SAME: simt.grid = affine_map<() -> (6, 4)>
// STAGED: func.func @other
// STAGED-SAME: simt.work_group_size = array<i32: {{64|128|256}}
// DIRECT: func.func @tiles
// DIRECT-SAME: simt.work_group_size = array<i32: 128
// DIRECT: func.func @tile
// DIRECT-SAME: simt.grid = affine_map<() -> (6, 4)>
// DIRECT: func.func @other
// DIRECT-SAME: simt.grid = affine_map<() -> (2, 2)>

func.func @tiles(%a: memref<64x64xf16>, %b: memref<64x96xf16>, %c: memref<64x96xf32>) {
  linalg.matmul ins(%a, %b : memref<64x64xf16>, memref<64x96xf16>) outs(%c : memref<64x96xf32>)
  func.return
}

func.func @tile(%a: memref<64x32xf16>, %b: memref<32x96xf16>, %c: memref<64x96xf32>) {
  linalg.matmul ins(%a, %b : memref<64x32xf16>, memref<32x96xf16>) outs(%c : memref<64x96xf32>)
  func.return
}

func.func @other(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x64xf16>, memref<64x64xf16>) outs(%c : memref<64x64xf32>)
  func.return
}
