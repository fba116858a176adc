"""What passes and rewrites build code with, and what they know of it."""
