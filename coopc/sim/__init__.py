"""The simulator: every dialect runs on numpy, lanes as array axes."""
