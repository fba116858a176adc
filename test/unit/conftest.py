"""Settings of all unit tests: laws are checked on values, never on the clock."""

from hypothesis import settings

settings.register_profile("coopc", deadline=None)
settings.load_profile("coopc")
