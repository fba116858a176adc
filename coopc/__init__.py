"""A compiler for cooperative matrices, on xDSL.

`coopc.compile` and what it gives and raises are here; all else is in the modules, which
import each other in one direction only (ARCHITECTURE.md).  Importing `coopc` imports
none of them: xDSL does it for every one of its users.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coopc.compiler import Artifact, compile
    from coopc.diagnostic import CompileError, Diagnostic

__all__ = ["Artifact", "CompileError", "Diagnostic", "compile"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("Artifact", "compile"):
        return getattr(import_module("coopc.compiler"), name)
    if name in ("CompileError", "Diagnostic"):
        return getattr(import_module("coopc.diagnostic"), name)
    raise AttributeError(f"module 'coopc' has no attribute '{name}'")
