// REQUIRES: mlir-opt
// RUN: coopc-opt %root/test/dialects/memref/prefetch.mlir | mlir-opt | filecheck %root/test/dialects/memref/prefetch.mlir
// RUN: coopc-opt %root/test/dialects/memref/prefetch.mlir --print-op-generic | mlir-opt | coopc-opt | filecheck %root/test/dialects/memref/prefetch.mlir

// Upstream's mlir-opt reads what coopc prints, and coopc what it prints.
