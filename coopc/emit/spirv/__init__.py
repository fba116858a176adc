"""From a module of kernels to a SPIR-V module, a file for each dialect."""
