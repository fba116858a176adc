"""Generators of kernels and data, for the tests of coopc and of projects on it."""
