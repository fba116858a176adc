"""Passes of the pipeline for processors: fills, slices, row slices, vectors."""
