// RUN: coopc-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

func.func @part(%x: f32) {
  // CHECK: error: expected a composite with a part 0
  %r = spirv.CompositeExtract %x[0 : i32] : f32
  func.return
}

// -----

func.func @vector(%x: f32, %i: i32) {
  // CHECK: error: f32 should be of base attribute vector
  %r = spirv.VectorExtractDynamic %x[%i] : f32, i32
  func.return
}

// -----

func.func @variable() {
  // CHECK: error: expected a pointer, got f32
  %r = spirv.Variable : f32
  func.return
}

// -----

func.func @switch(%x: f32) {
  // CHECK: error: expected an integer, got f32
  spirv.Switch %x : f32, [
    default: ^bb1
  ]
^bb1:
  func.return
}
