"""How the module's attribute `cpu.kernels` says that a kernel runs in stages.

    cpu.kernels = {f = {
      stages = [{name = "f.pack", groups = affine_map<..>}, {name = "f"}],
      scratch = [{bytes = affine_map<..>, sizes = affine_map<..>}],
      packed = {argument = 1, type = memref<?xbf16>, elements = affine_map<..>}}}

A kernel runs as the functions of its stages, one after the other.  Each takes the
kernel's arguments, then memory that they share.  Maps are of the kernel's sizes, as
those of `simt.grid`: to work-groups along x, y, z, which are those of the kernel where
there is no map; to numbers whose product is the bytes of memory; to its dynamic sizes.

With `batch`, a map to how many matrices a kernel computes, the work-groups of each
matrix follow those of the last in each stage: all stages of some may run first.

A kernel with `packed` takes an argument as another kernel, `f.pack_b`, packs it: that
takes the argument, and memory for what it packs.  The last map is of its sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap

from coopc.dialects import simt

KERNELS = "cpu.kernels"
"""The attribute of a module."""


@dataclass(frozen=True, slots=True)
class PackedArgument:
    """An argument that a kernel takes as another one has packed it."""

    argument: int
    """Which one, from 0."""
    type: MemRefType
    """What the kernel takes instead, of rank 1."""
    elements: AffineMap
    """From the sizes of the kernel that packs to factors of its elements."""


@dataclass(frozen=True, slots=True)
class Stages:
    """A kernel that runs as several functions, one after the other."""

    functions: tuple[tuple[str, AffineMap | None], ...]
    """Their names, and from the kernel's sizes to work-groups along x, y, z; None for
    those of the kernel."""
    scratch: tuple[tuple[AffineMap, AffineMap], ...]
    """Their last arguments, memory of as many bytes as the product of the first map's
    results; each is passed with the sizes of the second."""
    packed: PackedArgument | None = None
    batch: AffineMap | None = None
    """To how many matrices are computed: in each stage, the work-groups of one follow
    those of the last."""

    @property
    def attr(self) -> DictionaryAttr:
        """What the attribute says of the kernel."""
        functions: list[Attribute] = []
        for name, groups in self.functions:
            one: dict[str, Attribute] = {"name": StringAttr(name)}
            if groups is not None:
                one["groups"] = AffineMapAttr(groups)
            functions.append(DictionaryAttr(one))
        scratch = [
            DictionaryAttr({"bytes": AffineMapAttr(bytes), "sizes": AffineMapAttr(of)})
            for bytes, of in self.scratch
        ]
        said: dict[str, Attribute] = {
            "stages": ArrayAttr(functions),
            "scratch": ArrayAttr(scratch),
        }
        if (found := self.packed) is not None:
            said["packed"] = DictionaryAttr(
                {
                    "argument": IntegerAttr(found.argument, i64),
                    "type": found.type,
                    "elements": AffineMapAttr(found.elements),
                }
            )
        if self.batch is not None:
            said["batch"] = AffineMapAttr(self.batch)
        return DictionaryAttr(said)

    @classmethod
    def of(cls, module: ModuleOp) -> dict[str, Stages]:
        """Return the kernels of a module that run in stages, by name."""

        def members(found: Any) -> Iterator[dict[str, Any]]:
            """Names and maps of each dictionary in an array."""
            for each in found.data:
                assert isinstance(each, DictionaryAttr), each
                said: dict[str, Any] = dict(each.data)
                yield {name: x.data for name, x in said.items()}

        def packed(found: Any) -> PackedArgument | None:
            if found is None:
                return None
            argument, type, elements = (
                found.data[x] for x in ("argument", "type", "elements")
            )
            return PackedArgument(argument.value.data, type, elements.data)

        def batch(found: Any) -> AffineMap | None:
            return None if found is None else found.data

        known: Any = module.attributes.get(KERNELS, DictionaryAttr({}))
        return {
            name: cls(
                tuple(
                    (x["name"], x.get("groups")) for x in members(each.data["stages"])
                ),
                tuple((x["bytes"], x["sizes"]) for x in members(each.data["scratch"])),
                packed(each.data.get("packed")),
                batch(each.data.get("batch")),
            )
            for name, each in known.data.items()
        }


def map_of_sizes(func: FuncOp, *numbers: AffineExpr | int) -> AffineMap:
    """Return the map from the sizes of a kernel to some numbers."""
    count = len(simt.kernel_sizes(func))
    return AffineMap(count, 0, tuple(map(_folded, numbers)))


def _folded(number: AffineExpr | int) -> AffineExpr:
    """Return an expression of constants as one."""
    if isinstance(number, int):
        return AffineConstantExpr(number)
    try:
        return AffineConstantExpr(number.eval([], []))
    except IndexError:
        return number
