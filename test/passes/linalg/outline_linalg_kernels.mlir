// RUN: coopc-opt %s -p outline-linalg-kernels | filecheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>

// What nothing reads is dropped, as the seed that torch-mlir adds to every module.

// CHECK-NOT: ml_program.global
ml_program.global private mutable @global_seed(dense<0> : tensor<i64>) : tensor<i64>

// A slice is written into memory that nothing reads later, without a copy of the rest.

// CHECK-LABEL: func.func @slice.0(%x: memref<?x6xf32>, %a: memref<?x6xf32>)
// CHECK:       func.func @slice.1(%source: memref<2x6xf32>, %result: memref<2x6xf32, strided<[6, 1], offset: ?>>)
// CHECK:       simt.sequence @slice(%x: memref<?x6xf32>, %y: memref<2x6xf32>, %result: memref<?x6xf32>) {
// CHECK-NOT:     memref.alloc
// CHECK:         simt.launch @slice.0(%x, %result)
// CHECK:         memref.reinterpret_cast %result to offset: [%{{.*}}], sizes: [2, 6], strides: [6, 1]
// CHECK:         simt.launch @slice.1(%y,
// CHECK:         simt.result %result[%{{.*}}] : memref<?x6xf32>
func.func @slice(%x: tensor<?x6xf32>, %y: tensor<2x6xf32>) -> tensor<?x6xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c0 : tensor<?x6xf32>
  %at = arith.subi %n, %c2 : index
  %e = tensor.empty(%n) : tensor<?x6xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x6xf32>) outs(%e : tensor<?x6xf32>) {
  ^bb0(%p: f32, %o: f32):
    %r = math.exp %p : f32
    linalg.yield %r : f32
  } -> tensor<?x6xf32>
  %b = tensor.insert_slice %y into %a[%at, 0] [2, 6] [1, 1] : tensor<2x6xf32> into tensor<?x6xf32>
  return %b : tensor<?x6xf32>
}

// One kernel on memrefs takes the place of the function.

// CHECK-LABEL: func.func @one(%m: memref<4x6xf32>) {
// CHECK-NEXT:    linalg.generic {{.*}} ins(%m : memref<4x6xf32>) outs(%m : memref<4x6xf32>)
// CHECK-NOT:   simt.sequence
func.func @one(%m: memref<4x6xf32>) {
  %x = bufferization.to_tensor %m restrict writable : memref<4x6xf32> to tensor<4x6xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%p: f32, %o: f32):
    %r = arith.addf %p, %p : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  bufferization.materialize_in_destination %a in restrict writable %m : (tensor<4x6xf32>, memref<4x6xf32>) -> ()
  return
}

// What a tensor.empty holds is not copied to where slices are put into it.

// CHECK-LABEL: simt.sequence @beside(%x: memref<2x6xf32>, %y: memref<3x6xf32>, %result: memref<5x6xf32>) {
// CHECK-NOT:     memref.alloc
// CHECK:         simt.launch @beside.0(%x,
// CHECK:         simt.launch @beside.1(%y,
// CHECK-NOT:     simt.launch
// CHECK:         simt.result
func.func @beside(%x: tensor<2x6xf32>, %y: tensor<3x6xf32>) -> tensor<5x6xf32> {
  %e = tensor.empty() : tensor<5x6xf32>
  %a = tensor.insert_slice %x into %e[0, 0] [2, 6] [1, 1] : tensor<2x6xf32> into tensor<5x6xf32>
  %b = tensor.insert_slice %y into %a[2, 0] [3, 6] [1, 1] : tensor<3x6xf32> into tensor<5x6xf32>
  return %b : tensor<5x6xf32>
}

// A result has the sizes that its type leaves open, which others may know.

// CHECK-LABEL: simt.sequence @cast(%x: memref<?x1x?xf32>, %result: memref<?x?x5xf32>) {
// CHECK:         %[[ROWS:.*]] = memref.dim %x, %c0
// CHECK:         %[[ONE:.*]] = arith.constant 1 : index
// CHECK:         simt.result %result[%[[ROWS]], %[[ONE]]]
func.func @cast(%x: tensor<?x1x?xf32>) -> tensor<?x?x5xf32> {
  %y = tensor.cast %x : tensor<?x1x?xf32> to tensor<?x?x5xf32>
  return %y : tensor<?x?x5xf32>
}

// Kernels that differ only in what they round to are two.

// CHECK-LABEL: func.func @formats.0(
// CHECK:         arith.truncf %{{.*}} : f32 to f16
// CHECK-LABEL: func.func @formats.1(
// CHECK:         arith.truncf %{{.*}} : f32 to bf16
// CHECK-LABEL: simt.sequence @formats(
// CHECK:         simt.launch @formats.0(
// CHECK:         simt.launch @formats.1(
func.func @formats(%a: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %e = tensor.empty() : tensor<4x6xf32>
  %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.truncf %x : f32 to f16
    %r = arith.extf %t : f16 to f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.truncf %x : f32 to bf16
    %r = arith.extf %t : bf16 to f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  return %p, %q : tensor<4x6xf32>, tensor<4x6xf32>
}
