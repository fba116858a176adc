"""`coopmatrix.extract` and `insert`: the elements of a work-item, by access chains.

An access chain needs a variable.  A matrix that is read is stored to one right after it
is made, where all work-items are together; so single elements can be read in control
flow that differs between lanes.  Chains of insertions are a variable of their own: see
`coopc.emit.spirv.coopmatrix_places`.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.ir import Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import matrix_type
from coopc.emit.spirv.coopmatrix import LEGALIZE
from coopc.emit.spirv.coopmatrix_places import chains
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.flow import Kept
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.structured import Refusal
from coopc.rewrite.uniformity import Variation
from coopc.spirv.instruction import Id, Instruction

handlers = Handlers()


@handlers.on(coopmatrix.ExtractOp)
def extract(e: Emission, op: coopmatrix.ExtractOp) -> None:
    """OpAccessChain and OpLoad; of a constant slot OpCompositeExtract."""
    _check(e, op)
    type = e.types.number(matrix_type(op.matrix).element_type)
    found, slot = e.value(op.matrix), e.index.num(e.num(op.index))
    if isinstance(found, Kept):
        variable = found.variable
    elif isinstance(slot, int) and slot >= 0 and _by_composite(e, op):
        e.set(
            op.result,
            (e.emit("OpCompositeExtract", e.id(op.matrix), slot, type=type),),
        )
        return
    else:
        variable = _spilled(e, op.matrix)
    pointer = _element(e, variable, op.index, type)
    e.set(op.result, (e.emit("OpLoad", pointer, type=type),))


@handlers.on(coopmatrix.InsertOp)
def insert(e: Emission, op: coopmatrix.InsertOp) -> None:
    """OpAccessChain and OpStore; of a constant slot OpCompositeInsert."""
    _check(e, op)
    matrix = matrix_type(op.result)
    type = e.types.number(matrix.element_type)
    kept = e.flow.kept.get(op.result)
    if kept is not None:
        e.do("OpStore", _element(e, kept.variable, op.index, type), e.id(op.value))
        e.set(op.result, kept)
        return
    _together(e, op)
    slot, whole = e.index.num(e.num(op.index)), e.types.matrix(matrix)
    if isinstance(slot, int) and slot >= 0 and _by_composite(e, op):
        ids = e.id(op.value), e.id(op.matrix)
        made = e.emit("OpCompositeInsert", *ids, slot, type=whole)
    else:
        variable = _variable(e, whole)
        e.do("OpStore", variable, e.id(op.matrix))
        e.do("OpStore", _element(e, variable, op.index, type), e.id(op.value))
        made = e.emit("OpLoad", variable, type=whole)
    e.set(op.result, (made,))


def _check(e: Emission, op: Operation) -> None:
    """Refuse elements where the device has no way to one."""
    if not e.facts.device.element_access:
        raise Refusal(
            f"{e.facts.device.name} has no access to single elements of a matrix"
        )


def _by_composite(e: Emission, op: Operation) -> bool:
    """Whether a matrix may be an operand here: all work-items are together."""
    return e.facts.vulkan and isinstance(op.parent_op(), func.FuncOp)


def _together(e: Emission, op: coopmatrix.InsertOp) -> None:
    """Refuse a matrix object that is made where lanes differ."""
    if isinstance(op.parent_op(), func.FuncOp):
        return
    if e.whole.uniformity.around(op) > Variation.SUBGROUPS:
        raise Refusal(
            "expected an insertion that is yielded on to where all lanes are together, "
            "in a chain from one matrix through scf.if and scf.for, as matrices are "
            f"made by all lanes: {LEGALIZE} has no other form of it"
        )


def _variable(e: Emission, matrix: Id) -> Id:
    return e.function.local_variable(e.types.pointer("Function", matrix))


def _element(e: Emission, variable: Id, index: SSAValue, type: Id) -> Id:
    """A pointer to an element."""
    to = e.types.pointer("Function", type)
    return e.emit("OpAccessChain", variable, e.id(index), type=to)


def _spilled(e: Emission, value: SSAValue) -> Id:
    """A variable that holds a matrix from where it is made on."""
    id = e.id(value)
    if (found := e.spilled.get(id)) is not None:
        return found
    variable = e.spilled[id] = _variable(e, id.type)
    body = e.function.body
    at = _after_definition(body, id)
    if at is None:
        e.at_entry(lambda: e.do("OpStore", variable, id))
    else:
        e.do("OpStore", variable, id)
        body.insert(at, body.pop())
    return variable


def _after_definition(body: list[Instruction], id: Id) -> int | None:
    """Where what follows the definition of an id begins; None if it is at the entry."""
    for at in range(len(body) - 1, -1, -1):
        if body[at] is not id.definition:
            continue
        at += 1
        while at < len(body) and body[at].facts.name in ("OpPhi", "OpLine"):
            at += 1
        return at
    return None


def begin_control(e: Emission, op: Operation) -> None:
    """Put the matrices whose elements an operation changes into variables."""
    if not isinstance(op, scf.ForOp | scf.IfOp) or not op.results:
        return
    for result, chain in chains(op):
        if result in e.flow.kept:
            continue
        variable = _variable(e, e.types.matrix(matrix_type(result)))
        e.do("OpStore", variable, e.id(chain.root))
        for value in chain.values:
            e.flow.kept[value] = Kept(variable)


def end_control(e: Emission, op: Operation) -> None:
    """Take matrices out of their variables again."""
    for result in op.results:
        kept = e.value(result)
        if not isinstance(kept, Kept):
            continue
        users = [use.operation for use in result.uses]
        if _stays(result, e):
            continue
        if all(isinstance(user, coopmatrix.ExtractOp) for user in users):
            continue
        type = e.types.matrix(matrix_type(result))
        e.set(result, (e.emit("OpLoad", kept.variable, type=type),))


def _stays(result: SSAValue, e: Emission) -> bool:
    """Whether the chain goes on outside the operation."""
    return any(
        value in e.flow.kept
        for use in result.uses
        for value in use.operation.results
        if isinstance(use.operation, coopmatrix.InsertOp | scf.ForOp)
    ) or any(
        isinstance(use.operation, scf.YieldOp)
        and (around := use.operation.parent_op()) is not None
        and around.results[use.index] in e.flow.kept
        for use in result.uses
    )
