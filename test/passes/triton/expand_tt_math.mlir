// RUN: coopc-opt %s -p expand-tt-math | filecheck %s

// Arithmetic that only Triton has, on tensors and on scalars; encodings stay.

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [16], warpsPerCTA = [1], order = [0]}>

module attributes {"ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 16 : i32} {

// CHECK-LABEL: @clamp
tt.func @clamp(%x: tensor<64xf32, #blocked>, %a: tensor<64xf32, #blocked>, %b: tensor<64xf32, #blocked>, %s: f16) {
  // Of a number and a NaN the number.
  // CHECK-NEXT: [[L:%.+]] = arith.maxnumf %x, %a : tensor<64xf32, #blocked>
  // CHECK-NEXT: %y = arith.minnumf [[L]], %b : tensor<64xf32, #blocked>
  %y = tt.clampf %x, %a, %b, propagateNan = none : tensor<64xf32, #blocked>
  // CHECK-NEXT: "test.op"(%y)
  "test.op"(%y) : (tensor<64xf32, #blocked>) -> ()
  // Of a number and a NaN the NaN.
  // CHECK-NEXT: [[L:%.+]] = arith.maximumf %s, %s : f16
  // CHECK-NEXT: %z = arith.minimumf [[L]], %s : f16
  %z = tt.clampf %s, %s, %s, propagateNan = all : f16
  "test.op"(%z) : (f16) -> ()
  tt.return
}

// CHECK-LABEL: @integers
tt.func @integers(%x: tensor<64xi32, #blocked>, %s: i64) {
  // CHECK-NEXT: %{{.+}}, %y = arith.mului_extended %x, %x : tensor<64xi32, #blocked>
  %y = tt.mulhiui %x, %x : tensor<64xi32, #blocked>
  // CHECK-NEXT: %z = arith.bitcast %y : tensor<64xi32, #blocked> to tensor<64xf32, #blocked>
  %z = tt.bitcast %y : tensor<64xi32, #blocked> -> tensor<64xf32, #blocked>
  // CHECK-NEXT: %t = arith.bitcast %s : i64 to f64
  %t = tt.bitcast %s : i64 -> f64
  // CHECK-NEXT: "test.op"(%z, %s, %t)
  %s_same = tt.bitcast %s : i64 -> i64
  "test.op"(%z, %s_same, %t) : (tensor<64xf32, #blocked>, i64, f64) -> ()
  tt.return
}

// A quotient in f64, which is corrected by what it leaves, and rounded once.
// CHECK-LABEL: @quotient
tt.func @quotient(%x: tensor<64xf32, #blocked>, %y: tensor<64xf32, #blocked>, %s: f64) {
  // CHECK-NEXT: [[X:%.+]] = arith.extf %x : tensor<64xf32, #blocked> to tensor<64xf64, #blocked>
  // CHECK-NEXT: [[Y:%.+]] = arith.extf %y : tensor<64xf32, #blocked> to tensor<64xf64, #blocked>
  // CHECK-NEXT: [[ONE:%.+]] = arith.constant dense<1.000000e+00> : tensor<64xf64, #blocked>
  // CHECK-NEXT: [[ZERO:%.+]] = arith.constant dense<0.000000e+00> : tensor<64xf64, #blocked>
  // CHECK-NEXT: [[BY:%.+]] = arith.divf [[ONE]], [[Y]]
  // CHECK-NEXT: [[Q:%.+]] = arith.mulf [[X]], [[BY]]
  // CHECK-NEXT: [[N:%.+]] = arith.negf [[Q]]
  // CHECK-NEXT: [[LEFT:%.+]] = math.fma [[N]], [[Y]], [[X]]
  // CHECK-NEXT: [[R:%.+]] = math.fma [[LEFT]], [[BY]], [[Q]]
  // CHECK-NEXT: [[IF:%.+]] = arith.cmpf one, [[LEFT]], [[ZERO]]
  // CHECK-NEXT: [[D:%.+]] = arith.select [[IF]], [[R]], [[Q]]
  // CHECK-NEXT: %z = arith.truncf [[D]] : tensor<64xf64, #blocked> to tensor<64xf32, #blocked>
  %z = tt.precise_divf %x, %y : tensor<64xf32, #blocked>
  // CHECK-NEXT: %t = arith.divf %s, %s : f64
  %t = tt.precise_divf %s, %s : f64
  "test.op"(%z, %t) : (tensor<64xf32, #blocked>, f64) -> ()
  tt.return
}

// CHECK-LABEL: @root
tt.func @root(%x: tensor<64xf32, #blocked>, %s: f16) {
  // CHECK-NEXT: [[X:%.+]] = arith.extf %x : tensor<64xf32, #blocked> to tensor<64xf64, #blocked>
  // CHECK-NEXT: [[Y:%.+]] = math.sqrt [[X]] : tensor<64xf64, #blocked>
  // CHECK-NEXT: %y = arith.truncf [[Y]] : tensor<64xf64, #blocked> to tensor<64xf32, #blocked>
  %y = tt.precise_sqrt %x : tensor<64xf32, #blocked>
  // CHECK-NEXT: [[F:%.+]] = arith.extf %s : f16 to f32
  // CHECK-NEXT: [[X:%.+]] = arith.extf [[F]] : f32 to f64
  // CHECK-NEXT: [[Y:%.+]] = math.sqrt [[X]] : f64
  // CHECK-NEXT: [[F:%.+]] = arith.truncf [[Y]] : f64 to f32
  // CHECK-NEXT: %z = arith.truncf [[F]] : f32 to f16
  %z = tt.precise_sqrt %s : f16
  "test.op"(%y, %z) : (tensor<64xf32, #blocked>, f16) -> ()
  tt.return
}

// CHECK-LABEL: @functions
tt.func @functions(%x: tensor<64xf32, #blocked>, %s: f64) {
  // CHECK-NEXT: %y = math.tanh %x : tensor<64xf32, #blocked>
  %y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__imf_tanhf"} : (tensor<64xf32, #blocked>) -> tensor<64xf32, #blocked>
  // CHECK-NEXT: %z = math.fma %s, %s, %s : f64
  %z = tt.extern_elementwise %s, %s, %s {libname = "", libpath = "", pure = true, symbol = "__nv_fma"} : (f64, f64, f64) -> f64
  // A truth is a number of the result's type.
  // CHECK-NEXT: [[N:%.+]] = arith.cmpf uno, %s, %s : f64
  // CHECK-NEXT: %n = arith.extui [[N]] : i1 to i32
  %n = tt.extern_elementwise %s {libname = "", libpath = "", pure = true, symbol = "__nv_isnand"} : (f64) -> i32
  // CHECK-NEXT: [[D:%.+]] = math.floor %x : tensor<64xf32, #blocked>
  // CHECK-NEXT: %w = arith.fptosi [[D]] : tensor<64xf32, #blocked> to tensor<64xi32, #blocked>
  %w = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__nv_float2int_rd"} : (tensor<64xf32, #blocked>) -> tensor<64xi32, #blocked>
  // Other formats of floats.
  // CHECK-NEXT: %t = arith.truncf %s : f64 to f32
  %t = tt.fp_to_fp %s, rounding = rtne : f64 -> f32
  // CHECK-NEXT: %u = arith.truncf %y : tensor<64xf32, #blocked> to tensor<64xf16, #blocked>
  %u = tt.fp_to_fp %y, rounding = rtne : tensor<64xf32, #blocked> -> tensor<64xf16, #blocked>
  "test.op"(%z, %t, %u, %n, %w) : (f64, f32, tensor<64xf16, #blocked>, i32, tensor<64xi32, #blocked>) -> ()
  tt.return
}

}

// What is masked may be 0, which a processor does not divide by; one number is not.

// CHECK-LABEL: @division
tt.func @division(%x: tensor<64xi32>, %y: tensor<64xi32>, %n: i32) {
  // CHECK: [[ZERO:%.+]] = arith.cmpi eq, %y, {{.*}} : tensor<64xi32>
  // CHECK: arith.cmpi eq, %x, {{.*}} : tensor<64xi32>
  // CHECK: arith.cmpi eq, %y, {{.*}} : tensor<64xi32>
  // CHECK: [[SAFE:%.+]] = arith.select {{.*}}, %y : tensor<64xi1>, tensor<64xi32>
  // CHECK-NEXT: %q = arith.divsi %x, [[SAFE]] : tensor<64xi32>
  %q = arith.divsi %x, %y : tensor<64xi32>
  // CHECK: [[ZERO:%.+]] = arith.cmpi eq, %y, {{.*}} : tensor<64xi32>
  // CHECK-NOT: arith.cmpi
  // CHECK: [[SAFE:%.+]] = arith.select [[ZERO]], {{.*}}, %y : tensor<64xi1>, tensor<64xi32>
  // CHECK-NEXT: %r = arith.remui %x, [[SAFE]] : tensor<64xi32>
  %r = arith.remui %x, %y : tensor<64xi32>
  // CHECK-NEXT: %s = tt.splat %n : i32 -> tensor<64xi32>
  %s = tt.splat %n : i32 -> tensor<64xi32>
  // CHECK-NEXT: %t = arith.remsi %x, %s : tensor<64xi32>
  %t = arith.remsi %x, %s : tensor<64xi32>
  "test.op"(%q, %r, %t) : (tensor<64xi32>, tensor<64xi32>, tensor<64xi32>) -> ()
  tt.return
}
