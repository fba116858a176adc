// RUN: %roundtrip

// Elements that are picked and counted, assembly, and regions of scalars.

// CHECK-LABEL: tt.func @parts(%x: tensor<16xi32>, %y: tensor<1x1xf32>, %m: tensor<16xi1>)
tt.func @parts(%x: tensor<16xi32>, %y: tensor<1x1xf32>, %m: tensor<16xi1>) {
  // CHECK-NEXT: %a = tt.cat %x, %x : tensor<16xi32> -> tensor<32xi32>
  %a = tt.cat %x, %x : tensor<16xi32> -> tensor<32xi32>
  // CHECK-NEXT: %b = tt.unsplat %y : tensor<1x1xf32>
  %b = tt.unsplat %y : tensor<1x1xf32>
  // CHECK-NEXT: %c = tt.gather %a[%x] {axis = 0 : i32} : (tensor<32xi32>, tensor<16xi32>) -> tensor<16xi32>
  %c = tt.gather %a[%x] {axis = 0 : i32} : (tensor<32xi32>, tensor<16xi32>) -> tensor<16xi32>
  // CHECK-NEXT: %d = tt.gather %a[%x] {axis = 0 : i32, efficient_layout} : (tensor<32xi32>, tensor<16xi32>) -> tensor<16xi32>
  %d = tt.gather %a[%x] {axis = 0 : i32, efficient_layout} : (tensor<32xi32>, tensor<16xi32>) -> tensor<16xi32>
  // CHECK-NEXT: %e = tt.histogram %x : tensor<16xi32> -> tensor<8xi32>
  %e = tt.histogram %x : tensor<16xi32> -> tensor<8xi32>
  // CHECK-NEXT: %f = tt.histogram %x, %m {note} : tensor<16xi32> -> tensor<8xi32>
  %f = tt.histogram %x, %m {note} : tensor<16xi32> -> tensor<8xi32>
  // CHECK-NEXT: %g = tt.elementwise_inline_asm "mov $0, $1" {constraints = "=r,r", packed_element = 1 : i32, pure = true} %x : tensor<16xi32> -> tensor<16xi32>
  %g = tt.elementwise_inline_asm "mov $0, $1" {constraints = "=r,r", packed_element = 1 : i32, pure = true} %x : tensor<16xi32> -> tensor<16xi32>
  // CHECK-NEXT: %h = tt.elementwise_inline_asm "nop" {constraints = "=r", packed_element = 1 : i32, pure = false} -> i32
  %h = tt.elementwise_inline_asm "nop" {constraints = "=r", packed_element = 1 : i32, pure = false} -> i32
  // CHECK-NEXT: %i = "tt.scan"(%x) <{axis = 0 : i32, reverse = true}> ({
  %i = "tt.scan"(%x) <{axis = 0 : i32, reverse = true}> ({
  ^bb0(%0: i32, %1: i32):
    %2 = arith.addi %0, %1 : i32
    // CHECK: tt.scan.return %{{.*}} : i32
    tt.scan.return %2 : i32
  }) : (tensor<16xi32>) -> tensor<16xi32>
  // CHECK: %j = "tt.map_elementwise"(%x) <{pack = 1 : i32}> ({
  %j = "tt.map_elementwise"(%x) <{pack = 1 : i32}> ({
  ^bb0(%3: i32):
    // CHECK: tt.map_elementwise.return %{{.*}} : i32
    tt.map_elementwise.return %3 : i32
  }) : (tensor<16xi32>) -> tensor<16xi32>
  // CHECK: tt.return
  tt.return
}

// Encodings that put the source in the same places are one.

#narrow = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 1], order = [1, 0]}>
#wide = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 1], order = [1, 0]}>
// CHECK-LABEL: tt.func @repeated
tt.func @repeated(%x: tensor<1x2xf32, #narrow>) {
  // CHECK-NEXT: tt.broadcast
  %y = tt.broadcast %x : tensor<1x2xf32, #narrow> -> tensor<4x2xf32, #wide>
  // CHECK-NEXT: tt.return
  tt.return
}
