// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// Where memory is, and what a module is compiled for.

"test.op"() {t = memref<16xf16, #simt.memory<shared>>} : () -> ()
// CHECK: :46: error: expected one of global, workgroup, private

// -----

"test.op"() {t = #simt.target<metal, m1>} : () -> ()
// CHECK: :31: error: expected one of opencl, vulkan

// -----

"test.op"() {t = #simt.target<vulkan>} : () -> ()
// CHECK: :37: error: Expected ','

// -----

"test.op"() {t = #simt.target<vulkan, 8>} : () -> ()
// CHECK: :39: error: identifier expected: a device, as in lavapipe or intel-cpu

// -----

"test.op"() {t = #simt.target<vulkan, intel-8>} : () -> ()
// CHECK: :45: error: identifier expected: the rest of the device's name

// -----

"test.op"() {t = #simt.target<vulkan, "">} : () -> ()
// CHECK: :18: error: expected the name of a device, got nothing
