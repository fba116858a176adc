"""Checks on IR and on what passes do to its meaning."""
