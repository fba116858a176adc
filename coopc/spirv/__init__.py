"""SPIR-V modules in memory, as text and as binary."""
