"""Kernels whose memory is behind pointers: Triton's, and what they become.

A pointer says nothing of how much memory there is: each gets the same amount.  Integers
are sizes and pitches, and get numbers as dynamic sizes do, of which the conditions of
the kernel hold: a program that has them says that it is called for no others.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from coopc.dialects import simt
from coopc.sim.values import bits_of, is_integer

ELEMENTS = 1 << 16
"""That each pointer points to."""
LEAST_BITS = 32
"""Of an integer that is a size."""


def is_pointer(type: Attribute) -> bool:
    """Whether an argument is a pointer: a memref of rank 0."""
    return (
        isa(type, MemRefType)
        and not type.get_shape()
        and isinstance(type.layout, NoneAttr)
    )


def has_pointers(func: FuncOp) -> bool:
    """Whether the memory of a kernel is behind pointers."""
    return simt.KERNEL in func.attributes and any(
        map(is_pointer, func.function_type.inputs)
    )


def is_size(type: Attribute) -> bool:
    """Whether an argument of such a kernel is a size or a pitch."""
    return is_integer(type) and bits_of(type) >= LEAST_BITS
