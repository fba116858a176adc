"""vectorize-subgroup: its pass and what only that uses."""
