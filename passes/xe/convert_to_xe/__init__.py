"""From tensors of Triton and matrices to `xe`: private to the two passes."""
