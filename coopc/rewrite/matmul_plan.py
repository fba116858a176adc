"""What a function of one linalg.matmul becomes for tiles: decided, nothing rewritten.

`planned` answers with a `Plan`, a reason against one, or None where a function has no
operation of linalg.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import BlockArgument, Operation, SSAValue

from coopc.device import Device
from coopc.device import Use as DeviceUse
from coopc.dialects import coopmatrix
from coopc.rewrite.matrix_offers import element_name
from coopc.rewrite.multiplication import Multiplication, Operand, recognised


@dataclass(frozen=True, slots=True)
class Tile:
    """What a work-group computes: an m x n tile of C, k steps along K at a time."""

    m: int
    n: int
    k: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a function becomes."""

    multiplication: Multiplication
    fill: SSAValue | None
    """What C is before; None where it is what it was."""
    tile: Tile
    staged: frozenset[coopmatrix.Use] = frozenset()
    """The matrices that the device does not have in the layout that memory has: their
    accesses are checked, which goes through work-group memory in any layout."""

    def checked(
        self, operand: Operand, type: coopmatrix.MatrixType
    ) -> coopmatrix.CheckedAttr | None:
        """Return the axes along which accesses of a tile are checked."""
        if type.use.data in self.staged:
            return coopmatrix.CheckedAttr(frozenset(coopmatrix.Axis))
        return checked(operand, type)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a function cannot become a kernel."""

    op: Operation
    reason: str


def planned(func: FuncOp, tile: Tile) -> Plan | Refused | None:
    """Return what a function becomes, or why it cannot; None if it stays as it is."""
    inside = (op for block in func.body.blocks for op in block.ops)
    ops = [op for op in inside if not isinstance(op, arith.ConstantOp | ReturnOp)]
    first = next((op for op in ops if op.name.startswith("linalg.")), None)
    if first is None:
        return None
    if len(func.body.blocks) > 1:
        return Refused(first, "expected a function of one block, without branches")
    fill = ops[0] if isinstance(ops[0], linalg.FillOp) else None
    rest = ops if fill is None else ops[1:]
    if not rest:
        return Refused(ops[0], "expected a multiplication after the fill")
    found = recognised(rest[0])
    if isinstance(found, str):
        return Refused(rest[0], found)
    if len(rest) > 1:
        return Refused(rest[1], "expected one multiplication in a function and no more")
    operands = (found.a, found.b, found.c)
    if not all(isinstance(each.memory, BlockArgument) for each in operands):
        return Refused(rest[0], "expected operands that are arguments of the function")
    if fill is not None and fill.outputs[0] is not found.c.memory:
        return Refused(fill, "expected a fill of the output of the multiplication")
    return Plan(found, fill.inputs[0] if fill else None, tile)


def checked(
    operand: Operand, type: coopmatrix.MatrixType
) -> coopmatrix.CheckedAttr | None:
    """Return the axes along which tiles may leave the memref."""
    shape = operand.type.get_shape()
    axes = [
        axis
        for axis, dimension, size in zip(
            coopmatrix.Axis, operand.dimensions, type.shape, strict=True
        )
        if shape[dimension] == DYNAMIC_INDEX or shape[dimension] % size
    ]
    return coopmatrix.CheckedAttr(frozenset(axes)) if axes else None


def signs(found: Multiplication) -> coopmatrix.SignedAttr | None:
    """Return which integers of the multiplication are signed."""
    if not isinstance(found.c.type.get_element_type(), IntegerType):
        return None
    operands = coopmatrix.Operand
    signed = [
        operand
        for operand, value in zip(
            (operands.A, operands.B, operands.C),
            (found.a, found.b, found.c),
            strict=True,
        )
        if value.signed
    ]
    if found.c.signed:
        signed.append(operands.RESULT)
    return coopmatrix.SignedAttr(frozenset(signed)) if signed else None


def staged_by(wanted: Device, found: Multiplication) -> frozenset[coopmatrix.Use]:
    """Return the matrices that a device has in no such layout of memory.

    Of B, what can be packed is not among them: see `pack-coopmatrix-b`.
    """
    uses: tuple[tuple[coopmatrix.Use, DeviceUse, Operand], ...] = (
        (coopmatrix.Use.A, "a", found.a),
        (coopmatrix.Use.B, "b", found.b),
        (coopmatrix.Use.ACC, "acc", found.c),
    )
    staged: set[coopmatrix.Use] = set()
    for use, name, operand in uses:
        element = element_name(operand.type.get_element_type())
        has = {
            layout
            for sizes in wanted.held(name, element)
            for layout in wanted.layouts(name, element, *sizes)
        }
        layout = layout_of(operand)
        if layout is not None and has and not has & {str(layout), "packed"}:
            staged.add(use)
    return frozenset(staged)


def layout_of(operand: Operand) -> coopmatrix.Layout | None:
    """Return the layout of a matrix as its elements lie in memory; None if not sure."""
    strides = operand.type.get_strides()
    if strides is None:
        return None
    rows, cols = (strides[dimension] for dimension in operand.dimensions)
    if cols == 1:
        return coopmatrix.Layout.ROW_MAJOR
    return coopmatrix.Layout.COL_MAJOR if rows == 1 else None


def element_names(plan: Plan) -> tuple[str, str, str]:
    """Return the element types of A, B and C as devices name them."""
    found = plan.multiplication
    a, b, c = (
        element_name(each.type.get_element_type(), each.signed)
        for each in (found.a, found.b, found.c)
    )
    return a, b, c
