// RUN: coopc-opt %s | coopc-opt | filecheck %s

// Operations that xDSL lacks or misreads, as MLIR 22 prints them.

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func @products(
func.func @products(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x4xf32>, %i: tensor<4x8xi8>, %j: tensor<8x4xi8>, %s: tensor<4x4xi32>) {
  // CHECK: linalg.contract indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>] ins(%a, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.contract indexing_maps = [#mk, #nk, #mn] ins(%a, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(
  %1 = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%i, %j : tensor<4x8xi8>, tensor<8x4xi8>) outs(%s : tensor<4x4xi32>) -> tensor<4x4xi32>
  func.return
}

// CHECK-LABEL: func.func @buffers(
func.func @buffers(%a: memref<4x8xf32>, %x: memref<8xf32>, %y: memref<4xf32>, %n: memref<1x5x5x2xf32>, %w: memref<3x3x2x4xf32>, %o: memref<1x3x3x4xf32>) {
  // CHECK: linalg.matvec ins(%a, %x : memref<4x8xf32>, memref<8xf32>) outs(%y : memref<4xf32>)
  linalg.matvec ins(%a, %x : memref<4x8xf32>, memref<8xf32>) outs(%y : memref<4xf32>)
  // Steps of 1 may be left out.
  // CHECK: linalg.conv_2d_nhwc_hwcf {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>} ins(
  linalg.conv_2d_nhwc_hwcf ins(%n, %w : memref<1x5x5x2xf32>, memref<3x3x2x4xf32>) outs(%o : memref<1x3x3x4xf32>)
  func.return
}

// CHECK-LABEL: func.func @elements(
func.func @elements(%a: tensor<4x8xf32>, %r: tensor<4xf32>, %v: tensor<8xf32>) {
  // CHECK: linalg.elementwise kind=#linalg.elementwise_kind<max_signed> ins(
  %0 = linalg.elementwise kind=#linalg.elementwise_kind<max_signed> ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: linalg.div ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.div ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
  // The inputs are the operands of a single operation.
  // CHECK:      linalg.map ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) (%[[X:.*]]: f32, %[[Y:.*]]: f32, %{{.*}}: f32) {
  // CHECK-NEXT:   %[[Z:.*]] = arith.subf %[[X]], %[[Y]] : f32
  // CHECK-NEXT:   linalg.yield %[[Z]] : f32
  %2 = linalg.map { arith.subf } ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%a : tensor<4x8xf32>)
  // The output is the first operand of a single operation.
  // CHECK:      linalg.reduce ins(%a : tensor<4x8xf32>) outs(%r : tensor<4xf32>) dimensions = [1] (%[[X:.*]]: f32, %[[Y:.*]]: f32) {
  // CHECK-NEXT:   %[[Z:.*]] = arith.addf %[[Y]], %[[X]] fastmath<fast> : f32
  %3 = linalg.reduce { arith.addf {fastmath = #arith.fastmath<fast>} } ins(%a : tensor<4x8xf32>) outs(%r : tensor<4xf32>) dimensions = [1]
  // CHECK: linalg.broadcast ins(%v : tensor<8xf32>) outs(%a : tensor<4x8xf32>) dimensions = [0]
  %4 = linalg.broadcast ins(%v : tensor<8xf32>) outs(%a : tensor<4x8xf32>) dimensions = [0]
  // CHECK: linalg.softmax dimension(1) ins(%a : tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = linalg.softmax dimension(1) ins(%a : tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// CHECK-LABEL: func.func @around(
func.func @around(%a: tensor<8xf32>, %m: memref<8xf32, strided<[2], offset: ?>>, %n: index, %sizes: tensor<2xi64>) {
  // CHECK: bufferization.to_tensor %m restrict writable : memref<8xf32, strided<[2], offset: ?>> to tensor<8xf32>
  %0 = bufferization.to_tensor %m restrict writable : memref<8xf32, strided<[2], offset: ?>> to tensor<8xf32>
  // CHECK: bufferization.to_buffer %{{.*}} : tensor<8xf32> to memref<8xf32, strided<[?], offset: ?>>
  %1 = bufferization.to_buffer %0 : tensor<8xf32> to memref<8xf32, strided<[?], offset: ?>>
  // CHECK: bufferization.materialize_in_destination %a in restrict writable %m : (tensor<8xf32>, memref<8xf32, strided<[2], offset: ?>>) -> ()
  bufferization.materialize_in_destination %a in restrict writable %m : (tensor<8xf32>, memref<8xf32, strided<[2], offset: ?>>) -> ()
  // CHECK:      scf.forall (%i) = (0) to (%n) step (1) shared_outs(%o = %a) -> (tensor<8xf32>) {
  // CHECK:        scf.forall.in_parallel {
  // CHECK-NEXT:     tensor.parallel_insert_slice %{{.*}} into %o[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
  // CHECK:      } {mapping = [#gpu.block<x>]}
  %2 = scf.forall (%i) in (%n) shared_outs(%o = %a) -> (tensor<8xf32>) {
    %s = tensor.extract_slice %a[%i] [1] [1] : tensor<8xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
    }
  } {mapping = [#gpu.block<x>]}
  // CHECK:      tensor.generate %n {
  // CHECK-NEXT: ^{{.*}}(%j: index, %k: index):
  // CHECK:        tensor.yield %x : f32
  // CHECK-NEXT: } : tensor<?x2xf32>
  %3 = tensor.generate %n {
  ^bb0(%j: index, %k: index):
    %x = tensor.extract %a[%j] : tensor<8xf32>
    tensor.yield %x : f32
  } : tensor<?x2xf32>
  // CHECK:      tensor.reshape %{{.*}}(%sizes) : (tensor<?x2xf32>, tensor<2xi64>) -> tensor<4x?xf32>
  %4 = tensor.reshape %3(%sizes) : (tensor<?x2xf32>, tensor<2xi64>) -> tensor<4x?xf32>
  func.return
}
