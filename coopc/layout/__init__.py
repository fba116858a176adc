"""Layout algebra: which lane of a subgroup holds which element, as values."""
