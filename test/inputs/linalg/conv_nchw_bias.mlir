// A convolution with channels first, a bias and a relu, of a batch and images of dynamic
// sizes, as torch-mlir prints it.
#id = affine_map<(n, f, y, x) -> (n, f, y, x)>
#f = affine_map<(n, f, y, x) -> (f)>
module {
  func.func @forward(%image: tensor<?x16x?x?xf32>, %weights: tensor<6x16x3x3xf32>, %bias: tensor<6xf32>) -> tensor<?x6x?x?xf32> {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %zero = arith.constant 0.000000e+00 : f32
    %n = tensor.dim %image, %c0 : tensor<?x16x?x?xf32>
    %h = tensor.dim %image, %c2 : tensor<?x16x?x?xf32>
    %w = tensor.dim %image, %c3 : tensor<?x16x?x?xf32>
    %y = arith.subi %h, %c2 : index
    %x = arith.subi %w, %c2 : index
    %0 = tensor.empty(%n, %y, %x) : tensor<?x6x?x?xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<?x6x?x?xf32>) -> tensor<?x6x?x?xf32>
    %2 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%image, %weights : tensor<?x16x?x?xf32>, tensor<6x16x3x3xf32>) outs(%1 : tensor<?x6x?x?xf32>) -> tensor<?x6x?x?xf32>
    %3 = linalg.generic {indexing_maps = [#id, #f, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %bias : tensor<?x6x?x?xf32>, tensor<6xf32>) outs(%0 : tensor<?x6x?x?xf32>) {
    ^bb0(%in: f32, %b: f32, %out: f32):
      %s = arith.addf %in, %b : f32
      %r = arith.maximumf %s, %zero : f32
      linalg.yield %r : f32
    } -> tensor<?x6x?x?xf32>
    return %3 : tensor<?x6x?x?xf32>
  }
}
