// RUN: coopc-opt %s -p "convert-tt-to-coopmatrix{rounds=true shared=true device=nvidia}" --split-input-file | filecheck %s
// RUN: coopc-opt %s -p "convert-tt-to-coopmatrix{rounds=true shared=true device=rdna3}" --split-input-file | filecheck %s --check-prefix WITHOUT

// Scores stay in matrices, of 16 rows of each subgroup, and so does what a row has, once
// for all columns. A that does not change is loaded in front of the loop; B is staged by
// the work-group, both blocks at once. What becomes of the sums is computed in matrices,
// and stored tile by tile; what is stored otherwise has a buffer.

// CHECK-LABEL: func.func @scores
// CHECK-SAME: simt.work_group_size = array<i32: 64>
// CHECK: %[[Q:.+]], %[[Q1:.+]] = scf.if %{{.+}} -> (!coopmatrix.matrix<16x16xf16, a>, !coopmatrix.matrix<16x16xf16, a>)
// CHECK: scf.for %k = {{.+}} iter_args(%[[M:.+]] = %{{.+}}, %[[L:.+]] = %{{.+}}, %[[W:.+]] = %{{.+}}, %[[W1:.+]] = %{{.+}}) -> (!coopmatrix.matrix<16x16xf32, acc>, !coopmatrix.matrix<16x16xf32, acc>, !coopmatrix.matrix<16x16xf32, acc>, !coopmatrix.matrix<16x16xf32, acc>)
// CHECK: scf.if %[[WHOLE:.+]] -> (vector<4xi32>, vector<4xi32>, vector<4xi32>, vector<4xi32>)
// CHECK-COUNT-4: vector.load {{.+}} {alignment = 16 : i64}
// CHECK: simt.barrier workgroup
// CHECK: %y = memref.alloca() : memref<32x5xvector<4xi32>, #simt.memory<workgroup>>
// CHECK-NEXT: %z = memref.alloca() : memref<32x5xvector<4xi32>, #simt.memory<workgroup>>
// CHECK-NEXT: scf.if %[[WHOLE]] {
// CHECK-COUNT-4: memref.store
// CHECK: } else {
// CHECK: scf.for %turn
// CHECK: scf.for %turn
// CHECK: simt.barrier workgroup
// CHECK-NOT: barrier
// CHECK: %[[K:.+]] = coopmatrix.load %y[{{.+}}] col_major : memref<32x5xvector<4xi32>
// CHECK: %[[S:.+]] = coopmatrix.mul_add %[[Q]], %[[K]]
// CHECK-COUNT-2: coopmatrix.scale
// CHECK: %[[X:.+]] = coopmatrix.apply (%{{.+}}, %[[COL:.+]], %{{.+}}) in
// CHECK: arith.cmpi slt
// CHECK: %[[Y:.+]] = coopmatrix.apply
// CHECK: %[[TOP:.+]] = coopmatrix.max %[[X]], %[[Y]]
// CHECK-NEXT: %[[ROW:.+]] = coopmatrix.reduce max rows broadcast %[[TOP]]
// CHECK-NEXT: %[[NEXT:.+]] = coopmatrix.max %[[M]], %[[ROW]]
// CHECK: coopmatrix.sub %[[X]], %[[NEXT]]
// CHECK: coopmatrix.reduce add rows broadcast
// CHECK-COUNT-2: coopmatrix.convert {{.+}} -> !coopmatrix.matrix<16x16xf16, a>
// CHECK: coopmatrix.load %z[{{.+}}] row_major
// CHECK-COUNT-4: coopmatrix.mul_add
// CHECK: scf.yield %[[NEXT]]
// CHECK: coopmatrix.store {{.+}}, %top[
// CHECK-COUNT-2: coopmatrix.div
// CHECK-COUNT-2: coopmatrix.convert {{.+}} -> !coopmatrix.matrix<16x16xf16, acc>
// CHECK-COUNT-2: coopmatrix.store {{.+}}, %sums[
// WITHOUT-LABEL: func.func @scores
// WITHOUT-NOT: coopmatrix.reduce
// WITHOUT: memref.alloca() : memref<32x5xvector<4xi32>, #simt.memory<workgroup>>
// WITHOUT-NOT: coopmatrix.reduce
// WITHOUT: return
tt.func @scores(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %r: !tt.ptr<f16>, %o: !tt.ptr<f16>, %l: !tt.ptr<f32>, %scale: f32, %n: i32, %pitch: i64) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 32 : i32
  %unit = arith.constant 1 : i64
  %none = arith.constant dense<0xFF800000> : tensor<32x32xf32>
  %nothing = arith.constant dense<0.0> : tensor<32x32xf32>
  %least = arith.constant dense<0xFF800000> : tensor<32xf32>
  %total = arith.constant dense<0.0> : tensor<32xf32>
  %a = tt.make_tensor_descriptor %p, [%n, %step], [%pitch, %unit] : <f16>, <32x32xf16>
  %b = tt.make_tensor_descriptor %q, [%n, %step], [%pitch, %unit] : <f16>, <32x32xf16>
  %c = tt.make_tensor_descriptor %r, [%n, %step], [%pitch, %unit] : <f16>, <32x32xf16>
  %d = tt.make_tensor_descriptor %o, [%n, %step], [%pitch, %unit] : <f16>, <32x32xf16>
  %x = tt.descriptor_load %a[%zero, %zero] : !tt.tensordesc<32x32xf16> -> tensor<32x32xf16>
  %i = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %ns = tt.splat %n : i32 -> tensor<32xi32>
  %scales = tt.splat %scale : f32 -> tensor<32x32xf32>
  %top, %sum, %acc = scf.for %k = %zero to %n step %step iter_args(%m = %least, %s = %total, %w = %nothing) -> (tensor<32xf32>, tensor<32xf32>, tensor<32x32xf32>) : i32 {
    %y = tt.descriptor_load %b[%k, %zero] {ttig.block_io = "column_major"} : !tt.tensordesc<32x32xf16> -> tensor<32x32xf16>
    %s0 = tt.dot %x, %y, %nothing : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
    %s1 = arith.mulf %s0, %scales : tensor<32x32xf32>
    %first = tt.splat %k : i32 -> tensor<32xi32>
    %cols = arith.addi %first, %i : tensor<32xi32>
    %in = arith.cmpi slt, %cols, %ns : tensor<32xi32>
    %in1 = tt.expand_dims %in {axis = 0 : i32} : tensor<32xi1> -> tensor<1x32xi1>
    %in2 = tt.broadcast %in1 : tensor<1x32xi1> -> tensor<32x32xi1>
    %s2 = arith.select %in2, %s1, %none : tensor<32x32xi1>, tensor<32x32xf32>
    %t0 = "tt.reduce"(%s2) <{axis = 1 : i32}> ({
    ^bb0(%e: f32, %f: f32):
      %g = arith.maxnumf %e, %f : f32
      tt.reduce.return %g : f32
    }) : (tensor<32x32xf32>) -> tensor<32xf32>
    %next = arith.maxnumf %m, %t0 : tensor<32xf32>
    %less = arith.subf %m, %next : tensor<32xf32>
    %alpha = math.exp %less : tensor<32xf32>
    %n1 = tt.expand_dims %next {axis = 1 : i32} : tensor<32xf32> -> tensor<32x1xf32>
    %n2 = tt.broadcast %n1 : tensor<32x1xf32> -> tensor<32x32xf32>
    %s3 = arith.subf %s2, %n2 : tensor<32x32xf32>
    %p0 = math.exp %s3 : tensor<32x32xf32>
    %l0 = "tt.reduce"(%p0) <{axis = 1 : i32}> ({
    ^bb0(%e: f32, %f: f32):
      %g = arith.addf %e, %f : f32
      tt.reduce.return %g : f32
    }) : (tensor<32x32xf32>) -> tensor<32xf32>
    %l1 = arith.mulf %s, %alpha : tensor<32xf32>
    %l2 = arith.addf %l1, %l0 : tensor<32xf32>
    %z = tt.descriptor_load %c[%k, %zero] : !tt.tensordesc<32x32xf16> -> tensor<32x32xf16>
    %a1 = tt.expand_dims %alpha {axis = 1 : i32} : tensor<32xf32> -> tensor<32x1xf32>
    %a2 = tt.broadcast %a1 : tensor<32x1xf32> -> tensor<32x32xf32>
    %w1 = arith.mulf %w, %a2 : tensor<32x32xf32>
    %p1 = arith.truncf %p0 : tensor<32x32xf32> to tensor<32x32xf16>
    %w2 = tt.dot %p1, %z, %w1 : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
    scf.yield %next, %l2, %w2 : tensor<32xf32>, tensor<32xf32>, tensor<32x32xf32>
  }
  %l3 = tt.expand_dims %sum {axis = 1 : i32} : tensor<32xf32> -> tensor<32x1xf32>
  %l4 = tt.broadcast %l3 : tensor<32x1xf32> -> tensor<32x32xf32>
  %r0 = arith.divf %acc, %l4 : tensor<32x32xf32>
  %r1 = arith.truncf %r0 : tensor<32x32xf32> to tensor<32x32xf16>
  tt.descriptor_store %d[%zero, %zero], %r1 : !tt.tensordesc<32x32xf16>, tensor<32x32xf16>
  %ls = tt.splat %l : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %lp = tt.addptr %ls, %i : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  tt.store %lp, %top : tensor<32x!tt.ptr<f32>>
  tt.return
}

// -----

// A product of a row is no reduction of matrices: no score is in one, as before.

// CHECK-LABEL: func.func @multiplied
// CHECK-NOT: coopmatrix.reduce
// CHECK: return
// WITHOUT-LABEL: func.func @multiplied
tt.func @multiplied(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %r: !tt.ptr<f16>, %o: !tt.ptr<f16>, %l: !tt.ptr<f32>, %scale: f32, %n: i32, %pitch: i64) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 32 : i32
  %unit = arith.constant 1 : i64
  %none = arith.constant dense<0xFF800000> : tensor<32x32xf32>
  %nothing = arith.constant dense<0.0> : tensor<32x32xf32>
  %least = arith.constant dense<0xFF800000> : tensor<32xf32>
  %total = arith.constant dense<0.0> : tensor<32xf32>
  %a = tt.make_tensor_descriptor %p, [%n, %step], [%pitch, %unit] : <f16>, <32x32xf16>
  %b = tt.make_tensor_descriptor %q, [%n, %step], [%pitch, %unit] : <f16>, <32x32xf16>
  %c = tt.make_tensor_descriptor %r, [%n, %step], [%pitch, %unit] : <f16>, <32x32xf16>
  %d = tt.make_tensor_descriptor %o, [%n, %step], [%pitch, %unit] : <f16>, <32x32xf16>
  %x = tt.descriptor_load %a[%zero, %zero] : !tt.tensordesc<32x32xf16> -> tensor<32x32xf16>
  %i = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %ns = tt.splat %n : i32 -> tensor<32xi32>
  %scales = tt.splat %scale : f32 -> tensor<32x32xf32>
  %top, %sum, %acc = scf.for %k = %zero to %n step %step iter_args(%m = %least, %s = %total, %w = %nothing) -> (tensor<32xf32>, tensor<32xf32>, tensor<32x32xf32>) : i32 {
    %y = tt.descriptor_load %b[%k, %zero] {ttig.block_io = "column_major"} : !tt.tensordesc<32x32xf16> -> tensor<32x32xf16>
    %s0 = tt.dot %x, %y, %nothing : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
    %s1 = arith.mulf %s0, %scales : tensor<32x32xf32>
    %first = tt.splat %k : i32 -> tensor<32xi32>
    %cols = arith.addi %first, %i : tensor<32xi32>
    %in = arith.cmpi slt, %cols, %ns : tensor<32xi32>
    %in1 = tt.expand_dims %in {axis = 0 : i32} : tensor<32xi1> -> tensor<1x32xi1>
    %in2 = tt.broadcast %in1 : tensor<1x32xi1> -> tensor<32x32xi1>
    %s2 = arith.select %in2, %s1, %none : tensor<32x32xi1>, tensor<32x32xf32>
    %t0 = "tt.reduce"(%s2) <{axis = 1 : i32}> ({
    ^bb0(%e: f32, %f: f32):
      %g = arith.maxnumf %e, %f : f32
      tt.reduce.return %g : f32
    }) : (tensor<32x32xf32>) -> tensor<32xf32>
    %next = arith.maxnumf %m, %t0 : tensor<32xf32>
    %less = arith.subf %m, %next : tensor<32xf32>
    %alpha = math.exp %less : tensor<32xf32>
    %n1 = tt.expand_dims %next {axis = 1 : i32} : tensor<32xf32> -> tensor<32x1xf32>
    %n2 = tt.broadcast %n1 : tensor<32x1xf32> -> tensor<32x32xf32>
    %s3 = arith.subf %s2, %n2 : tensor<32x32xf32>
    %p0 = math.exp %s3 : tensor<32x32xf32>
    %l0 = "tt.reduce"(%p0) <{axis = 1 : i32}> ({
    ^bb0(%e: f32, %f: f32):
      %g = arith.mulf %e, %f : f32
      tt.reduce.return %g : f32
    }) : (tensor<32x32xf32>) -> tensor<32xf32>
    %l1 = arith.mulf %s, %alpha : tensor<32xf32>
    %l2 = arith.addf %l1, %l0 : tensor<32xf32>
    %z = tt.descriptor_load %c[%k, %zero] : !tt.tensordesc<32x32xf16> -> tensor<32x32xf16>
    %a1 = tt.expand_dims %alpha {axis = 1 : i32} : tensor<32xf32> -> tensor<32x1xf32>
    %a2 = tt.broadcast %a1 : tensor<32x1xf32> -> tensor<32x32xf32>
    %w1 = arith.mulf %w, %a2 : tensor<32x32xf32>
    %p1 = arith.truncf %p0 : tensor<32x32xf32> to tensor<32x32xf16>
    %w2 = tt.dot %p1, %z, %w1 : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
    scf.yield %next, %l2, %w2 : tensor<32xf32>, tensor<32xf32>, tensor<32x32xf32>
  }
  %l3 = tt.expand_dims %sum {axis = 1 : i32} : tensor<32xf32> -> tensor<32x1xf32>
  %l4 = tt.broadcast %l3 : tensor<32x1xf32> -> tensor<32x32xf32>
  %r0 = arith.divf %acc, %l4 : tensor<32x32xf32>
  %r1 = arith.truncf %r0 : tensor<32x32xf32> to tensor<32x32xf16>
  tt.descriptor_store %d[%zero, %zero], %r1 : !tt.tensordesc<32x32xf16>, tensor<32x32xf16>
  %ls = tt.splat %l : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %lp = tt.addptr %ls, %i : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  tt.store %lp, %top : tensor<32x!tt.ptr<f32>>
  tt.return
}
