# What coopc uses of Triton 3.9, for pyright: Triton is not installed where it runs.
__version__: str
