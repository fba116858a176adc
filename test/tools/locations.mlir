// RUN: coopc-opt %s -p canonicalize --print-debuginfo | filecheck %s
// RUN: coopc-opt %s --split-input-file --print-debuginfo | filecheck %s --check-prefix SPLIT

// Operations know the line and column of their text, and passes keep both.

func.func @folded(%x : i32) -> i32 {
  %zero = arith.constant 0 : i32
  // The constant that a fold makes stands where the addition stood.
  // CHECK: arith.constant 5 : i32 loc("{{.*}}locations.mlir":13:3)
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %five = arith.addi %two, %three : i32
  %same = arith.addi %five, %zero : i32
  // CHECK: func.return {{.*}} loc("{{.*}}locations.mlir":15:3)
  func.return %same : i32
}

// A location that the text gives stays.

// CHECK: loc("model.py":3:4)
"test.op"() : () -> () loc("model.py":3:4)

// One that is defined at the end, as MLIR prints it, does too.

// CHECK: loc("model.py":5:6)
"test.op"() : () -> () loc(#loc)
#loc = loc("model.py":5:6)

// -----

// Lines of a piece are those of the file.

// SPLIT: "test.op"() : () -> () loc("{{.*}}locations.mlir":34:1)
"test.op"() : () -> ()
