// RUN: coopc-opt %s -t 'llvm-ir{device=bmg}' | filecheck %s --check-prefix GPU
// RUN: coopc-opt %s -p coopc-cpu -t llvm-ir | filecheck %s --check-prefix CPU

// Atomic accesses: an instruction, or a loop that compares and exchanges integers: of
// 32 bits on a GPU, of the width of the element on x86-64.

// GPU-LABEL: @k(
// CPU-LABEL: @k
func.func @k(%f: memref<?xf32>, %h: memref<?xf16>, %b: memref<?xi8>, %i: index, %x: f32,
             %y: f16, %z: i8) attributes {simt.kernel, simt.subgroup_size = 16 : i32,
             simt.work_group_size = array<i32: 16>} {
  // GPU: atomicrmw fadd ptr addrspace(1) %{{.*}}, float %x syncscope("device") monotonic, align 4
  // CPU: atomicrmw fadd ptr %{{.*}}, float %{{.*}} monotonic, align 4
  %a = "memref.atomic_rmw"(%x, %f, %i) <{kind = 0 : i64}>
    : (f32, memref<?xf32>, index) -> f32
  // GPU:      %[[P:.*]] = ptrtoint ptr addrspace(1) %{{.*}} to i64
  // GPU-NEXT: %[[Q:.*]] = and i64 %[[P]], -4
  // GPU:      inttoptr i64 %[[Q]] to ptr addrspace(1)
  // GPU:      load atomic i32, ptr addrspace(1) %{{.*}} syncscope("device") monotonic, align 4
  // GPU:      phi i32
  // GPU:      fadd half
  // GPU:      cmpxchg ptr addrspace(1) %{{.*}}, i32 %{{.*}}, i32 %{{.*}} syncscope("device") monotonic monotonic, align 4
  // CPU:      load atomic i16, ptr %{{.*}} monotonic, align 2
  // CPU:      phi i16
  // CPU:      fadd half
  // CPU:      cmpxchg ptr %{{.*}}, i16 %{{.*}}, i16 %{{.*}} monotonic monotonic, align 2
  %c = "memref.atomic_rmw"(%y, %h, %i) <{kind = 0 : i64}>
    : (f16, memref<?xf16>, index) -> f16
  // GPU:      cmpxchg ptr addrspace(1) %{{.*}}, i32 %{{.*}} release monotonic, align 4
  // CPU:      atomicrmw max ptr %{{.*}}, i8 %{{.*}} release, align 1
  %d = "memref.atomic_rmw"(%z, %b, %i) <{kind = 4 : i64}> {simt.ordering = "release"}
    : (i8, memref<?xi8>, index) -> i8
  // GPU:      load atomic i32, ptr addrspace(1) %{{.*}} syncscope("device") acquire, align 4
  // GPU:      store atomic i32 %{{.*}}, ptr addrspace(1) %{{.*}} syncscope("device") release, align 4
  // CPU:      load atomic i32, ptr %{{.*}} acquire, align 4
  // CPU:      store atomic i32 %{{.*}}, ptr %{{.*}} release, align 4
  %e = memref.load %f[%i] {simt.ordering = "acquire"} : memref<?xf32>
  memref.store %e, %f[%i] {simt.ordering = "release"} : memref<?xf32>
  func.return
}
