"""The names of OpenCL's and SPIR-V's builtins, by the Itanium C++ ABI.

A wrong name is no error for Intel's compiler, it stays a call; so names are made here
and nowhere else.

>>> builtin("sub_group_shuffle", (FLOAT, I32), unsigned=(1,))
'_Z17sub_group_shufflefj'
"""

from __future__ import annotations

from collections.abc import Sequence

from coopc.emit.xe import mangled
from coopc.llvm.values import FLOAT as FLOAT
from coopc.llvm.values import I32 as I32
from coopc.llvm.values import Float, Int, Type, component, width

_SIGNED = {8: "c", 16: "s", 32: "i", 64: "l"}
_UNSIGNED = {8: "h", 16: "t", 32: "j", 64: "m"}
_FLOATS = {"half": "Dh", "float": "f", "double": "d"}


def letter(type: Type, *, unsigned: bool = False) -> str:
    """How a number is mangled."""
    if isinstance(type, Int):
        return (_UNSIGNED if unsigned else _SIGNED)[type.bits]
    assert isinstance(type, Float), type
    return _FLOATS[type.name]


def builtin(
    name: str, parameters: Sequence[Type], *, unsigned: Sequence[int] = ()
) -> str:
    """The mangled name of a function of numbers and vectors, some of them unsigned."""
    words = [
        (letter(component(type), unsigned=at in unsigned), width(type))
        for at, type in enumerate(parameters)
    ]
    return f"_Z{len(name)}{name}{mangled(words)}"
