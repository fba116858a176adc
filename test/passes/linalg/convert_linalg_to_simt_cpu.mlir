// RUN: coopc-opt %s -p 'convert-linalg-to-simt{device=amx explain=true tile=3,16},normalize' 2>%t | filecheck %s
// RUN: filecheck %s --check-prefix PLAN < %t
// RUN: coopc-opt %s -p 'convert-linalg-to-simt{device=nvidia},normalize' | filecheck %s --check-prefix GPU

// Columns of a result are neighbours. Three rows of it are reduced at once, with what is
// loaded of %b once for all, and products fused with sums; then the last two, each by
// itself.

// PLAN: remark: func.func: work-items: 16 along shared loop 1, 3 rows at once, 
// CHECK-LABEL: @rows_at_once
// CHECK-DAG:     %c3 = arith.constant 3 : index
// CHECK:         [[N:%.+]] = arith.divui {{%.+}}, %c3
// CHECK:         scf.for {{%.+}} = %c0 to [[N]] step %c1 {
// CHECK:         scf.for [[K:%.+]] = %c0 to %c7 step %c1 iter_args([[X:%.+]] = {{%.+}}, [[Y:%.+]] = {{%.+}}, [[Z:%.+]] = {{%.+}}) -> (f32, f32, f32) {
// CHECK-NEXT:      [[A0:%.+]] = memref.load %a[[[I0:%.+]], [[K]]]
// CHECK-NEXT:      [[B:%.+]] = memref.load %b[[[K]], [[J:%.+]]]
// CHECK-NEXT:      [[P0:%.+]] = arith.mulf [[A0]], [[B]] fastmath<contract>
// CHECK-NEXT:      [[S0:%.+]] = arith.addf [[X]], [[P0]] fastmath<contract>
// CHECK-NEXT:      [[A1:%.+]] = memref.load %a[[[I1:%.+]], [[K]]]
// CHECK-NEXT:      [[P1:%.+]] = arith.mulf [[A1]], [[B]] fastmath<contract>
// CHECK-NEXT:      [[S1:%.+]] = arith.addf [[Y]], [[P1]] fastmath<contract>
// CHECK-NEXT:      [[A2:%.+]] = memref.load %a[[[I2:%.+]], [[K]]]
// CHECK-NEXT:      [[P2:%.+]] = arith.mulf [[A2]], [[B]] fastmath<contract>
// CHECK-NEXT:      [[S2:%.+]] = arith.addf [[Z]], [[P2]] fastmath<contract>
// CHECK-NEXT:      scf.yield [[S0]], [[S1]], [[S2]]
// CHECK:         memref.store {{%.+}}, %c[[[I0]], [[J]]]
// CHECK-NEXT:    memref.store {{%.+}}, %c[[[I1]], [[J]]]
// CHECK-NEXT:    memref.store {{%.+}}, %c[[[I2]], [[J]]]
// CHECK:         scf.for
// CHECK:         scf.for {{.*}} -> (f32) {
// GPU-LABEL: @rows_at_once
// GPU-NOT:     fastmath
func.func @rows_at_once(%a: memref<11x7xf32>, %b: memref<7x16xf32>, %c: memref<11x16xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<11x7xf32>, memref<7x16xf32>) outs(%c : memref<11x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// What a softmax sums is stored where its result will be, and is not computed again.

// CHECK-LABEL: @powers_once
// CHECK:         [[M:%.+]] = scf.for
// CHECK:         scf.for
// CHECK:           [[E:%.+]] = math.exp
// CHECK:           memref.store [[E]], %y[[[I:%.+]], [[J:%.+]]]
// CHECK:         [[S:%.+]] = simt.reduce add
// CHECK:         scf.for
// CHECK-NOT:       math.exp
// CHECK:           [[V:%.+]] = memref.load %y[[[I]], [[K:%.+]]]
// CHECK-NEXT:      [[R:%.+]] = arith.divf [[V]],
// CHECK-NEXT:      memref.store [[R]], %y[[[I]], [[K]]]
// GPU-LABEL: @powers_once
// GPU-COUNT-2:     math.exp
#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @powers_once(%x: memref<8x256xf32>, %y: memref<8x256xf32>) {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %max = memref.alloc() : memref<8xf32>
  %sum = memref.alloc() : memref<8xf32>
  %exp = memref.alloc() : memref<8x256xf32>
  linalg.fill ins(%least : f32) outs(%max : memref<8xf32>)
  linalg.fill ins(%zero : f32) outs(%sum : memref<8xf32>)
  linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x256xf32>) outs(%max : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.maximumf %a, %o : f32
    linalg.yield %n : f32
  }
  linalg.generic {indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "parallel"]} ins(%x, %max : memref<8x256xf32>, memref<8xf32>) outs(%exp : memref<8x256xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %e = math.exp %d : f32
    linalg.yield %e : f32
  }
  linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]} ins(%exp : memref<8x256xf32>) outs(%sum : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.addf %a, %o : f32
    linalg.yield %n : f32
  }
  linalg.generic {indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : memref<8x256xf32>, memref<8xf32>) outs(%y : memref<8x256xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %n = arith.divf %a, %b : f32
    linalg.yield %n : f32
  }
  return
}

// Not where the result is narrower: it would be rounded.

// CHECK-LABEL: @rounded
// CHECK-COUNT-2:   math.exp
func.func @rounded(%x: memref<8x256xf32>, %y: memref<8x256xf16>) {
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloc() : memref<8xf32>
  %exp = memref.alloc() : memref<8x256xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<8xf32>)
  linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x256xf32>) outs(%exp : memref<8x256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  }
  linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]} ins(%exp : memref<8x256xf32>) outs(%sum : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.addf %a, %o : f32
    linalg.yield %n : f32
  }
  linalg.generic {indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : memref<8x256xf32>, memref<8xf32>) outs(%y : memref<8x256xf16>) {
  ^bb0(%a: f32, %b: f32, %o: f16):
    %n = arith.divf %a, %b : f32
    %h = arith.truncf %n : f32 to f16
    linalg.yield %h : f16
  }
  return
}

// Nor where memory is read later that may be the result's, as one array may be passed as
// both.

// CHECK-LABEL: @read_later
// CHECK-COUNT-2:   math.exp
func.func @read_later(%x: memref<8x256xf32>, %y: memref<8x256xf32>) {
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloc() : memref<8xf32>
  %exp = memref.alloc() : memref<8x256xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<8xf32>)
  linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x256xf32>) outs(%exp : memref<8x256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  }
  linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]} ins(%exp : memref<8x256xf32>) outs(%sum : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.addf %a, %o : f32
    linalg.yield %n : f32
  }
  linalg.generic {indexing_maps = [#m, #r, #m, #m], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum, %x : memref<8x256xf32>, memref<8xf32>, memref<8x256xf32>) outs(%y : memref<8x256xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %n = arith.divf %a, %b : f32
    %s = arith.addf %n, %c : f32
    linalg.yield %s : f32
  }
  return
}
