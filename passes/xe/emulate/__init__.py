"""The operations of `xe` as plain code: private to `emulate-xe`."""
