// REQUIRES: ocloc, spirv-val
// RUN: coopc-isa %s --device bmg,pvc --clean --expect simd=16 \
// RUN:   sums:send.atomic_fadd.ugm.d32.a64=1 sums:send.atomic_fadd.ugm.d64.a64=1 \
// RUN:   loops:send.atomic_icas.ugm.d32.a64=2 loops:send.atomic_icas.ugm.d64.a64=1

// One message for what the device has, else one in a loop that compares and exchanges.

func.func @sums(%f: memref<?xf32>, %d: memref<?xf64>, %x: f32, %y: f64)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %l = simt.lane_id : index
  %a = "memref.atomic_rmw"(%x, %f, %l) <{kind = 0 : i64}>
    : (f32, memref<?xf32>, index) -> f32
  %b = "memref.atomic_rmw"(%y, %d, %l) <{kind = 0 : i64}>
    : (f64, memref<?xf64>, index) -> f64
  func.return
}

func.func @loops(%h: memref<?xf16>, %b: memref<?xbf16>, %d: memref<?xf64>, %x: f16,
                 %y: bf16, %z: f64)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %l = simt.lane_id : index
  %p = "memref.atomic_rmw"(%x, %h, %l) <{kind = 0 : i64}>
    : (f16, memref<?xf16>, index) -> f16
  %q = "memref.atomic_rmw"(%y, %b, %l) <{kind = 0 : i64}>
    : (bf16, memref<?xbf16>, index) -> bf16
  %r = "memref.atomic_rmw"(%z, %d, %l) <{kind = 13 : i64}>
    : (f64, memref<?xf64>, index) -> f64
  func.return
}
