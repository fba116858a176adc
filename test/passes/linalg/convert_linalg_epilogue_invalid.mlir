// RUN: coopc-opt %s -p convert-linalg-to-coopmatrix --verify-diagnostics --split-input-file | filecheck %s

// Sums in memory of the function begin with what they are filled with.

#id = affine_map<(m, n) -> (m, n)>
func.func @unfilled(%a: memref<8x8xf32>, %d: memref<8x8xf32>) {
  %c = memref.alloc() : memref<8x8xf32>
  linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%c : memref<8x8xf32>) outs(%d : memref<8x8xf32>) {
  ^bb0(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}
// CHECK: linalg.matmul: expected a fill of what the product is added to

// -----

// An operation on something else is no epilogue.

#id = affine_map<(m, n) -> (m, n)>
func.func @besides(%a: memref<8x8xf32>, %c: memref<8x8xf32>, %d: memref<8x8xf32>) {
  linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : memref<8x8xf32>) outs(%d : memref<8x8xf32>) {
  ^bb0(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}
// CHECK: linalg.generic: expected an operation on the result of the product before it

// -----

func.func @named(%a: memref<8x8xf32>, %c: memref<8x8xf32>, %d: memref<8x8xf32>) {
  linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  linalg.add ins(%c, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%d : memref<8x8xf32>)
  func.return
}
// CHECK: linalg.add: expected an elementwise linalg.generic on the result of the product, got linalg.add

// -----

// A reduction needs sums of others.

#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
func.func @reduction(%a: memref<8x8xf32>, %c: memref<8x8xf32>, %d: memref<8xf32>) {
  linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%c : memref<8x8xf32>) outs(%d : memref<8xf32>) {
  ^bb0(%x: f32, %z: f32):
    %s = arith.addf %x, %z : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK: linalg.generic: expected only parallel loops, over the elements of the product's result

// -----

// Elsewhere, the sums may not be there yet.

#id = affine_map<(m, n) -> (m, n)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @elsewhere(%a: memref<8x8xf32>, %c: memref<8x8xf32>, %d: memref<8x8xf32>) {
  linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#id, #swapped, #id], iterator_types = ["parallel", "parallel"]} ins(%c, %c : memref<8x8xf32>, memref<8x8xf32>) outs(%d : memref<8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK: linalg.generic: expected each element of the product's result to be used at its own position only

// -----

// Nor may another work-group have stored what is read.

#id = affine_map<(m, n) -> (m, n)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @stored_before(%a: memref<8x8xf32>, %c: memref<8x8xf32>, %d: memref<8x8xf32>) {
  linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#id, #swapped, #id], iterator_types = ["parallel", "parallel"]} ins(%c, %d : memref<8x8xf32>, memref<8x8xf32>) outs(%d : memref<8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK: linalg.generic: expected memref<8x8xf32>, which is an output, to be read only where it is written

// -----

#id = affine_map<(m, n) -> (m, n)>
func.func @of_an_input(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<8x8xf32>) {
  linalg.matmul ins(%a, %b : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%c : memref<8x8xf32>) outs(%a : memref<8x8xf32>) {
  ^bb0(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}
// CHECK: linalg.generic: expected an output that is not an input, too: it is written in pieces

// -----

#id = affine_map<(m, n) -> (m, n)>
#sum = affine_map<(m, n) -> (m + n)>
func.func @diagonals(%a: memref<8x8xf32>, %c: memref<8x8xf32>, %e: memref<15xf32>) {
  linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#id, #sum, #id], iterator_types = ["parallel", "parallel"]} ins(%c, %e : memref<8x8xf32>, memref<15xf32>) outs(%c : memref<8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK: linalg.generic: expected maps of loops and constants behind a product, got (d0, d1) -> ((d0 + d1))

// -----

#id = affine_map<(m, n) -> (m, n)>
func.func @gather(%a: memref<8x8xf32>, %c: memref<8x8xf32>, %e: memref<8xf32>) {
  linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%c : memref<8x8xf32>) outs(%c : memref<8x8xf32>) {
  ^bb0(%x: f32, %z: f32):
    %i = linalg.index 0 : index
    %y = memref.load %e[%i] : memref<8xf32>
    linalg.yield %y : f32
  }
  func.return
}
// CHECK: memref.load: expected operations of arith and math in the body of an operation behind a product, got memref.load

// -----

#id = affine_map<(m, n) -> (m, n)>
func.func @nothing_stored(%a: memref<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<8x8xf32>
  linalg.fill ins(%zero : f32) outs(%c : memref<8x8xf32>)
  linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%c : memref<8x8xf32>) outs(%c : memref<8x8xf32>) {
  ^bb0(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}
// CHECK: linalg.generic: expected an output that is an argument of the function
