"""Generates kernels and data, for tests of coopc and of projects on it."""
