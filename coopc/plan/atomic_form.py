"""How one element of memory is accessed atomically: an instruction, or a loop.

SPIR-V's core has atomic instructions on integers of 32 and 64 bits, x86-64 on those of
8 and 16 bits too; on floats devices have some.  All else compares and exchanges
integers until nothing came between:

    old = load word
    do { seen = compare_exchange(word, old, with(old, f(element(old), value))) }
    while (seen != old)

| elements       | word                                         |
|----------------|----------------------------------------------|
| of a width     | the integer of their width                   |
| with atomics   |                                              |
| narrower       | the 32 bits that they are in, at an address  |
|                | that 4 divides; the others are kept          |

What is compared is bits: NaNs and zeros of both signs are what they are.

>>> from coopc.device import BMG, LAVAPIPE
>>> [atomic_form(e, "add", BMG) for e in ("i32", "f32", "bf16", "i8")]
['native', 'native', 'word', 'word']
>>> atomic_form("f64", "add", BMG), atomic_form("f64", "add", LAVAPIPE)
('native', 'integer')
>>> from coopc.device import AMX
>>> atomic_form("i8", "add", AMX), atomic_form("f16", "add", AMX)
('native', 'integer')
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from coopc.device import Device
from coopc.interface import SCALAR_BYTES

Access: TypeAlias = Literal["access", "add", "min_max", "bits", "other"]
"""A load or a store; a sum; an extreme (of floats: of a number and a NaN, the number);
bits or an exchange; what no device has an instruction for."""

# What each kind of atomic update is, by the numbers of MLIR's AtomicRMWKind.
#
# The extremes of floats 13 and 14 are those that take the number of a number and a NaN,
# 3 and 6 those that take the NaN.


class AtomicUpdate(NamedTuple):
    name: str
    """In MLIR."""
    access: Access
    opcode: str = ""
    """The instruction of SPIR-V, and that of LLVM IR, where there is one."""
    llvm: str = ""


ATOMIC_UPDATES = {
    0: AtomicUpdate("addf", "add", "OpAtomicFAddEXT", "fadd"),
    1: AtomicUpdate("addi", "add", "OpAtomicIAdd", "add"),
    2: AtomicUpdate("assign", "bits", "OpAtomicExchange", "xchg"),
    3: AtomicUpdate("maximumf", "other"),
    4: AtomicUpdate("maxs", "min_max", "OpAtomicSMax", "max"),
    5: AtomicUpdate("maxu", "min_max", "OpAtomicUMax", "umax"),
    6: AtomicUpdate("minimumf", "other"),
    7: AtomicUpdate("mins", "min_max", "OpAtomicSMin", "min"),
    8: AtomicUpdate("minu", "min_max", "OpAtomicUMin", "umin"),
    9: AtomicUpdate("mulf", "other"),
    10: AtomicUpdate("muli", "other"),
    11: AtomicUpdate("ori", "bits", "OpAtomicOr", "or"),
    12: AtomicUpdate("andi", "bits", "OpAtomicAnd", "and"),
    13: AtomicUpdate("maxnumf", "min_max", "OpAtomicFMaxEXT", "fmax"),
    14: AtomicUpdate("minnumf", "min_max", "OpAtomicFMinEXT", "fmin"),
    15: AtomicUpdate("xori", "bits", "OpAtomicXor", "xor"),
}

AtomicForm: TypeAlias = Literal["native", "integer", "word"]
"""An instruction; the integer of the width instead; the 32 bits around it instead."""

WORD = 32
"""Bits of what stands for elements that are too narrow."""

LOGICAL = (
    "its memory cannot be accessed as integers: under Vulkan "
    "only a buffer can be bound to variables of several types"
)
"""Why there is no access through an integer to work-group memory under Vulkan."""


def atomic_form(element: str, access: Access, device: Device) -> AtomicForm:
    """How a device accesses elements of 8, 16, 32 or 64 bits, such as f32."""
    is_float = "f" in element
    if f"{element} {access}" in device.atomics:
        return "native"
    if 8 * SCALAR_BYTES[element] < device.atomic_bits:
        return "word"
    return "integer" if is_float or access == "other" else "native"
