// RUN: coopc-opt %s -p split-reductions | filecheck %s
// RUN: coopc-opt %s -p 'split-reductions{parts=64}' | filecheck %s --check-prefix=CPU

// The rows of a matrix; half as many where there may be fewer parts than rows.

// CHECK-LABEL: func.func @all
// CHECK:       %[[BEGIN:.*]] = linalg.fill ins({{.*}} : f32) outs({{.*}} : tensor<4096xf32>)
// CHECK:       %[[ROWS:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4096x4096xf32>) outs(%[[BEGIN]] : tensor<4096xf32>)
// CHECK:       %[[ALL:.*]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%[[ROWS]] : tensor<4096xf32>) outs(%init : tensor<f32>)
// CHECK:       func.return %[[ALL]]

// CPU-LABEL: func.func @all
// CPU:       tensor.expand_shape %x {{.*}} : tensor<4096x4096xf32> into tensor<64x64x4096xf32>
// CPU:       linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0, d1)>, affine_map<(d0, d1, d2) -> (d2)>], iterator_types = ["reduction", "reduction", "parallel"]}
func.func @all(%x: tensor<4096x4096xf32>, %init: tensor<f32>) -> tensor<f32> {
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<4096x4096xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<f32>
  func.return %s : tensor<f32>
}

// Images by channel: their number and their rows.

// CHECK-LABEL: func.func @channels
// CHECK:       ins(%x : tensor<32x16x64x64xf32>) outs({{.*}} : tensor<32x16x64xf32>)
// CHECK:       iterator_types = ["reduction", "reduction", "parallel"]} ins({{.*}} : tensor<32x16x64xf32>) outs(%init : tensor<64xf32>)

// CPU-LABEL: func.func @channels
// CPU:       tensor.expand_shape %x {{.*}} : tensor<32x16x64x64xf32> into tensor<8x4x16x64x64xf32>
func.func @channels(%x: tensor<32x16x64x64xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %s = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (c)>], iterator_types = ["reduction", "reduction", "reduction", "parallel"]}
      ins(%x : tensor<32x16x64x64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<64xf32>
  func.return %s : tensor<64xf32>
}

// Products of f16 and their sum are of f32 until the end.

// CHECK-LABEL: func.func @dot
// CHECK-DAG:   %[[X:.*]] = tensor.expand_shape %x {{.*}} : tensor<1048576xf16> into tensor<4096x256xf16>
// CHECK-DAG:   %[[Y:.*]] = tensor.expand_shape %y {{.*}} : tensor<1048576xf16> into tensor<4096x256xf16>
// CHECK:       %[[P:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[Y]] : {{.*}}) outs({{.*}} : tensor<4096xf32>)
// CHECK-NEXT:  ^bb0(%{{.*}}: f16, %{{.*}}: f16, %{{.*}}: f32):
// CHECK-NEXT:    arith.extf
// CHECK-NEXT:    arith.extf
// CHECK-NEXT:    arith.mulf {{.*}} : f32
// CHECK-NEXT:    arith.addf {{.*}} : f32
// CHECK:       %[[S:.*]] = linalg.generic {{.*}} ins(%[[P]] : tensor<4096xf32>) outs({{.*}} : tensor<f32>)
// CHECK:       linalg.generic {{.*}} ins(%[[S]], %init : tensor<f32>, tensor<f16>) outs({{.*}} : tensor<f16>)
// CHECK:         arith.truncf
func.func @dot(%x: tensor<1048576xf16>, %y: tensor<1048576xf16>, %init: tensor<f16>) -> tensor<f16> {
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x, %y : tensor<1048576xf16>, tensor<1048576xf16>) outs(%init : tensor<f16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %p = arith.mulf %a, %b : f16
    %q = arith.addf %p, %c : f16
    linalg.yield %q : f16
  } -> tensor<f16>
  func.return %s : tensor<f16>
}

// Of dynamic sizes, the outer loop.

// CHECK-LABEL: func.func @dynamic
// CHECK:       %[[N:.*]] = tensor.dim %x, %{{.*}} : tensor<?x?xi32>
// CHECK:       tensor.empty(%[[N]]) : tensor<?xi32>
// CHECK:       ins(%x : tensor<?x?xi32>) outs({{.*}} : tensor<?xi32>)
// CHECK:       ins({{.*}} : tensor<?xi32>) outs(%init : tensor<i32>)
func.func @dynamic(%x: tensor<?x?xi32>, %init: tensor<i32>) -> tensor<i32> {
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<?x?xi32>) outs(%init : tensor<i32>) {
  ^bb0(%a: i32, %b: i32):
    %c = arith.minsi %a, %b : i32
    linalg.yield %c : i32
  } -> tensor<i32>
  func.return %s : tensor<i32>
}

// Rows that are many already, few elements, a prime size, steps that have an order, and
// a loop whose number is used: these stay.

// CHECK-LABEL: func.func @rows
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:   linalg.generic
// CHECK:       func.return
func.func @rows(%x: tensor<4096x4096xf32>, %init: tensor<4096xf32>) -> tensor<4096xf32> {
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4096x4096xf32>) outs(%init : tensor<4096xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<4096xf32>
  func.return %s : tensor<4096xf32>
}

// CHECK-LABEL: func.func @few
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:   linalg.generic
// CHECK:       func.return
func.func @few(%x: tensor<64x64xf32>, %init: tensor<f32>) -> tensor<f32> {
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<64x64xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<f32>
  func.return %s : tensor<f32>
}

// CHECK-LABEL: func.func @prime
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:   linalg.generic
// CHECK:       func.return
func.func @prime(%x: tensor<1048583xf32>, %init: tensor<f32>) -> tensor<f32> {
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<1048583xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<f32>
  func.return %s : tensor<f32>
}

// CHECK-LABEL: func.func @ordered
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:   linalg.generic
// CHECK:       func.return
func.func @ordered(%x: tensor<4096x4096xf32>, %init: tensor<f32>) -> tensor<f32> {
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<4096x4096xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<f32>
  func.return %s : tensor<f32>
}

// CHECK-LABEL: func.func @numbered
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:   linalg.generic
// CHECK:       func.return
func.func @numbered(%x: tensor<1048576xi64>, %init: tensor<i64>) -> tensor<i64> {
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<1048576xi64>) outs(%init : tensor<i64>) {
  ^bb0(%a: i64, %b: i64):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    %p = arith.muli %a, %j : i64
    %c = arith.addi %p, %b : i64
    linalg.yield %c : i64
  } -> tensor<i64>
  func.return %s : tensor<i64>
}

// The diagonal of a matrix, a size that another operand tells, and elements that are
// indices: these stay.

// CHECK-LABEL: func.func @diagonal
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:   linalg.generic
// CHECK:       func.return
func.func @diagonal(%x: tensor<1048576x1048576xf32>, %init: tensor<f32>) -> tensor<f32> {
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<1048576x1048576xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<f32>
  func.return %s : tensor<f32>
}

// CHECK-LABEL: func.func @told
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:   linalg.generic
// CHECK:       func.return
func.func @told(%x: tensor<?xf32>, %y: tensor<1048576xf32>, %init: tensor<f32>) -> tensor<f32> {
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x, %y : tensor<?xf32>, tensor<1048576xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.mulf %a, %b : f32
    %e = arith.addf %c, %d : f32
    linalg.yield %e : f32
  } -> tensor<f32>
  func.return %s : tensor<f32>
}

// CHECK-LABEL: func.func @indices
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:   linalg.generic
// CHECK:       func.return
func.func @indices(%x: tensor<4096x4096xindex>, %init: tensor<index>) -> tensor<index> {
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<4096x4096xindex>) outs(%init : tensor<index>) {
  ^bb0(%a: index, %b: index):
    %c = arith.maxsi %a, %b : index
    linalg.yield %c : index
  } -> tensor<index>
  func.return %s : tensor<index>
}
