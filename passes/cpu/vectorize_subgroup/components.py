"""Vectors that a lane holds, as one value for each component.

    %s = arith.addf %x, %y : vector<2xf32>

    %s_p0 = arith.addf %x_p0, %y_p0 : f32
    %s_p1 = arith.addf %x_p1, %y_p1 : f32

Vectors of all lanes are of numbers, so values that are vectors of one lane are split
before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects import arith, math, memref, ub, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from coopc.dialects import shaped_arith, simt
from coopc.dialects.math_forms import Math
from coopc.dialects.narrow import is_vector, length_of, memref_type, vector_type
from coopc.dialects.shaped_arith import element_of
from coopc.ir.builder import INDEX
from coopc.ir.control_flow import TRANSPARENT, defined_by
from coopc.ir.split_values import Parts, Results, Rule, Splitter, split_values
from coopc.passes.generic.expand_vector import combiner


def split_components(
    module: Operation, funcs: Sequence[FuncOp], varying: Collection[SSAValue]
) -> bool:
    """Split all vectors of functions if lanes differ in one; say if so.

    They may differ in the vector, or in where they access it.  All stay if an operation
    on one cannot be split.
    """
    ops = [op for each in funcs for op in each.walk()]
    vectors = [x for op in ops for x in defined_by(op) if is_vector(x.type)]
    differs = any(x in varying for x in vectors) or any(
        x in varying
        for op in ops
        if _has_vectors(op) and type(op) not in TRANSPARENT
        for x in op.operands
    )
    if not differs or not all(map(_can_split, ops)):
        return False
    split_values(module, {x: _parts(x) for x in vectors}, RULES)
    return True


def _parts(value: SSAValue) -> Parts:
    type = vector_type(value)
    return Parts((type.get_element_type(),) * length_of(value))


def _has_vectors(op: Operation) -> bool:
    return any(is_vector(x.type) for x in (*op.operands, *op.results))


def _can_split(op: Operation) -> bool:
    """Whether an operation has no vectors, or is split."""
    vectors = [x for x in (*op.operands, *op.results) if is_vector(x.type)]
    if not vectors or type(op) in TRANSPARENT:
        return True
    if any(len(vector_type(x).get_shape()) != 1 for x in vectors):
        return False
    match op:
        case vector.BroadcastOp():
            return not is_vector(op.source.type)
        case vector.ExtractOp() | vector.InsertOp():
            return len(op.static_position.get_values()) == 1
        case vector.ShuffleOp() | vector.ReductionOp():
            return True
        case vector.LoadOp() | vector.StoreOp():
            element = memref_type(op.base).get_element_type()
            return bool(op.indices) and not is_vector(element)
        case arith.ConstantOp():
            return isinstance(op.value, DenseIntOrFPElementsAttr)
        case _:
            alike = len({length_of(x) for x in vectors}) == 1
            return alike and type(op) in RULES


# Rules


def each_component(op: Operation, b: Splitter) -> Results:
    """The operation on each component; a scalar is the same for all."""
    count = max(len(b.parts(x)) for x in op.operands)
    types = [element_of(x.type) for x in op.results]
    made = [
        b.like(op, [_component(b, x, n) for x in op.operands], types)
        for n in range(count)
    ]
    return [tuple(x.results[at] for x in made) for at in range(len(types))]


def _component(b: Splitter, value: SSAValue, number: int) -> SSAValue:
    return b.parts(value)[number] if is_vector(value.type) else value


def constant(op: arith.ConstantOp, b: Splitter) -> Results:
    assert isinstance(op.value, DenseIntOrFPElementsAttr), op
    attrs = op.value.get_attrs()
    count = length_of(op.result)
    return [[b.pure(arith.ConstantOp, x) for x in (*attrs,) * (count // len(attrs))]]


def poison(op: ub.PoisonOp, b: Splitter) -> Results:
    type = vector_type(op.result)
    return [[b.pure(ub.PoisonOp, type.get_element_type())] * length_of(op.result)]


def bitcast(op: vector.BitcastOp, b: Splitter) -> Results:
    element = vector_type(op.result).get_element_type()
    parts = b.parts(op.source)
    return [[b.pure(arith.BitcastOp, x, element) for x in parts]]


def broadcast(op: vector.BroadcastOp, b: Splitter) -> Results:
    return [[op.source] * length_of(op.vector)]


def extract(op: vector.ExtractOp, b: Splitter) -> Results:
    parts, (at,) = b.parts(op.vector), op.static_position.get_values()
    if at != DYNAMIC_INDEX:
        return [[parts[at]]]
    (index,) = op.dynamic_position
    found = parts[0]
    for number, part in enumerate(parts[1:], 1):
        found = b.pure(arith.SelectOp, _is(b, index, number), part, found)
    return [[found]]


def insert(op: vector.InsertOp, b: Splitter) -> Results:
    parts, (at,) = b.parts(op.dest), op.static_position.get_values()
    if at != DYNAMIC_INDEX:
        return [[*parts[:at], op.source, *parts[at + 1 :]]]
    (index,) = op.dynamic_position
    return [
        [
            b.pure(arith.SelectOp, _is(b, index, number), op.source, part)
            for number, part in enumerate(parts)
        ]
    ]


def _is(b: Splitter, index: SSAValue, number: int) -> SSAValue:
    return b.pure(arith.CmpiOp, index, b.constant(INDEX, number), "eq")


def shuffle(op: vector.ShuffleOp, b: Splitter) -> Results:
    parts = *b.parts(op.v1), *b.parts(op.v2)
    return [[parts[max(at, 0)] for at in op.mask.get_values()]]


def multiply_add(op: vector.FMAOp, b: Splitter) -> Results:
    parts = zip(*map(b.parts, op.operands), strict=True)
    return [[b.effect(math.FmaOp(*each)).result for each in parts]]


def reduction(op: vector.ReductionOp, b: Splitter) -> Results:
    """Component by component, in order."""
    make = combiner(str(op.kind.data), op.dest.type, op.fastmath)
    found, *rest = *(() if op.acc is None else (op.acc,)), *b.parts(op.vector)
    for each in rest:
        found = b.effect(make(found, each)).results[0]
    return [[found]]


def load(op: vector.LoadOp, b: Splitter) -> Results:
    *outer, last = op.indices
    found: list[SSAValue] = []
    for number in range(length_of(op.result)):
        new = b.effect(memref.LoadOp.get(op.base, [*outer, b.plus(last, number)]))
        new.attributes |= op.attributes
        found.append(new.res)
    return [found]


def store(op: vector.StoreOp, b: Splitter) -> Results:
    *outer, last = op.indices
    for number, part in enumerate(b.parts(op.vector)):
        place = [*outer, b.plus(last, number)]
        new = b.effect(memref.StoreOp.get(part, op.base, place))
        new.attributes |= op.attributes
    return ()


RULES: dict[type[Operation], Rule] = {
    **dict.fromkeys((*shaped_arith.Arith.operations, *Math.operations), each_component),
    **dict.fromkeys((simt.ShuffleOp, simt.BroadcastOp, simt.ReduceOp), each_component),
    arith.ConstantOp: constant,
    ub.PoisonOp: poison,
    vector.BitcastOp: bitcast,
    vector.BroadcastOp: broadcast,
    vector.ExtractOp: extract,
    vector.FMAOp: multiply_add,
    vector.InsertOp: insert,
    vector.LoadOp: load,
    vector.ReductionOp: reduction,
    vector.ShuffleOp: shuffle,
    vector.StoreOp: store,
}
