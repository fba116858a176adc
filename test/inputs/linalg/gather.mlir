// Rows of a table by number, as torch-mlir prints an embedding.
#map = affine_map<(d0, d1) -> (d0)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
module attributes {torch.debug_module_name = "Embedding"} {
  func.func @forward(%arg0: tensor<3xi32>, %arg1: tensor<8x4xf32>) -> tensor<3x4xf32> {
    %c7_i32 = arith.constant 7 : i32
    %0 = tensor.empty() : tensor<3x4xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<3xi32>) outs(%0 : tensor<3x4xf32>) {
    ^bb0(%in: i32, %out: f32):
      %2 = arith.andi %in, %c7_i32 : i32
      %3 = arith.index_cast %2 : i32 to index
      %4 = linalg.index 1 : index
      %extracted = tensor.extract %arg1[%3, %4] : tensor<8x4xf32>
      linalg.yield %extracted : f32
    } -> tensor<3x4xf32>
    return %1 : tensor<3x4xf32>
  }
}
