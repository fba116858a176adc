// RUN: %roundtrip

// Two tensors side by side, and apart.

// CHECK-LABEL: tt.func @pairs(%a: tensor<16xi8>, %b: tensor<16xi8>)
tt.func @pairs(%a: tensor<16xi8>, %b: tensor<16xi8>) {
  // CHECK-NEXT: %c = tt.join %a, %b : tensor<16xi8> -> tensor<16x2xi8>
  %c = tt.join %a, %b : tensor<16xi8> -> tensor<16x2xi8>
  // CHECK-NEXT: %d, %e = tt.split %c {note} : tensor<16x2xi8> -> tensor<16xi8>
  %d, %e = tt.split %c {note} : tensor<16x2xi8> -> tensor<16xi8>
  // CHECK-NEXT: tt.return
  tt.return
}
