// RUN: not coopc-opt %s -p 'expand-narrow-floats{device=amx features=avx512fp16}' 2>&1 | filecheck %s

// A feature that the pass does not know.

// CHECK: error: expand-narrow-floats: expected features of avx512bf16, avx512vnni, got avx512fp16
func.func @f() {
  func.return
}
