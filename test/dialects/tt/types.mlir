// RUN: %roundtrip

// Types: global memory is not printed, and tensordesc has one spelling.

// CHECK: "test.op"() : () -> (!tt.ptr<f16>, !tt.ptr<f16>, !tt.ptr<i8, 3>, !tt.ptr<!tt.ptr<f32>>)
"test.op"() : () -> (!tt.ptr<f16>, !tt.ptr<f16, 1>, !tt.ptr<i8, 3>, !tt.ptr<!tt.ptr<f32>>)
// CHECK-NEXT: "test.op"() : () -> (!tt.ptr<tensor<64x32xf16>>, tensor<64x32x!tt.ptr<f16>>)
"test.op"() : () -> (!tt.ptr<tensor<64x32xf16>, 1>, tensor<64x32x!tt.ptr<f16, 1>>)
// CHECK-NEXT: "test.op"() : () -> (!tt.tensordesc<64x32xf16>, !tt.tensordesc<64x32xf16>, !tt.tensordesc<4xf8E5M2>)
"test.op"() : () -> (!tt.tensordesc<64x32xf16>, !tt.tensordesc<tensor<64x32xf16>>, !tt.tensordesc<4xf8E5M2>)
// CHECK-NEXT: "test.op"() : () -> (!tt.tensordesc<64x32xf16, #ttg.shared_memory>, !tt.tensordesc<64x32xf16, #ttg.shared_memory>)
"test.op"() : () -> (!tt.tensordesc<64x32xf16, #ttg.shared_memory>, !tt.tensordesc<tensor<64x32xf16, #ttg.shared_memory>>)
