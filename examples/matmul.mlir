// A matrix multiplication as linalg has it: f16 into f32, any sizes.  Pipelines make a
// kernel of it, for a GPU with tiles in work-group memory, for a processor with tiles of
// AMX, or as one matrix per subgroup.
func.func @matmul(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf16>, memref<?x?xf16>)
                outs(%c : memref<?x?xf32>)
  func.return
}
