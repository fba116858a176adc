"""split-f32-products: multiplies f32 as sums of products of narrower floats.

Before:  products of f32 matrices with f32 accumulators.
After:   if the device supports the type of `to`, products of parts of the operands in
         it; the module attribute `coopmatrix.precision` records it. Other products stay
         exact, with a remark.
Fails:   never.

    to      x becomes                     a * b + c becomes
    bf16x3  hi = bf16(x), lo = x - hi     a.hi * b.hi + a.hi * b.lo + a.lo * b.hi + c
    f16x3   the same, lo in units 2^-11   a.hi * b.hi + c + 2^-11 (the other two)
    bf16    bf16(x)                       one product; f16 the same
    tf32    x                             one product of xe.dpas, which drops 13 bits
    ieee    x                             nothing is changed

`coopc.rounding.PRECISIONS` has the errors.  For values of 65,536 or more, f16x3 gives
infinity or NaN, never a wrong finite number; f16 does from 65,520 on.  Scaling lo by
2^11 keeps the parts of values from 2^-14 on normal.

Infinities and NaN: hi is finite, 1 with the sign of x, and lo is x.  So an infinity
meets a nonzero hi in one product, and no other product has a NaN.  A value that hi
rounds to 0, below 2^-25 in f16, gives NaN with an infinity.

Operands are split as accumulators, the only use in which engines support f32; they are
also loaded as such.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from xdsl.context import Context
from xdsl.dialects import arith, math, memref
from xdsl.dialects.builtin import (
    LocationAttr,
    ModuleOp,
    StringAttr,
    UnknownLoc,
    bf16,
    f16,
    f32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.device import Device
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import Use, matrix_type
from coopc.ir.builder import INDEX, Builder, Values
from coopc.ir.control_flow import function_around
from coopc.ir.device_option import device_of
from coopc.passes.coopmatrix.elementwise import applied
from coopc.passes.generic.number import Num
from coopc.remarks import remark
from coopc.rounding import FORMATS, PRECISIONS, PrecisionName, SplitPrecision

PACKED = coopmatrix.Layout.PACKED
TYPES: dict[str, Attribute] = {"bf16": bf16, "f16": f16}


def why_not_split(op: coopmatrix.MulAddOp, device: Device, to: str) -> str | None:
    """Return why a product stays as it is, or None."""
    if not all(matrix.is_static for matrix in op.matrices.values()):
        return "sizes are open"
    if to == "tf32":
        has = device.dpas is not None and to in device.dpas.operands
    else:
        has = bool(device.multiplications(to, to, "f32", "f32"))
    return None if has else f"{device.name} does not multiply {to} into f32"


@dataclass(slots=True)
class Splitting:
    """The parts of the operands of a module's products."""

    precision: SplitPrecision
    location: LocationAttr = field(default_factory=UnknownLoc)
    """Of the product at hand."""
    known: dict[tuple[SSAValue, Use], Values] = field(default_factory=lambda: {})

    def multiply(self, op: coopmatrix.MulAddOp) -> None:
        """Put products of parts in the place of a product."""
        its, b, self.location = self.precision, Builder.at(op), op.location
        left, right = self.parts(op.a, Use.A), self.parts(op.b, Use.B)
        total = op.c
        if its.parts == 1:
            total = _product(b, left[0], right[0], total)
        else:
            (a_hi, a_lo), (b_hi, b_lo) = left, right
            small = total
            if its.shift:
                zero = b.constant(f32, 0.0)
                small = b.effect(coopmatrix.FillOp(zero, total.type)).results[0]
            small = _product(b, a_hi, b_lo, small)
            small = _product(b, a_lo, b_hi, small)
            total = _product(b, a_hi, b_hi, total if its.shift else small)
            if its.shift:
                unit = b.constant(f32, 2.0**-its.shift)
                small = b.effect(coopmatrix.ScaleOp(small, unit)).results[0]
                total = b.effect(coopmatrix.AddOp(total, small)).results[0]
        total.name_hint = op.result.name_hint
        Rewriter.replace_op(op, [], [total])

    def parts(self, value: SSAValue, use: Use) -> Values:
        """Return an operand's parts: hi and lo, or itself in the type."""
        if (value, use) in self.known:
            return self.known[value, use]
        b, element = Builder.after(value, self.location), self.element
        wide = _as_accumulator(b, value)
        parts = (wide,)
        if self.precision.parts > 1:
            parts = self._part(b, wide, low=False), self._part(b, wide, low=True)
        type = matrix_type(value).with_element(element).with_use(use)
        found = tuple(b.effect(coopmatrix.ConvertOp(x, type)).results[0] for x in parts)
        for part, name in zip(found, ("hi", "lo"), strict=False):
            part.name_hint = f"{value.name_hint or use}_{name}"
        self.known[value, use] = found
        return found

    @property
    def element(self) -> Attribute:
        return TYPES[self.precision.format]

    def _part(self, b: Builder, value: SSAValue, *, low: bool) -> SSAValue:
        """Return hi or lo of each element, as f32 that the type has or rounds."""

        def part(row: SSAValue, col: SSAValue, element: SSAValue) -> SSAValue:
            x = Num(b, element)
            finite = x.apply(math.AbsFOp).compare("olt", inf)
            most = FORMATS[self.precision.format].greatest
            hi = x.apply(arith.MinnumfOp, most).apply(arith.MaxnumfOp, -most)
            if not low:
                one = x.like(1.0).apply(math.CopySignOp, x)
                return finite.select(hi, one).value
            rest = x - hi.cast(arith.TruncFOp, self.element).to(f32)
            if self.precision.shift:
                rest = rest * 2.0**self.precision.shift
            return finite.select(rest, x).value

        return applied(b, value, part)


def _product(b: Builder, x: SSAValue, y: SSAValue, c: SSAValue) -> SSAValue:
    return b.effect(coopmatrix.MulAddOp(x, y, c)).results[0]


def _as_accumulator(b: Builder, value: SSAValue) -> SSAValue:
    """Return a matrix as an accumulator: what it was, or what is loaded as one."""
    type = matrix_type(value).with_element(f32).with_use(Use.ACC)
    load = value.owner
    if isinstance(load, coopmatrix.ConvertOp) and load.value.type == type:
        return load.value
    if not isinstance(load, coopmatrix.LoadOp) or load.layout_in_memory is PACKED:
        return b.effect(coopmatrix.ConvertOp(value, type)).results[0]
    new = b.like(load, load.operands, [type]).results[0]
    new.name_hint = value.name_hint
    return new


def _reload(op: coopmatrix.MulAddOp) -> None:
    """Let operands that were sums go through work-group memory to other lanes."""
    for value in dict.fromkeys((op.a, op.b)):
        convert = value.owner
        if not isinstance(convert, coopmatrix.ConvertOp):
            continue
        b, block = Builder.at(convert), function_around(convert).body.blocks[0]
        space = simt.MemoryAttr(simt.MemorySpace.WORKGROUP)
        shape = matrix_type(value).shape
        memory = memref.AllocaOp.get(f32, shape=shape, memory_space=space)
        Rewriter.insert_op(memory, InsertPoint.at_start(block))
        scope = simt.FenceScope.SUBGROUP
        zero = b.constant(INDEX, 0)
        place = memory.memref, (zero, zero)
        b.effect(simt.BarrierOp(scope, space.data))  # the last has been read
        b.effect(coopmatrix.StoreOp(convert.value, *place))
        b.effect(simt.BarrierOp(scope, space.data))
        new = b.effect(coopmatrix.LoadOp(*place, value.type))
        Rewriter.replace_op(convert, [], new.results)


@dataclass(frozen=True)
class SplitF32ProductsPass(ModulePass):
    name = "split-f32-products"

    to: PrecisionName = "ieee"
    """How f32 is multiplied: as three products of bf16 or f16 parts, or as one
    product."""
    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if (precision := PRECISIONS.get(self.to)) is None:
            return
        products = [x for x in op.walk() if isinstance(x, coopmatrix.MulAddOp)]
        products = [
            x
            for x in products
            if {type.element_type for type in x.matrices.values()} == {f32}
        ]
        if not products:
            return
        device, splitting = device_of(self.device, op, self.name), Splitting(precision)
        for each in products:
            reason = why_not_split(each, device, precision.format)
            if reason is not None:
                remark(each, f"the product of f32 stays exact: {reason}")
                continue
            op.attributes[coopmatrix.PRECISION] = StringAttr(self.to)
            if self.to == "tf32":
                _reload(each)
                continue
            splitting.multiply(each)
            for value in dict.fromkeys((each.a, each.b)):
                owner = value.owner
                known = isinstance(owner, coopmatrix.LoadOp | coopmatrix.ConvertOp)
                if known and not value.uses:
                    Rewriter.erase_op(owner)
