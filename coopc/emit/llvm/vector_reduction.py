"""`vector.reduction`: LLVM's where it has one of that order, else one by one."""

from __future__ import annotations

from xdsl.dialects import vector
from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType
from xdsl.ir import Attribute

from coopc.dialects.narrow import is_integer
from coopc.emit.elements import check_combining
from coopc.emit.llvm.arith_float import number_extreme, strict_extreme
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.floats import is_bf16, narrowed, widened
from coopc.emit.llvm.handlers import Handlers
from coopc.llvm.types import Vector
from coopc.llvm.values import Value

handlers = Handlers()

_EXTREMES = {"minui": "umin", "minsi": "smin", "maxui": "umax", "maxsi": "smax"}
_FLOAT_EXTREMES = {
    "maxnumf": "fmax",
    "minnumf": "fmin",
    "maximumf": "fmaximum",
    "minimumf": "fminimum",
}


@handlers.on(vector.ReductionOp)
def reduction(e: Emission, op: vector.ReductionOp) -> None:
    """All components as one, in order, after what they start from."""
    kind, element = str(op.kind.data), op.dest.type
    check_combining(kind, element)
    whole = e.value(op.vector)
    first = None if op.acc is None else e.value(op.acc)
    direct = _is_whole(element) or isinstance(element, Float32Type | Float64Type)
    if direct and not e.facts.gpu and isinstance(whole.type, Vector):
        e.set(op.dest, _at_once(e, kind, element, whole, first))
        return
    found, *rest = [*([first] if first is not None else []), *e.components(whole)]
    for scalar in rest:
        found = _combined(e, kind, element, found, scalar)
    e.set(op.dest, found)


def _is_whole(element: Attribute) -> bool:
    return isinstance(element, IndexType) or is_integer(element)


def _at_once(
    e: Emission, kind: str, element: Attribute, whole: Value, first: Value | None
) -> Value:
    """LLVM's reduction; that of sums and products of floats starts from a number."""
    assert isinstance(whole.type, Vector), whole
    to, over = whole.type.element, [whole.type]
    if kind in ("add", "mul") and not _is_whole(element):
        start = e.real(to, -0.0 if kind == "add" else 1.0) if first is None else first
        return e.intrinsic(f"vector.reduce.f{kind}", to, [start, whole], over)
    name = _EXTREMES.get(kind) or _FLOAT_EXTREMES.get(kind) or kind
    found = e.intrinsic(f"vector.reduce.{name}", to, [whole], over)
    return found if first is None else _combined(e, kind, element, first, found)


def _combined(e: Emission, kind: str, element: Attribute, a: Value, b: Value) -> Value:
    """Two components as one; bf16 is rounded each time."""
    if is_bf16(element):
        return narrowed(e, _of_numbers(e, kind, False, widened(e, a), widened(e, b)))
    return _of_numbers(e, kind, _is_whole(element), a, b)


def _of_numbers(e: Emission, kind: str, whole: bool, a: Value, b: Value) -> Value:
    if kind in _EXTREMES:
        return e.intrinsic(_EXTREMES[kind], a.type, [a, b])
    if kind in _FLOAT_EXTREMES:
        make = number_extreme if "num" in kind else strict_extreme
        return make(e, a, b, kind.startswith("max"))
    return e.f.binary(kind if whole else f"f{kind}", a, b)
