// RUN: not coopc-opt %s -p 'set-target{device=nvidia},apply-tuning{tuning="%S/Inputs/none.toml" pipeline=coopc-khr}' 2>&1 | filecheck %s --check-prefix NONE
// RUN: not coopc-opt %s -p 'set-target{device=nvidia},apply-tuning{tuning="%S/Inputs/nvidia.toml" pipeline=coopc-khr}' 2>&1 | filecheck %s --check-prefix SHAPE
// RUN: not coopc-opt %s -p 'coopc-khr{device=lavapipe tuning="%S/Inputs/nvidia.toml"}' 2>&1 | filecheck %s --check-prefix TARGET
// RUN: not coopc-opt %s -p 'coopc-amx{tuning="%S/Inputs/nvidia.toml"}' 2>&1 | filecheck %s --check-prefix PIPELINE
// RUN: sed s/0.1.0/0.0.9/ %S/Inputs/nvidia.toml > %t.toml
// RUN: not coopc-opt %s -p 'coopc-khr{device=nvidia tuning="%t.toml"}' 2>&1 | filecheck %s --check-prefix VERSION
// RUN: sed s/nvidia/lavapipe/ %S/Inputs/nvidia.toml > %t.toml
// RUN: not coopc-opt %s -p 'coopc-khr{device=lavapipe tuning="%t.toml"}' 2>&1 | filecheck %s --check-prefix DEVICE
// RUN: sed 's/coopc-khr/coopc-cpu/; s/nvidia//; s/choice = {.*}/choice = { block = [1, 1, 1], registers = [6, 16] } }/' %S/Inputs/nvidia.toml > %t.toml
// RUN: not coopc-opt %s -p 'coopc-cpu{threads=2 tuning="%t.toml"}' 2>&1 | filecheck %s --check-prefix THREADS
// RUN: sed s/64x96x64/64x64x64/ %S/Inputs/nvidia.toml > %t.toml
// RUN: sed -i s/step/stop/ %t.toml
// RUN: not coopc-opt %s -p 'coopc-khr{device=nvidia tuning="%t.toml"}' 2>&1 | filecheck %s --check-prefix KEY
// RUN: sed -i 's/64x96x64/64x64x64/; s/stop/step/; s/32, 16/48, 16/' %t.toml
// RUN: not coopc-opt %s -p 'coopc-khr{device=nvidia tuning="%t.toml"}' 2>&1 | filecheck %s --check-prefix PLAN

// A file is refused, by the key that is wrong or differs.

// NONE: error: apply-tuning: {{.*}}none.toml: No such file or directory
// SHAPE: error: apply-tuning: {{.*}}nvidia.toml: products: expected one of the module, 64x64x64 f16 f16 f32, added to c, got 64x96x32 f16 f16 f32, added to c and 64x96x64 f16 f16 f32, added to c
// TARGET: error: apply-tuning: {{.*}}nvidia.toml: target: expected 'lavapipe', which this is compiled by, got 'nvidia'
// PIPELINE: error: apply-tuning: {{.*}}nvidia.toml: pipeline: expected 'coopc-amx', which this is compiled by, got 'coopc-khr'
// VERSION: error: apply-tuning: {{.*}}.toml: coopc: expected '0.1.0', which this is compiled by, got '0.0.9'
// DEVICE: error: apply-tuning: {{.*}}.toml: device: expected '{{.*}}', which this machine has, got 'NVIDIA H200'
// THREADS: error: apply-tuning: {{.*}}.toml: threads: expected 2, which this is compiled by, got 1
// KEY: error: apply-tuning: {{.*}}.toml: products[0].choice.tiles.stop: unknown key, did you mean 'step'?
// PLAN: linalg.matmul: the tuned plan: expected the M of a work-group to be a multiple of that of a subgroup, got 64 and 48

func.func @gemm(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x64xf16>, memref<64x64xf16>) outs(%c : memref<64x64xf32>)
  func.return
}
