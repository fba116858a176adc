"""split-coopmatrix: its pass and what only that uses."""
