// A convolution of bytes as TOSA lowers it: padded with its zero point, a bias, scaled by
// a number of 31 bits and a shift, and clamped.
#bias = affine_map<(d0, d1, d2, d3) -> (d3)>
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
module {
  func.func @main(%arg0: tensor<1x6x5x32xi8>, %arg1: tensor<3x3x32x8xi8>, %arg2: tensor<8xi32>) -> tensor<1x6x5x8xi8> {
    %zero_point = arith.constant -7 : i8
    %c-7_i32 = arith.constant -7 : i32
    %c0_i32 = arith.constant 0 : i32
    %scale = arith.constant 1288490189 : i64
    %half = arith.constant 137438953472 : i64
    %shift = arith.constant 38 : i64
    %low = arith.constant -128 : i32
    %high = arith.constant 127 : i32
    %padded = tensor.pad %arg0 low[0, 1, 1, 0] high[0, 1, 1, 0] {
    ^bb0(%i: index, %j: index, %k: index, %l: index):
      tensor.yield %zero_point : i8
    } : tensor<1x6x5x32xi8> to tensor<1x8x7x32xi8>
    %0 = tensor.empty() : tensor<1x6x5x8xi32>
    %1 = linalg.generic {indexing_maps = [#bias, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<8xi32>) outs(%0 : tensor<1x6x5x8xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x6x5x8xi32>
    %2 = linalg.conv_2d_nhwc_hwcf_q {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%padded, %arg1, %c-7_i32, %c0_i32 : tensor<1x8x7x32xi8>, tensor<3x3x32x8xi8>, i32, i32) outs(%1 : tensor<1x6x5x8xi32>) -> tensor<1x6x5x8xi32>
    %3 = tensor.empty() : tensor<1x6x5x8xi8>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x6x5x8xi32>) outs(%3 : tensor<1x6x5x8xi8>) {
    ^bb0(%in: i32, %out: i8):
      %5 = arith.extsi %in : i32 to i64
      %6 = arith.muli %5, %scale : i64
      %7 = arith.addi %6, %half : i64
      %8 = arith.shrsi %7, %shift : i64
      %9 = arith.trunci %8 : i64 to i32
      %10 = arith.maxsi %9, %low : i32
      %11 = arith.minsi %10, %high : i32
      %12 = arith.trunci %11 : i32 to i8
      linalg.yield %12 : i8
    } -> tensor<1x6x5x8xi8>
    return %4 : tensor<1x6x5x8xi8>
  }
}
