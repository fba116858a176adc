// RUN: coopc-opt %s -p 'plan-block-io{device=bmg}' | filecheck %s
// RUN: coopc-opt %s -p 'coopc-xe{device=bmg}' | filecheck %s --check-prefix XE
// RUN: coopc-opt %s -p 'coopc-xe{device=bmg fallback=true}' | filecheck %s --check-prefix BOTH

// What a lane has in a row in memory is moved as vectors, under one condition each: the
// bound of the mask is a multiple of a vector, which the caller of the kernel checks.

#blocked = #ttg.blocked<{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  // CHECK-LABEL: @copy
  // CHECK:       tt.load {{.*}}xe.vector = 8 : i64
  // CHECK:       tt.store {{.*}}xe.vector = 8 : i64
  // XE-LABEL:    @copy
  // XE-SAME:     simt.conditions = [{what = "address", argument = 0 : i64, multiple_of = 16 : i64, why = "vectors of a lane"}, {what = "address", argument = 1 : i64, multiple_of = 16 : i64, why = "vectors of a lane"}, {what = "value", argument = 2 : i64, multiple_of = 8 : i64, why = "vectors of a lane"}]
  // XE-COUNT-1:  vector.load {{.*}} {alignment = 16 : i64} : memref<1099511627776xf16>, vector<8xf16>
  // XE:          scf.if
  // XE-NEXT:     vector.store {{.*}} {alignment = 16 : i64} : memref<1099511627776xf16>, vector<8xf16>
  // XE-NOT:      memref.load
  // BOTH:        func.func @copy.fallback
  // BOTH-NOT:    simt.conditions
  // BOTH-NOT:    vector.load
  // BOTH:        memref.load
  tt.func public @copy(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %q: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}) {
    %c1024 = arith.constant 1024 : i32
    %pid = tt.get_program_id x : i32
    %first = arith.muli %pid, %c1024 : i32
    %range = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #blocked>
    %firsts = tt.splat %first : i32 -> tensor<1024xi32, #blocked>
    %at = arith.addi %firsts, %range : tensor<1024xi32, #blocked>
    %ns = tt.splat %n : i32 -> tensor<1024xi32, #blocked>
    %mask = arith.cmpi slt, %at, %ns : tensor<1024xi32, #blocked>
    %ps = tt.splat %p : !tt.ptr<f16> -> tensor<1024x!tt.ptr<f16>, #blocked>
    %qs = tt.splat %q : !tt.ptr<f16> -> tensor<1024x!tt.ptr<f16>, #blocked>
    %from = tt.addptr %ps, %at : tensor<1024x!tt.ptr<f16>, #blocked>, tensor<1024xi32, #blocked>
    %to = tt.addptr %qs, %at : tensor<1024x!tt.ptr<f16>, #blocked>, tensor<1024xi32, #blocked>
    %x = tt.load %from, %mask : tensor<1024x!tt.ptr<f16>, #blocked>
    tt.store %to, %x, %mask : tensor<1024x!tt.ptr<f16>, #blocked>
    tt.return
  }
}
