"""`vector`: components in and out of vectors.

A vector of several dimensions is one LLVM vector, row by row.
"""

from __future__ import annotations

from xdsl.dialects import vector

from coopc.dialects.narrow import is_vector
from coopc.emit.elements import count_of
from coopc.emit.llvm.arith_convert import same_bits
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.llvm.view import id_of
from coopc.emit.structured import Refusal
from coopc.llvm.types import I64, Vector, width
from coopc.llvm.values import Value, composite, integer

handlers = Handlers()


@handlers.on(vector.BroadcastOp)
def broadcast(e: Emission, op: vector.BroadcastOp) -> None:
    """A scalar in every component, or a vector in every row."""
    type, source = op.vector.type, e.value(op.source)
    count = count_of(type)
    repeats, rest = divmod(count, width(source.type))
    last = op.source.type.get_shape() if is_vector(op.source.type) else ()
    if rest or tuple(type.get_shape()[len(type.get_shape()) - len(last) :]) != last:
        raise Refusal(
            f"expected the last sizes of {type} to be those of the source, "
            f"got {op.source.type}"
        )
    if isinstance(source.type, Vector):
        numbers = list(range(source.type.length)) * repeats
        e.set(op.vector, e.shuffled(source, None, numbers))
    else:
        e.set(op.vector, e.splat(source, count))


@handlers.on(vector.ShuffleOp)
def shuffle(e: Emission, op: vector.ShuffleOp) -> None:
    """Rows of two vectors in another order; -1 is any."""
    a, b = e.value(op.v1), e.value(op.v2)
    rows = op.result.type.get_shape()[0]
    row = count_of(op.result.type) // rows
    first = width(a.type)
    length = max(first, width(b.type), 2)
    mask: list[int] = []
    for number in map(int, op.mask.get_values()):
        if number < 0:
            mask += [-1] * row
            continue
        at = number * row
        at += length - first if at >= first else 0
        mask += range(at, at + row)
    a, b = (_padded(e, each, length) for each in (a, b))
    e.set(op.result, e.shuffled(a, b, mask))


def _padded(e: Emission, value: Value, length: int) -> Value:
    """A vector with more components, of any value."""
    if not isinstance(value.type, Vector):
        return e.splat(value, length)
    found = value.type.length
    if found == length:
        return value
    return e.shuffled(value, None, [*range(found), *[-1] * (length - found)])


@handlers.on(vector.ExtractOp)
def extract(e: Emission, op: vector.ExtractOp) -> None:
    """A component, or a vector of the last dimensions."""
    static = [int(n) for n in op.static_position.get_values()]
    at, count = e.index.place(op.vector.type, static, e.nums(op.dynamic_position))
    source = e.value(op.vector)
    if not isinstance(source.type, Vector):
        e.set(op.result, source)
    elif isinstance(at, int):
        e.set(op.result, e.shuffled(source, None, range(at, at + count)))
    else:
        places = [id_of(e.index.add(at, n)) for n in range(count)]
        scalars = [e.f.extract(source, place) for place in places]
        e.set(op.result, e.gathered(e.type(op.result.type), scalars))


@handlers.on(vector.InsertOp)
def insert(e: Emission, op: vector.InsertOp) -> None:
    """A vector with one component, or its last dimensions at a position, replaced."""
    static = [int(n) for n in op.static_position.get_values()]
    at, _ = e.index.place(op.dest.type, static, e.nums(op.dynamic_position))
    new, found = e.value(op.source), e.value(op.dest)
    if not isinstance(found.type, Vector):
        found = new
    elif isinstance(at, int) and isinstance(new.type, Vector):
        length, count = found.type.length, new.type.length
        mask = [length + n - at if at <= n < at + count else n for n in range(length)]
        found = e.shuffled(found, _padded(e, new, length), mask)
    else:
        for n, scalar in enumerate(e.components(new)):
            found = e.f.insert(found, scalar, id_of(e.index.add(at, n)))
    e.set(op.result, found)


@handlers.on(vector.FMAOp)
def fma(e: Emission, op: vector.FMAOp) -> None:
    """`lhs * rhs + acc`, rounded once."""
    from coopc.emit.llvm.math import fused

    fused(e, op.res, (op.lhs, op.rhs, op.acc))


@handlers.on(vector.BitcastOp)
def bitcast(e: Emission, op: vector.BitcastOp) -> None:
    """The bits of a vector, in order, as components of another width."""
    same_bits(e, op)


@handlers.on(vector.CreateMaskOp)
def create_mask(e: Emission, op: vector.CreateMaskOp) -> None:
    """Which positions are below the sizes given."""
    type = op.mask_vector.type
    assert is_vector(type), type
    shape, total = type.get_shape(), count_of(type)
    found: Value | None = None
    step = total
    for size, bound in zip(shape, op.mask_dim_sizes, strict=True):
        step //= size
        numbers = [integer(I64, at // step % size) for at in range(total)]
        place = composite(Vector(total, I64), numbers) if total > 1 else numbers[0]
        end = e.splat(e.value(bound), total)
        below = e.f.compare("icmp slt", place, end)
        found = below if found is None else e.f.binary("and", found, below)
    assert found is not None, op
    e.set(op.mask_vector, found)
