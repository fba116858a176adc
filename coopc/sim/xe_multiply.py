"""Simulation of `xe`: DPAS, of one subgroup and of a pair.

The matrices of a subgroup are gathered from its lanes, multiplied, and the result is
spread again.  Packed operands are bits: they have lost the bounds of their errors, and
only those of the accumulator and of the product are tracked.  Elements of 4 bits are
gathered as bytes, and then taken apart: the even ones along K are the low halves.

    split DPAS of subgroups 2 i and 2 i + 1, M = 4, registers of a by number

                        gives   gets of a     multiplies by
    subgroup 2 i        p q     p q r s       its own b
    subgroup 2 i + 1    r s     p q r s       its own b

What is undefined on the hardware is an error: lanes, or one of a pair of subgroups,
that do not execute it.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import Attribute

from coopc.dialects import xe
from coopc.layout.dpas import CHANNEL_BITS, SYSTOLIC_DEPTH, DpasEncoding, Operand
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.formats import bf16_from_bits
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.numerics import Numerics
from coopc.sim.values import LANE_AXIS, SUBGROUP_AXIS, Array, scalar_of

BYTE_BITS = 8
ROW_BITS = SYSTOLIC_DEPTH * CHANNEL_BITS
"""Of a row of a."""
SPLIT_LANES = 8
"""Of the subgroups of a split DPAS."""
PAIR = 2
"""Subgroups that share a: 2 i and 2 i + 1."""
TF32_DROPPED = 13
"""The low bits of an f32 that a tf32 has not."""

ELEMENTS: dict[xe.Precision, Attribute] = {
    xe.Precision.F16: Float16Type(),
    xe.Precision.BF16: BFloat16Type(),
    xe.Precision.TF32: Float32Type(),
}


@register_impls
class XeMultiplyFunctions(SimulatorFunctions):
    """Products of the matrices that lanes hold."""

    @impl(xe.DpasOp)
    def dpas(
        self, interpreter: Interpreter, op: xe.DpasOp, args: PythonValues
    ) -> PythonValues:
        """Gather the matrices of the subgroup, multiply, and spread the result."""
        a, b, c = args
        return (self._multiply(op, a, b, c),)

    @impl(xe.SplitDpasOp)
    def split_dpas(
        self, interpreter: Interpreter, op: xe.SplitDpasOp, args: PythonValues
    ) -> PythonValues:
        """Put the rows of a pair together, and let each multiply them."""
        a, b, c = args
        self._check_pairs()
        subgroups = self.machine.launch.subgroups
        groups, _, lanes, rows = a.shape
        halves = np.broadcast_to(a, (groups, subgroups, lanes, rows))
        pairs = halves.reshape(groups, subgroups // PAIR, PAIR, lanes, rows)
        whole = np.concatenate([pairs[:, :, 0], pairs[:, :, 1]], axis=-1)
        return (self._multiply(op, np.repeat(whole, PAIR, axis=SUBGROUP_AXIS), b, c),)

    def _check_pairs(self) -> None:
        """Check that whole pairs of subgroups of 8 lanes execute it.

        Raises:
            UndefinedBehaviour: they do not.
        """
        machine = self.machine
        if (lanes := machine.launch.subgroup_size) != SPLIT_LANES:
            raise UndefinedBehaviour(
                f"expected subgroups of {SPLIT_LANES} lanes for split DPAS, got {lanes}"
            )
        if (subgroups := machine.launch.subgroups) % PAIR:
            raise UndefinedBehaviour(
                f"expected pairs of subgroups for split DPAS, got {subgroups}"
            )
        mask = machine.uniform_mask(LANE_AXIS)
        if mask is None or mask.shape[SUBGROUP_AXIS] == 1:
            return
        alone = mask[:, ::PAIR, 0] != mask[:, 1::PAIR, 0]
        if alone.any():
            first = PAIR * int(np.argwhere(alone)[0, 1])
            raise UndefinedBehaviour(
                f"expected both subgroups of a pair to execute split DPAS, got one of "
                f"{first} and {first + 1}"
            )

    def _multiply(
        self, op: xe.DpasOp | xe.SplitDpasOp, a: Array, b: Array, c: Array
    ) -> Array:
        """Return what lanes hold of a * b + c."""
        self.machine.uniform_mask(LANE_AXIS)
        precisions, repeat = op.precisions, op.repeat.value.data
        lanes = self.machine.launch.subgroup_size
        encoding = encoding_of(precisions[0], lanes, repeat)
        # Where lanes hold more rows of a than there are, the last ones mean nothing.
        held = a.shape[-1] * a.dtype.itemsize * BYTE_BITS * lanes // ROW_BITS
        encoding_of_a = encoding_of(precisions[0], lanes, max(repeat, held))
        left = operand(encoding_of_a, "a", a, precisions[0])[..., :repeat, :]
        right = operand(encoding, "b", b, precisions[1])
        addend = matrix(encoding, "c", c)
        type = scalar_of(op.c.type)
        if precisions[0].is_integer:
            wide = (x.astype(np.int32) for x in (left, right))
            product = np.matmul(*wide) + addend
        else:
            types = (ELEMENTS[precisions[0]], ELEMENTS[precisions[1]], type, type)
            numerics = self.machine.numerics
            product = numerics.multiply_add((left, right, addend), types)
        rows, cols = tile(encoding, "c")
        return product[:, :, 0][..., rows, cols].swapaxes(-1, -2)


@cache
def encoding_of(precision: xe.Precision, lanes: int, repeat: int) -> DpasEncoding:
    """Return how lanes hold operands, elements of 4 bits two by two."""
    bits = max(precision.bits, BYTE_BITS)
    return DpasEncoding.of(bits, lanes, repeat_count=repeat)


def operand(
    encoding: DpasEncoding, which: Operand, packed: Array, precision: xe.Precision
) -> Array:
    """Return the matrix a or b: (groups, subgroups, 1, rows, columns)."""
    found = matrix(encoding, which, numbers(packed, precision))
    if precision.bits == BYTE_BITS // 2:
        return nibbles(found, -1 if which == "a" else -2, precision)
    return found


def numbers(packed: Array, precision: xe.Precision) -> Array:
    """Return the elements that integers hold, low bits first; of 4 bits, bytes."""
    packed = np.ascontiguousarray(packed)
    match precision:
        case xe.Precision.F16:
            return packed.view(np.float16)
        case xe.Precision.BF16:
            return bf16_from_bits(packed.view(np.uint16))
        case xe.Precision.TF32:
            return Numerics().cut(packed.view(np.float32), TF32_DROPPED)
        case xe.Precision.S8:
            return packed.view(np.int8)
        case xe.Precision.U8 | xe.Precision.S4 | xe.Precision.U4:
            return packed.view(np.uint8)


def nibbles(bytes: Array, axis: int, precision: xe.Precision) -> Array:
    """Return the two numbers of each byte as neighbours along an axis, low bits first.

    >>> nibbles(np.array([[0x1F]], np.uint8), -1, xe.Precision.S4)
    array([[-1,  1]], dtype=int8)
    """
    halves = np.stack([bytes & 15, bytes >> 4], bytes.ndim + axis + 1)
    shape = list(bytes.shape)
    shape[axis] *= 2
    found = halves.reshape(shape).astype(np.int8)
    return found - ((found & 8) << 1) if precision is xe.Precision.S4 else found


@cache
def tile(encoding: DpasEncoding, operand: Operand) -> tuple[Array, Array]:
    """Return row and column of each register and lane of an operand."""
    row, column = encoding.tile(operand).table().values()
    return row, column


def matrix(encoding: DpasEncoding, operand: Operand, values: Array) -> Array:
    """Return the matrix that lanes hold: (groups, subgroups, 1, rows, columns)."""
    rows, columns = tile(encoding, operand)
    lanes = rows.shape[1]
    values = np.broadcast_to(values, (*values.shape[:2], lanes, values.shape[-1]))
    shape = (*values.shape[:2], 1, *encoding.tile_shape(operand))
    found = np.zeros(shape, values.dtype)
    found[:, :, 0][..., rows, columns] = values.swapaxes(-1, -2)
    return found
