"""Passes within the coopmatrix dialect."""
