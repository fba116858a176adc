"""Passes to plain per-lane code, for any device with subgroups."""
