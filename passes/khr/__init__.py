"""Passes to what drivers with SPV_KHR_cooperative_matrix have."""
