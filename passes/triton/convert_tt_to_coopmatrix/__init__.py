"""convert-tt-to-coopmatrix: its pass and what only that uses."""
