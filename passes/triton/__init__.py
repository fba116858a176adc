"""Passes on Triton GPU IR that stay in it."""
