"""Passes of all pipelines: checks, the target, clean-up, expansions for a target."""
