"""The pass outline-linalg-kernels."""
