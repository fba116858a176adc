"""Passes from other dialects into coopmatrix."""
