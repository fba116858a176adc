"""The version and the source of coopc; Python's library is all that it takes."""

import os
from functools import cache
from importlib.metadata import PackageNotFoundError, version


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


@cache
def source_hash() -> str:
    """Return a digest of coopc's modules, which change without a new version, too."""
    from hashlib import sha256  # which loads OpenSSL, and few runs ask for this

    found = sha256()
    for folder, folders, names in os.walk(os.path.dirname(__file__), followlinks=True):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".py", ".c")):
                found.update(name.encode())
                with open(os.path.join(folder, name), "rb") as file:
                    found.update(file.read())
    return found.hexdigest()
