// RUN: %roundtrip

// Layouts change, buffers of shared memory, barriers.

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 4], warpsPerCTA = [1, 4], order = [0, 1]}>
#swizzled_shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 4, order = [1, 0]}>
#swizzled_shared1 = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 4, order = [0, 1]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // CHECK-LABEL: tt.func @layouts(%x: tensor<64x32xf16, #blocked>)
  tt.func @layouts(%x: tensor<64x32xf16, #blocked>) {
    // CHECK-NEXT: %y = ttg.convert_layout %x : tensor<64x32xf16, #blocked> -> tensor<64x32xf16, #blocked1>
    %y = ttg.convert_layout %x : tensor<64x32xf16, #blocked> -> tensor<64x32xf16, #blocked1>
    // CHECK-NEXT: %z = ttg.convert_layout %y {note} : tensor<64x32xf16, #blocked1> -> tensor<64x32xf16, #blocked>
    %z = ttg.convert_layout %y {note} : tensor<64x32xf16, #blocked1> -> tensor<64x32xf16, #blocked>
    // CHECK-NEXT: tt.return
    tt.return
  }
  // CHECK-LABEL: tt.func @buffers(%x: tensor<64x32xf16, #blocked>, %i: i32)
  tt.func @buffers(%x: tensor<64x32xf16, #blocked>, %i: i32) {
    // CHECK-NEXT: %a = ttg.local_alloc %x : (tensor<64x32xf16, #blocked>) -> !ttg.memdesc<64x32xf16, #swizzled_shared, #ttg.shared_memory>
    %a = ttg.local_alloc %x : (tensor<64x32xf16, #blocked>) -> !ttg.memdesc<64x32xf16, #swizzled_shared, #ttg.shared_memory>
    // CHECK-NEXT: %b = ttg.local_alloc {note} : () -> !ttg.memdesc<3x64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable>
    %b = ttg.local_alloc {note} : () -> !ttg.memdesc<3x64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable>
    // CHECK-NEXT: %c = ttg.memdesc_index %b[%i] : !ttg.memdesc<3x64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable> -> !ttg.memdesc<64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable>
    %c = ttg.memdesc_index %b[%i] : !ttg.memdesc<3x64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable> -> !ttg.memdesc<64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable>
    // CHECK-NEXT: ttg.local_store %x, %c : tensor<64x32xf16, #blocked> -> !ttg.memdesc<64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable>
    ttg.local_store %x, %c : tensor<64x32xf16, #blocked> -> !ttg.memdesc<64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable>
    // CHECK-NEXT: ttg.barrier local
    ttg.barrier local
    // CHECK-NEXT: %d = ttg.local_load %c : !ttg.memdesc<64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable> -> tensor<64x32xf16, #blocked>
    %d = ttg.local_load %c : !ttg.memdesc<64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable> -> tensor<64x32xf16, #blocked>
    // CHECK-NEXT: %e = ttg.memdesc_trans %c {order = array<i32: 1, 0>} : !ttg.memdesc<64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable> -> !ttg.memdesc<32x64xf16, #swizzled_shared1, #ttg.shared_memory, mutable>
    %e = ttg.memdesc_trans %c {order = array<i32: 1, 0>} : !ttg.memdesc<64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable> -> !ttg.memdesc<32x64xf16, #swizzled_shared1, #ttg.shared_memory, mutable>
    // CHECK-NEXT: %f = ttg.memdesc_subslice %c [0, 16] : !ttg.memdesc<64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable> -> !ttg.memdesc<64x16xf16, #swizzled_shared, #ttg.shared_memory, mutable, 64x32>
    %f = ttg.memdesc_subslice %c [0, 16] : !ttg.memdesc<64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable> -> !ttg.memdesc<64x16xf16, #swizzled_shared, #ttg.shared_memory, mutable, 64x32>
    // CHECK-NEXT: ttg.local_dealloc %b : !ttg.memdesc<3x64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable>
    ttg.local_dealloc %b : !ttg.memdesc<3x64x32xf16, #swizzled_shared, #ttg.shared_memory, mutable>
    // CHECK-NEXT: tt.return
    tt.return
  }
  // CHECK-LABEL: tt.func @barriers()
  tt.func @barriers() {
    // CHECK-NEXT: ttg.barrier none
    ttg.barrier none
    // CHECK-NEXT: ttg.barrier all {note}
    ttg.barrier all {note}
    // CHECK-NEXT: ttg.barrier local|global_read|global_write
    ttg.barrier global_read|global_write|local
    // CHECK-NEXT: ttg.barrier tensor_read|tensor_write
    ttg.barrier tensor_read|tensor_write
    // CHECK-NEXT: tt.return
    tt.return
  }
}
