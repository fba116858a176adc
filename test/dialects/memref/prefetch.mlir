// RUN: coopc-opt %s | filecheck %s
// RUN: coopc-opt %s --print-op-generic | coopc-opt | filecheck %s
// RUN: coopc-opt %s -t 'llvm-ir{device=amx}' | filecheck %s --check-prefix LLVM

// A hint, which stays where it is.

// CHECK-LABEL: func.func @hints(
// CHECK-NEXT:    memref.prefetch %{{.*}}[%{{.*}}, %{{.*}}], read, locality<2>, data : memref<8x16xf32>
// CHECK-NEXT:    memref.prefetch %{{.*}}[%{{.*}}, %{{.*}}], write, locality<3>, data : memref<8x16xf32>
// LLVM:          call void @llvm.prefetch.p0(ptr %{{.*}}, i32 0, i32 2, i32 1)
// LLVM:          call void @llvm.prefetch.p0(ptr %{{.*}}, i32 1, i32 3, i32 1)
func.func @hints(%a: memref<8x16xf32>, %i: index) {
  memref.prefetch %a[%i, %i], read, locality<2>, data : memref<8x16xf32>
  memref.prefetch %a[%i, %i], write, locality<3>, data : memref<8x16xf32>
  func.return
}
