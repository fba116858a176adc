"""`vector`: components in and out of vectors, and consecutive elements of memory.

What a vector's parts allow is one instruction a part; the rest goes component by
component.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import IndexType, f32, i32
from xdsl.ir import Attribute

from coopc.dialects.narrow import is_integer, is_vector
from coopc.emit.elements import check_combining, count_of, element_of
from coopc.emit.spirv.arith_convert import same_bits
from coopc.emit.spirv.arith_float import number_extreme, strict_extreme
from coopc.emit.spirv.arith_integer import is_i1
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.floats import is_bf16, narrowed, relaxed, widened
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.spirv.types import VECTOR_WIDTHS
from coopc.emit.structured import Refusal
from coopc.spirv.instruction import Id

handlers = Handlers()


@handlers.on(vector.BroadcastOp)
def broadcast(e: Emission, op: vector.BroadcastOp) -> None:
    """A scalar in every component, or a vector in every row."""
    type = op.vector.type
    scalars = e.scalars(op.source)
    repeats, rest = divmod(count_of(type), len(scalars))
    last = op.source.type.get_shape() if is_vector(op.source.type) else ()
    if rest or tuple(type.get_shape()[len(type.get_shape()) - len(last) :]) != last:
        raise Refusal(
            f"expected the last sizes of {type} to be those of the source, "
            f"got {op.source.type}"
        )
    e.set(op.vector, e.gathered(type, scalars * repeats))


@handlers.on(vector.ShuffleOp)
def shuffle(e: Emission, op: vector.ShuffleOp) -> None:
    """Rows of two vectors in another order; -1 is any."""
    type = op.result.type
    rows = op.result.type.get_shape()[0]
    width = count_of(type) // rows
    if width == 1 and all(_is_one_vector(e, v) for v in (op.v1.type, op.v2.type, type)):
        mask = (int(row) % (1 << 32) for row in op.mask.get_values())
        (to,) = e.types.parts(type)
        both = e.id(op.v1), e.id(op.v2)
        e.set(op.result, (e.emit("OpVectorShuffle", *both, *mask, type=to),))
        return
    scalars = [*e.scalars(op.v1), *e.scalars(op.v2)]
    undefined = e.module.undef(e.element(type))
    chosen: list[Id] = []
    for row in op.mask.get_values():
        start = int(row) * width
        chosen += scalars[start : start + width] if row >= 0 else [undefined] * width
    e.set(op.result, e.gathered(type, chosen))


def _is_one_vector(e: Emission, type: Attribute) -> bool:
    """Whether a vector is one SPIR-V vector."""
    widths = e.types.widths(type)
    return len(widths) == 1 and widths[0] > 1


@handlers.on(vector.ExtractOp)
def extract(e: Emission, op: vector.ExtractOp) -> None:
    """A component, or a vector of the last dimensions."""
    static = [int(n) for n in op.static_position.get_values()]
    at, count = e.index.place(op.vector.type, static, e.nums(op.dynamic_position))
    if isinstance(at, int):
        scalars = e.scalars(op.vector)[at : at + count]
    elif count == 1 and _is_one_vector(e, op.vector.type):
        (part,) = e.parts(op.vector)
        type = e.element(op.result.type)
        e.set(op.result, (e.emit("OpVectorExtractDynamic", part, at, type=type),))
        return
    else:
        scalars = [_chosen(e, e.scalars(op.vector), at, n) for n in range(count)]
    e.set(op.result, e.gathered(op.result.type, scalars))


def _chosen(e: Emission, scalars: Sequence[Id], at: Id, plus: int) -> Id:
    """The component at a position that varies, chosen among all."""
    wanted = e.index.id(e.index.add(at, plus))
    found = scalars[0]
    for number, scalar in enumerate(scalars):
        this = e.emit("OpIEqual", wanted, e.index.id(number), type=e.types.bool)
        found = e.emit("OpSelect", this, scalar, found, type=scalar.type)
    return found


@handlers.on(vector.InsertOp)
def insert(e: Emission, op: vector.InsertOp) -> None:
    """A vector with one component, or its last dimensions at a position, replaced."""
    static = [int(n) for n in op.static_position.get_values()]
    at, count = e.index.place(op.dest.type, static, e.nums(op.dynamic_position))
    new = e.scalars(op.source)
    if isinstance(at, int):
        scalars = e.scalars(op.dest)
        scalars[at : at + count] = new
    elif count == 1 and _is_one_vector(e, op.dest.type):
        (part,) = e.parts(op.dest)
        id = e.emit("OpVectorInsertDynamic", part, new[0], at, type=part.type)
        e.set(op.result, (id,))
        return
    else:
        scalars = _replaced(e, e.scalars(op.dest), at, new)
    e.set(op.result, e.gathered(op.result.type, scalars))


def _replaced(e: Emission, old: Sequence[Id], at: Id, new: Sequence[Id]) -> list[Id]:
    """Components of which those from a position that varies are replaced."""
    found = list(old)
    for plus, scalar in enumerate(new):
        wanted = e.index.id(e.index.add(at, plus))
        for number, before in enumerate(found):
            this = e.emit("OpIEqual", wanted, e.index.id(number), type=e.types.bool)
            found[number] = e.emit("OpSelect", this, scalar, before, type=scalar.type)
    return found


@handlers.on(vector.FMAOp)
def fma(e: Emission, op: vector.FMAOp) -> None:
    """`lhs * rhs + acc`, rounded once."""
    from coopc.emit.spirv.math import fused

    fused(e, op.res, (op.lhs, op.rhs, op.acc))


@handlers.on(vector.BitcastOp)
def bitcast(e: Emission, op: vector.BitcastOp) -> None:
    """The bits of a vector, in order, as components of another width."""
    source, result = op.source.type, op.result.type
    if is_i1(source) or is_i1(result):
        raise Refusal("expected components with a place in memory, got i1")
    element = e.element(result)
    bits, wanted = e.types.bits(element_of(source)), e.types.bits(element_of(result))
    if bits == wanted:
        same_bits(e, op)
        return
    if (found := _as_words(e, op)) is not None:
        e.set(op.result, found)
        return
    atom = min(bits, wanted)
    atoms: list[Id] = []
    for scalar in e.scalars(op.source):
        atoms += split_bits(e, scalar, bits, atom)
    step = wanted // atom
    groups = [atoms[at : at + step] for at in range(0, len(atoms), step)]
    e.set(op.result, e.gathered(result, [joined(e, g, element) for g in groups]))


def _as_words(e: Emission, op: vector.BitcastOp) -> tuple[Id, ...] | None:
    """Integers of 32 bits from parts that are so many each; None for other types."""
    source, result = op.source.type, op.result.type
    bits = e.types.bits(element_of(source))
    sizes = [width * bits for width in e.types.widths(source)]
    allowed = (32, *(32 * width for width in VECTOR_WIDTHS[e.facts.flavour]))
    if element_of(result) != i32 or any(size not in allowed for size in sizes):
        return None
    words: list[Id] = []
    for part, size in zip(e.parts(op.source), sizes, strict=True):
        to = e.types.vector(e.types.u32, size // 32)
        words += e.components(e.emit("OpBitcast", part, type=to))
    return e.gathered(result, words)


def split_bits(e: Emission, scalar: Id, bits: int, atom: int) -> list[Id]:
    """A number as integers of fewer bits, the low ones first."""
    if bits == atom:
        to = e.types.int(atom)
        return [scalar if scalar.type is to else e.emit("OpBitcast", scalar, type=to)]
    half = bits // 2
    pair = e.types.vector(e.types.int(half), 2)
    both = e.emit("OpBitcast", scalar, type=pair)
    found: list[Id] = []
    for at in range(2):
        each = e.emit("OpCompositeExtract", both, at, type=e.types.int(half))
        found += split_bits(e, each, half, atom)
    return found


def joined(e: Emission, atoms: Sequence[Id], to: Id) -> Id:
    """A number from integers of fewer bits, the low ones first."""
    if len(atoms) == 1:
        (one,) = atoms
        return one if one.type is to else e.emit("OpBitcast", one, type=to)
    middle = len(atoms) // 2
    half = e.types.int(e.types.component_bits(to) // 2)
    low, high = joined(e, atoms[:middle], half), joined(e, atoms[middle:], half)
    pair = e.types.vector(half, 2)
    return e.emit(
        "OpBitcast", e.emit("OpCompositeConstruct", low, high, type=pair), type=to
    )


@handlers.on(vector.CreateMaskOp)
def create_mask(e: Emission, op: vector.CreateMaskOp) -> None:
    """Which positions are below the sizes given."""
    type = op.mask_vector.type
    assert is_vector(type), type
    shape = type.get_shape()
    bool = e.types.bool
    columns: list[list[Id]] = []
    for size, bound in zip(shape, op.mask_dim_sizes, strict=True):
        end = e.id(bound)
        numbers = (e.index.id(n) for n in range(size))
        columns.append([e.emit("OpSLessThan", n, end, type=bool) for n in numbers])
    found = columns[0]
    for column in columns[1:]:
        found = [e.emit("OpLogicalAnd", a, b, type=bool) for a in found for b in column]
    e.set(op.mask_vector, e.gathered(type, found))


_COMBINED: dict[str, str] = {
    "add": "OpIAdd",
    "mul": "OpIMul",
    "and": "OpBitwiseAnd",
    "or": "OpBitwiseOr",
    "xor": "OpBitwiseXor",
}
_COMBINED_BOOLS: dict[str, str] = {
    "add": "OpLogicalNotEqual",
    "mul": "OpLogicalAnd",
    "and": "OpLogicalAnd",
    "or": "OpLogicalOr",
    "xor": "OpLogicalNotEqual",
    "minui": "OpLogicalAnd",
    "maxui": "OpLogicalOr",
    "minsi": "OpLogicalOr",
    "maxsi": "OpLogicalAnd",
}
"""Of i1, of which 1 is -1 where it is signed."""
_COMBINED_FLOATS = {"add": "OpFAdd", "mul": "OpFMul"}
_COMBINED_BY_CALL: dict[str, tuple[str, str]] = {
    "minui": ("u_min", "UMin"),
    "minsi": ("s_min", "SMin"),
    "maxui": ("u_max", "UMax"),
    "maxsi": ("s_max", "SMax"),
}
"""In OpenCL.std and in GLSL.std.450."""


@handlers.on(vector.ReductionOp)
def reduction(e: Emission, op: vector.ReductionOp) -> None:
    """All components as one, in order, after what they start from."""
    element = op.dest.type
    check_combining(str(op.kind.data), element)
    scalars = e.scalars(op.vector)
    if op.acc is not None:
        scalars.insert(0, e.id(op.acc))
    found, *rest = scalars
    for scalar in rest:
        found = _combined(e, op, element, found, scalar)
    e.set(op.dest, (found,))


def _combined(
    e: Emission, op: vector.ReductionOp, element: Attribute, a: Id, b: Id
) -> Id:
    """Two components as one; bf16 is rounded each time."""
    if is_bf16(element):
        a, b, to = widened(e, a), widened(e, b), a.type
        return narrowed(e, _combined(e, op, f32, a, b), to)
    kind = str(op.kind.data)
    if is_i1(element):
        return e.emit(_COMBINED_BOOLS[kind], a, b, type=a.type)
    if kind in _COMBINED_BY_CALL:
        return e.ext(_COMBINED_BY_CALL[kind][e.facts.vulkan], a, b, type=a.type)
    if kind in ("maxnumf", "minnumf", "maximumf", "minimumf"):
        make = number_extreme if "num" in kind else strict_extreme
        e.whole.strict = True
        return make(e, a.type, a, b, kind.startswith("max"))
    whole = isinstance(element, IndexType) or is_integer(element)
    opcode = (_COMBINED if whole else _COMBINED_FLOATS)[kind]
    return relaxed(e, opcode, e.emit(opcode, a, b, type=a.type), op.fastmath)
