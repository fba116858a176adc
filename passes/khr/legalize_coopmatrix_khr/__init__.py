"""legalize-coopmatrix-khr: its pass and what only that uses."""
