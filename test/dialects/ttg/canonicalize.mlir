// RUN: coopc-opt %s -p canonicalize | filecheck %s

// What changes nothing goes; what moves elements stays.

#a = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#b = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 4], warpsPerCTA = [1, 4], order = [0, 1]}>
#c = #ttg.blocked<{sizePerThread = [2, 2], threadsPerWarp = [4, 4], warpsPerCTA = [2, 2], order = [0, 1]}>

// CHECK-LABEL: func.func @same_layout(
// CHECK-NEXT:    func.return %x
func.func @same_layout(%x: tensor<16x16xf32, #a>) -> tensor<16x16xf32, #a> {
  %y = ttg.convert_layout %x : tensor<16x16xf32, #a> -> tensor<16x16xf32, #a>
  func.return %y : tensor<16x16xf32, #a>
}

// CHECK-LABEL: func.func @there_and_back(
// CHECK-NEXT:    func.return %x
func.func @there_and_back(%x: tensor<16x16xf32, #a>) -> tensor<16x16xf32, #a> {
  %y = ttg.convert_layout %x : tensor<16x16xf32, #a> -> tensor<16x16xf32, #b>
  %z = ttg.convert_layout %y : tensor<16x16xf32, #b> -> tensor<16x16xf32, #a>
  func.return %z : tensor<16x16xf32, #a>
}

// CHECK-LABEL: func.func @further(
// CHECK-NEXT:    ttg.convert_layout
// CHECK-NEXT:    ttg.convert_layout
func.func @further(%x: tensor<16x16xf32, #a>) -> tensor<16x16xf32, #c> {
  %y = ttg.convert_layout %x : tensor<16x16xf32, #a> -> tensor<16x16xf32, #b>
  %z = ttg.convert_layout %y : tensor<16x16xf32, #b> -> tensor<16x16xf32, #c>
  func.return %z : tensor<16x16xf32, #c>
}

// CHECK-LABEL: func.func @same_shape(
// CHECK-NEXT:    func.return %x, %x, %x
func.func @same_shape(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
  %a = tt.broadcast %x : tensor<16x16xf32> -> tensor<16x16xf32>
  %b = tt.reshape %x : tensor<16x16xf32> -> tensor<16x16xf32>
  %c = tt.trans %x {order = array<i32: 0, 1>} : tensor<16x16xf32> -> tensor<16x16xf32>
  func.return %a, %b, %c : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}

// CHECK-LABEL: func.func @same_shape_other_elements(
// CHECK-NEXT:    tt.reshape
// CHECK-NEXT:    tt.trans
func.func @same_shape_other_elements(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %b = tt.reshape %x allow_reorder : tensor<16x16xf32> -> tensor<16x16xf32>
  %c = tt.trans %x {order = array<i32: 1, 0>} : tensor<16x16xf32> -> tensor<16x16xf32>
  func.return %b, %c : tensor<16x16xf32>, tensor<16x16xf32>
}
