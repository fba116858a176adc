// RUN: %roundtrip
// RUN: xdsl-opt %s | filecheck %s

// What xDSL knows, coopc-opt knows too.

// CHECK: func.func @empty()
func.func @empty() {
  func.return
}
