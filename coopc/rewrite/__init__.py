"""What passes share: mechanics of rewriting that xDSL does not have."""
