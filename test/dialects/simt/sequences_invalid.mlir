// RUN: coopc-opt %s --verify-diagnostics --split-input-file | filecheck %s

simt.sequence @missing(%x: memref<4xf32>) {
  simt.launch @nothing(%x) : (memref<4xf32>)
}
// CHECK: simt.launch: expected @nothing to be a function of the module

// -----

func.func @scale(%x: memref<4xf32>) attributes {simt.kernel} {
  return
}
simt.sequence @types(%x: memref<8xf32>) {
  simt.launch @scale(%x) : (memref<8xf32>)
}
// CHECK: simt.launch: expected arguments of types (memref<4xf32>), those of @scale, got (memref<8xf32>)

// -----

func.func @outside(%x: memref<4xf32>) attributes {simt.kernel} {
  simt.launch @outside(%x) : (memref<4xf32>)
  return
}
// CHECK: 'simt.launch' expects parent op 'simt.sequence'

// -----

simt.sequence @sizes(%x: memref<?x?xf32>) {
  %c4 = arith.constant 4 : index
  simt.result %x[%c4] : memref<?x?xf32>
}
// CHECK: simt.result: expected 2 sizes, the dynamic ones of memref<?x?xf32>, got 1

// -----

simt.sequence @allocated() {
  %x = memref.alloc() : memref<4xf32>
  simt.result %x : memref<4xf32>
}
// CHECK: simt.result: expected an argument of the sequence

// -----

"simt.sequence"() <{sym_name = "results", function_type = () -> i32}> ({
^bb0:
}) : () -> ()
// CHECK: simt.sequence: expected a body with the arguments of the function type, and no results, got () -> i32
