"""Runtimes: compiled kernels on real drivers, and the tools that check them."""
