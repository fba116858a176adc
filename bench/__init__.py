"""Measurements of coopc: medians, and ratios of what was measured in one run."""
