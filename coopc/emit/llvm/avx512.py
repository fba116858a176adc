"""`avx512` as intrinsics of LLVM, each on one register."""

from __future__ import annotations

from xdsl.dialects.builtin import i8

from coopc.dialects import avx512
from coopc.emit.llvm.emission import Emission, Handlers
from coopc.llvm.values import BFLOAT, I8, I64, Value, Vector, integer, poison

handlers = Handlers()


@handlers.on(avx512.DotOp)
def dot(e: Emission, op: avx512.DotOp) -> None:
    name, element = "avx512bf16.dpbf16ps", BFLOAT
    if op.element == i8:
        name, element = "avx512.vpdpbusd", I8
    acc, *factors = (e.value(x) for x in (op.acc, op.lhs, op.rhs))
    size = next(x for x in (16, 8, 4) if op.length % x == 0)
    channels = 32 // element.bits
    found: Value = poison(acc.type)
    for start in range(0, op.length, size):
        sums = e.shuffled(acc, None, range(start, start + size))
        numbers = range(start * channels, (start + size) * channels)
        to = Vector(size * channels, element)
        parts = [e.f.cast("bitcast", e.shuffled(x, None, numbers), to) for x in factors]
        full = f"x86.{name}.{32 * size}"
        part = e.intrinsic(full, sums.type, [sums, *parts], ())
        place = integer(I64, start)
        types = [acc.type, part.type]
        found = e.intrinsic("vector.insert", acc.type, [found, part, place], types)
    e.set(op.result, found)
