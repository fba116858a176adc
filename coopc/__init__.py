"""A compiler for cooperative matrices, on xDSL.

`coopc.compile`, `coopc.launch`, `coopc.load` and what they give and raise are here; all
else is in the modules, which import each other in one direction only (ARCHITECTURE.md).
Importing `coopc` imports none of them: xDSL does it for every one of its users.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coopc.compiler import Artifact, compile
    from coopc.diagnostic import CompileError, Diagnostic
    from coopc.launcher import launch, load
    from coopc.run.executable import Executable

__all__ = [
    "Artifact",
    "CompileError",
    "Diagnostic",
    "Executable",
    "compile",
    "launch",
    "load",
]

HOMES = {
    "Artifact": "coopc.compiler",
    "CompileError": "coopc.diagnostic",
    "Diagnostic": "coopc.diagnostic",
    "Executable": "coopc.run.executable",
    "compile": "coopc.compiler",
    "launch": "coopc.launcher",
    "load": "coopc.launcher",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in HOMES:
        return getattr(import_module(HOMES[name]), name)
    raise AttributeError(f"module 'coopc' has no attribute '{name}'")
