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

from dataclasses import dataclass, fields
from typing import Any, cast

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
        packed, of = self.packed, fields(PackedArgument)
        found = _attribute(
            {
                "stages": [{"name": x, "groups": y} for x, y in self.functions],
                "scratch": [{"bytes": x, "sizes": y} for x, y in self.scratch],
                "packed": packed and {x.name: getattr(packed, x.name) for x in of},
                "batch": self.batch,
            }
        )
        assert isinstance(found, DictionaryAttr), self
        return found

    @classmethod
    def of(cls, module: ModuleOp) -> dict[str, Stages]:
        """Return the kernels of a module that run in stages, by name."""
        known = _value(module.attributes.get(KERNELS, DictionaryAttr({})))
        return {
            name: cls(
                tuple((x["name"], x.get("groups")) for x in said["stages"]),
                tuple((x["bytes"], x["sizes"]) for x in said["scratch"]),
                PackedArgument(**said["packed"]) if "packed" in said else None,
                said.get("batch"),
            )
            for name, said in known.items()
        }


def _attribute(value: Any) -> Attribute:
    """Return the attribute of a name, a number, a map, or a list or dictionary of such.

    Members that are None are left out.
    """
    match value:
        case dict():
            said = cast(dict[str, Any], value).items()
            given = {x: _attribute(y) for x, y in said if y is not None}
            return DictionaryAttr(given)
        case list():
            return ArrayAttr(map(_attribute, cast(list[Any], value)))
        case str():
            return StringAttr(value)
        case int():
            return IntegerAttr(value, i64)
        case AffineMap():
            return AffineMapAttr(value)
        case _:
            return value


def _value(attribute: Attribute) -> Any:
    """Return what `_attribute` makes an attribute of."""
    match attribute:
        case DictionaryAttr(data=data):
            return {name: _value(x) for name, x in data.items()}
        case ArrayAttr(data=data):
            return [*map(_value, data)]
        case StringAttr(data=data) | AffineMapAttr(data=data):
            return data
        case IntegerAttr(value=value):
            return value.data
        case _:
            return attribute


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
