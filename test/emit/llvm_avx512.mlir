// RUN: coopc-opt %s -t 'llvm-ir{device=amx}' | filecheck %s

// avx512.dot is an intrinsic for each register of sums, avx512.truncf a conversion
// unless a number is denormal; a function says what it needs.

// CHECK-LABEL: define void @pairs(
// CHECK-SAME: nounwind "target-features"="+avx512bf16,+avx512vl" {
func.func @pairs(%a: memref<?xbf16>, %c: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0] : memref<?xbf16>, vector<64xbf16>
  %y = vector.load %c[%c0] : memref<?xf32>, vector<32xf32>
  // CHECK: call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %{{.*}}, <32 x bfloat> %{{.*}}, <32 x bfloat> %{{.*}})
  // CHECK: call <32 x float> @llvm.vector.insert.v32f32.v16f32(<32 x float> poison, <16 x float> %{{.*}}, i64 0)
  // CHECK: call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(
  // CHECK: call <32 x float> @llvm.vector.insert.v32f32.v16f32(<32 x float> %{{.*}}, <16 x float> %{{.*}}, i64 16)
  %z = avx512.dot %x, %x, %y : vector<64xbf16>, vector<32xf32>
  vector.store %z, %c[%c0] : memref<?xf32>, vector<32xf32>
  func.return
}

// CHECK-LABEL: define void @bytes(
// CHECK-SAME: nounwind "target-features"="+avx512vl,+avx512vnni" {
func.func @bytes(%a: memref<?xi8>, %c: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0] : memref<?xi8>, vector<32xi8>
  %y = vector.load %c[%c0] : memref<?xi32>, vector<8xi32>
  // CHECK: call <8 x i32> @llvm.x86.avx512.vpdpbusd.256(<8 x i32> %{{.*}}, <32 x i8> %{{.*}}, <32 x i8> %{{.*}})
  %z = avx512.dot %x, %x, %y : vector<32xi8>, vector<8xi32>
  vector.store %z, %c[%c0] : memref<?xi32>, vector<8xi32>
  func.return
}

// CHECK-LABEL: define void @round(
// CHECK-SAME: nounwind "target-features"="+avx512bf16,+avx512dq" {
func.func @round(%a: memref<?xf32>, %c: memref<?xbf16>) {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0] : memref<?xf32>, vector<32xf32>
  // CHECK-COUNT-2: call <16 x i1> @llvm.x86.avx512.fpclass.ps.512(<16 x float> %{{.*}}, i32 32)
  // CHECK: %[[ANY:.*]] = or <16 x i1>
  // CHECK-NEXT: %[[BITS:.*]] = bitcast <16 x i1> %[[ANY]] to i16
  // CHECK-NEXT: %[[NONE:.*]] = icmp eq i16 %[[BITS]], 0
  // CHECK-NEXT: br i1 %[[NONE]], label %normal, label %denormal
  // CHECK: denormal:
  // CHECK: lshr <32 x i32>
  // CHECK: normal:
  // CHECK-NEXT: fptrunc <32 x float> %{{.*}} to <32 x bfloat>
  // CHECK: rounded:
  // CHECK-NEXT: phi <32 x i16>
  %z = avx512.truncf %x : vector<32xf32> -> vector<32xbf16>
  vector.store %z, %c[%c0] : memref<?xbf16>, vector<32xbf16>
  func.return
}
