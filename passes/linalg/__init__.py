"""From linalg on memrefs to kernels of coopmatrix, for all engines."""
