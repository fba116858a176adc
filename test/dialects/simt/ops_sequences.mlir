// RUN: %roundtrip

func.func @scale(%x: memref<?x4xf32>, %y: memref<?x4xf32>) attributes {simt.kernel} {
  return
}

// CHECK-LABEL: simt.sequence @twice(%x: memref<?x4xf32>, %y: memref<?x4xf32>) attributes {note = 1 : i32} {
// CHECK:         simt.result %y[%n] : memref<?x4xf32>
// CHECK:         simt.launch @scale(%x, %t) : (memref<?x4xf32>, memref<?x4xf32>)
// CHECK-NEXT:    simt.launch @scale(%t, %y) : (memref<?x4xf32>, memref<?x4xf32>)
simt.sequence @twice(%x: memref<?x4xf32>, %y: memref<?x4xf32>) attributes {note = 1 : i32} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  simt.result %y[%n] : memref<?x4xf32>
  %t = memref.alloc(%n) : memref<?x4xf32>
  simt.launch @scale(%x, %t) : (memref<?x4xf32>, memref<?x4xf32>)
  simt.launch @scale(%t, %y) : (memref<?x4xf32>, memref<?x4xf32>)
}
