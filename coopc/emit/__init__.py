"""Emission: from dialects to SPIR-V and LLVM IR."""
