"""Passes that know of no target: what every pipeline runs on plain code."""
