"""How the module's attribute `cpu.kernels` says that a kernel runs in stages.

    cpu.kernels = {f = {
      stages = [{name = "f.pack", groups = affine_map<..>}, {name = "f"}],
      scratch = [{bytes = affine_map<..>, sizes = affine_map<..>}]}}

A kernel runs as the functions of its stages, one after the other.  Each takes the
kernel's arguments, then memory that they share.  Maps are of the kernel's sizes, as
those of `simt.grid`: to work-groups along x, y, z, which are those of the kernel where
there is no map; to numbers whose product is the bytes of memory; to its dynamic sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DictionaryAttr,
    StringAttr,
)
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap

KERNELS = "cpu.kernels"
"""The attribute of a module."""

Number = AffineExpr | int


@dataclass(frozen=True, slots=True)
class Stage:
    """A function of a kernel."""

    name: str
    groups: tuple[Number, ...] | None
    """Work-groups along x, y, z; None for those of the kernel."""


@dataclass(frozen=True, slots=True)
class StageBuffer:
    """Memory that stages share."""

    factors: tuple[Number, ...]
    """Whose product is its bytes."""
    sizes: tuple[Number, ...]
    """What its memref leaves to run time."""


def stages(
    count: int, runs: Sequence[Stage], scratch: Sequence[StageBuffer]
) -> DictionaryAttr:
    """Return what the attribute says of a kernel.

    Args:
        count: how many sizes the kernel has.
        runs: its stages.
        scratch: what they share.
    """

    def mapped(numbers: Sequence[Number]) -> AffineMapAttr:
        return AffineMapAttr(AffineMap(count, 0, tuple(map(folded, numbers))))

    functions: list[Attribute] = []
    for run in runs:
        said: dict[str, Attribute] = {"name": StringAttr(run.name)}
        if run.groups is not None:
            said["groups"] = mapped(run.groups)
        functions.append(DictionaryAttr(said))
    memories = [
        DictionaryAttr({"bytes": mapped(x.factors), "sizes": mapped(x.sizes)})
        for x in scratch
    ]
    return DictionaryAttr(
        {"stages": ArrayAttr(functions), "scratch": ArrayAttr(memories)}
    )


def folded(number: Number) -> AffineExpr:
    """Return an expression of constants as one."""
    if isinstance(number, int):
        return AffineConstantExpr(number)
    try:
        return AffineConstantExpr(number.eval([], []))
    except IndexError:
        return number
