"""The pass convert-linalg-to-simt."""
