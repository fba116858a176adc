// RUN: coopc-opt %s -p set-target --verify-diagnostics | filecheck %s
// RUN: not coopc-opt %s -p 'set-target{device=lavapip}' 2>&1 | filecheck %s --check-prefix DEVICE
// RUN: not coopc-opt %s -p 'cse,set-target{device=lavapipe flavour=opencl}' 2>&1 | filecheck %s --check-prefix FLAVOUR

// Somebody must name a device, and one that there is.

// DEVICE: pass-pipeline:1:1: error: set-target: unknown device 'lavapip', did you mean 'lavapipe'?
// FLAVOUR: pass-pipeline:1:5: error: set-target: expected a flavour of lavapipe, which has vulkan, got 'opencl'

// CHECK: {{.*}}:11:1: error: builtin.module: expected a device, set-target{device=..}, or simt.target on the module, got neither
builtin.module {
}
