// Without the option, all kernels of a module have the lanes of the first one that says how many.

// RUN: not coopc-opt %s -p distribute-coopmatrix 2>&1 | filecheck %s

func.func @first() attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  func.return
}

// CHECK: error: func.func: expected a kernel of 8 lanes, as the other kernels of the module, got 16
func.func @second() attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  func.return
}
