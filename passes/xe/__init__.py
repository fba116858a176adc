"""Passes from tensors and matrices to Intel Xe: plans first, rewriting by them."""
