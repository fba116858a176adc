// RUN: coopc-opt %s -p inline-calls --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// CHECK: remark: tt.assert: it is left out: a kernel cannot stop with a message

// What is called is put where it is called, by way of others too.

module attributes {"ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func private @twice(%x: i32) -> i32 attributes {noinline = false} {
    %y = arith.addi %x, %x : i32
    tt.return %y : i32
  }
  tt.func private @both(%x: i32, %p: !tt.ptr<i32>) -> (i32, i32) {
    %y = tt.call @twice(%x) : (i32) -> i32
    tt.store %p, %y : !tt.ptr<i32>
    tt.return %y, %x : i32, i32
  }
  // CHECK-NOT: private
  // CHECK-LABEL: tt.func public @kernel
  // CHECK: [[Y:%.+]] = arith.addi %n, %n
  // CHECK-NEXT: tt.store %p, [[Y]]
  // CHECK-NEXT: arith.muli [[Y]], %n
  // CHECK-NEXT: tt.store
  tt.func public @kernel(%p: !tt.ptr<i32>, %n: i32) {
    %0:2 = tt.call @both(%n, %p) : (i32, !tt.ptr<i32>) -> (i32, i32)
    %1 = arith.muli %0#0, %0#1 : i32
    tt.store %p, %1 : !tt.ptr<i32>
    tt.return
  }
}

// -----

module {
  tt.func private @itself(%x: i32) -> i32 {
    %y = tt.call @other(%x) : (i32) -> i32
    tt.return %y : i32
  }
  tt.func private @other(%x: i32) -> i32 {
    // CHECK: tt.call: recursion is not supported: @itself calls itself
    %y = tt.call @itself(%x) : (i32) -> i32
    tt.return %y : i32
  }
}

// -----

module {
  tt.func private @outside(%x: i32) -> i32
  tt.func public @kernel(%x: i32) {
    // CHECK: tt.call: expected a function of the module, got @outside
    %y = tt.call @outside(%x) : (i32) -> i32
    tt.return
  }
}

// -----

// Assertions on what is combined are left out: `debug=True` checks sums for overflow.

module {
  // CHECK-LABEL: tt.func public @total
  // CHECK:         tt.reduce
  // CHECK-NOT:     tt.assert
  // CHECK:         tt.reduce.return
  // CHECK:         tt.assert
  tt.func public @total(%v: tensor<4xi32>, %c: i1) -> i32 {
    %s = "tt.reduce"(%v) <{axis = 0 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      %t = arith.addi %a, %b : i32
      %more = arith.cmpi sge, %t, %a : i32
      tt.assert %more, "overflow" : i1
      tt.reduce.return %t : i32
    }) : (tensor<4xi32>) -> i32
    tt.assert %c, "as asked" : i1
    tt.return %s : i32
  }
}
