// A convolution by 1x1 with channels first and a bias: a product of the filters and of the
// image, whose pixels are columns.
#id = affine_map<(n, f, y, x) -> (n, f, y, x)>
#f = affine_map<(n, f, y, x) -> (f)>
module {
  func.func @forward(%image: tensor<1x64x16x17xf32>, %weights: tensor<64x64x1x1xf32>, %bias: tensor<64xf32>) -> tensor<1x64x16x17xf32> {
    %zero = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<1x64x16x17xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x64x16x17xf32>) -> tensor<1x64x16x17xf32>
    %2 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%image, %weights : tensor<1x64x16x17xf32>, tensor<64x64x1x1xf32>) outs(%1 : tensor<1x64x16x17xf32>) -> tensor<1x64x16x17xf32>
    %3 = linalg.generic {indexing_maps = [#id, #f, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %bias : tensor<1x64x16x17xf32>, tensor<64xf32>) outs(%0 : tensor<1x64x16x17xf32>) {
    ^bb0(%in: f32, %b: f32, %out: f32):
      %4 = arith.addf %in, %b : f32
      linalg.yield %4 : f32
    } -> tensor<1x64x16x17xf32>
    return %3 : tensor<1x64x16x17xf32>
  }
}
