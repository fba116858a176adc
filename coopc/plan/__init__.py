"""Decisions as frozen values that prove themselves, testable without IR."""
