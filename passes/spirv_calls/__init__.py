"""Reads SPIR-V-friendly LLVM, as SYCL's compiler writes it."""
