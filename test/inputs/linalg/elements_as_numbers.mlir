#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0) -> ()>
module {
  func.func @main(%arg0: tensor<24xf32>, %arg1: tensor<f32>, %arg2: memref<2x3xf32>) -> (tensor<24xf32>, tensor<2x2xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<f32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<f32>) -> tensor<f32>
    %reduced = linalg.reduce ins(%arg0 : tensor<24xf32>) outs(%1 : tensor<f32>) dimensions = [0]
      (%in: f32, %init: f32) {
        %9 = arith.addf %in, %init : f32
        linalg.yield %9 : f32
      }
    %extracted = tensor.extract %reduced[] : tensor<f32>
    %extracted_0 = tensor.extract %arg1[] : tensor<f32>
    %2 = arith.mulf %extracted, %extracted_0 : f32
    %3 = tensor.empty() : tensor<24xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<24xf32>) outs(%3 : tensor<24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %9 = arith.subf %in, %2 : f32
      linalg.yield %9 : f32
    } -> tensor<24xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel"]} ins(%4, %extracted : tensor<24xf32>, f32) outs(%3 : tensor<24xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %9 = arith.addf %in, %in_1 : f32
      linalg.yield %9 : f32
    } -> tensor<24xf32>
    %6 = linalg.fill ins(%extracted_0 : f32) outs(%3 : tensor<24xf32>) -> tensor<24xf32>
    %7 = arith.mulf %5, %6 : tensor<24xf32>
    %inserted = tensor.insert %extracted into %7[%c1] : tensor<24xf32>
    %8 = memref.load %arg2[%c1, %c2] : memref<2x3xf32>
    memref.store %extracted_0, %arg2[%c1, %c1] : memref<2x3xf32>
    %from_elements = tensor.from_elements %extracted, %extracted_0, %8, %cst : tensor<2x2xf32>
    return %inserted, %from_elements : tensor<24xf32>, tensor<2x2xf32>
  }
}
