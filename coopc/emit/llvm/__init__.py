"""From functions to LLVM IR, for Intel GPUs and for x86-64, a file for each dialect."""
