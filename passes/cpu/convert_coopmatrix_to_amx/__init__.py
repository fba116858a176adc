"""convert-coopmatrix-to-amx: its pass and what only that uses."""
