"""A compiler for cooperative matrices, on xDSL."""
