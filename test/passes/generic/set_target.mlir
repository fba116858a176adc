// RUN: coopc-opt %s -p 'set-target{device=lavapipe}' | filecheck %s
// RUN: coopc-opt %s -p 'set-target{device=intel-cpu flavour=opencl}' | filecheck %s --check-prefix CPU
// RUN: coopc-opt %s -p 'set-target{device=nvidia},set-target{device=lavapipe},set-target' | filecheck %s

// A module says what it is compiled for; the last word counts.

// CHECK: builtin.module attributes {simt.target = #simt.target<vulkan, lavapipe>}
// CPU: builtin.module attributes {simt.target = #simt.target<opencl, intel-cpu>}
builtin.module {
}
