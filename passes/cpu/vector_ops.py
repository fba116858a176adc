"""Operations of one work-item, written for all lanes: which goes which way."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.func import CallOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable, is_side_effect_free

from coopc.dialects import coopmatrix, row_slice, shaped_arith, simt
from coopc.dialects.narrow import is_vector
from coopc.dialects.traits import Collective
from coopc.passes.cpu.vector_code import INDEX, Code, refuse
from coopc.passes.cpu.vector_flow import flow
from coopc.passes.cpu.vector_lanes import exchange, ids
from coopc.passes.cpu.vector_memory import (
    access,
    in_lane,
    note_stride,
    private_memory,
)

ELEMENTWISE = (shaped_arith.Arith.name, "math")
"""Dialects whose operations do to each component what they do to a number."""

DIVISIONS = (
    arith.DivUIOp,
    arith.DivSIOp,
    arith.FloorDivSIOp,
    arith.CeilDivSIOp,
    arith.CeilDivUIOp,
    arith.RemUIOp,
    arith.RemSIOp,
)
"""What is undefined for some second operand, in lanes that do not run it too."""


def write(code: Code, op: Operation) -> None:
    """Write one operation.

    Raises:
        PassFailedException: it has no form for all lanes.
    """
    code.location = op.location
    if flow(code, op, write) or _own_slots(code, op) or _slices(code, op):
        return
    if op.has_trait(Collective) and code.mask is not None:
        refuse(op, "expected control flow that is the same for all lanes")
    note_stride(code, op)
    if (found := ids(code, op)) is not None:
        code.name(op.results, [found])
    elif not _together(code, op):
        _alone(code, op)


def _together(code: Code, op: Operation) -> bool:
    """Write what lanes do together; say whether it was that."""
    match op:
        case simt.LaneOp() if is_vector(op.value.type):
            refuse(op, f"expected a number of each lane, got {op.value.type}")
        case simt.LaneOp():
            code.name(op.results, [exchange(code, op)])
        case simt.WaitingOp():
            _wait(code, op)
        case simt.BlockReadOp() | simt.BlockWriteOp():
            _block(code, op)
        case _:
            return False
    return True


def _alone(code: Code, op: Operation) -> None:
    """Write what has no form of its own for lanes, or is about functions."""
    match op:
        case coopmatrix.FillOp() if op.value in code.varying:
            value = code.component(code.of(op.value), 0)
            code.name(op.results, [code.add(coopmatrix.FillOp(value, op.result.type))])
        case CallOp():
            _call(code, op)
        case ReturnOp():
            code.effect(ReturnOp(*map(code.of, op.arguments)))
        case memref.AllocaOp() if op.memref in code.varying:
            code.name(op.results, [private_memory(code, op)])
        case _:
            _other(code, op)


def _slices(code: Code, op: Operation) -> bool:
    """Write operations on row slices; say whether it was one."""
    match op:
        case row_slice.LengthOp():
            new = row_slice.LengthOp(op.matrix_type, code.lanes.count)
            code.name(op.results, [code.add(new)])
        case row_slice.IdOp():
            new = row_slice.IdOp(code.of(op.matrix), code.of(op.index))
            code.name(op.results, [code.add(new)])
        case row_slice.ExtractElementOp():
            type = code.wide(op.result.type)
            new = row_slice.ExtractElementOp(code.of(op.token), type)
            code.name(op.results, [code.add(new)])
        case row_slice.InsertElementOp():
            mask = code.mask
            if op.mask is not None:
                mask = code.both(mask, code.spread(op.mask))
            value = code.spread(op.value)
            code.effect(row_slice.InsertElementOp(value, code.of(op.token), mask))
        case row_slice.InsertToMatrixOp():
            new = row_slice.InsertToMatrixOp(code.of(op.token), op.result.type)
            code.name(op.results, [code.add(new)])
        case (
            coopmatrix.LengthOp()
            | coopmatrix.ExtractOp()
            | coopmatrix.InsertOp()
            | coopmatrix.CoordOp()
        ):
            refuse(
                op, "expected row_slice operations, as resolve-matrix-wi-slice makes"
            )
        case _:
            return False
    return True


def _own_slots(code: Code, op: Operation) -> bool:
    """Write an operation on slots that differ between lanes; say whether it was one.

    Their token becomes its matrix, after what was inserted so far.
    """
    match op:
        case row_slice.IdOp() if op.index in code.varying:
            code.values[op.result] = code.of(op.matrix)
            return True
        case (
            row_slice.ExtractElementOp()
            | row_slice.InsertElementOp()
            | row_slice.InsertToMatrixOp()
        ):
            owner = op.token.owner
        case _:
            return False
    if not isinstance(owner, row_slice.IdOp) or owner.index not in code.varying:
        return False
    if owner.parent is not op.parent:
        refuse(op, "expected a token to be used in the block that it is made in")
    matrix, index = code.of(op.token), code.of(owner.index)
    match op:
        case row_slice.ExtractElementOp():
            code.name(op.results, [_gather(code, op, matrix, index)])
        case row_slice.InsertElementOp():
            code.values[op.token] = _scatter(code, op, matrix, index)
        case row_slice.InsertToMatrixOp():
            code.name(op.results, [matrix])
    return True


def _gather(
    code: Code, op: row_slice.ExtractElementOp, matrix: SSAValue, index: SSAValue
) -> SSAValue:
    """Return an element of each lane, of one row slice after the other."""

    def one(lane: SSAValue) -> list[SSAValue]:
        token = code.add(row_slice.IdOp(matrix, code.component(index, lane)))
        wide = code.wide(op.result.type)
        found = code.add(row_slice.ExtractElementOp(token, wide))
        return [code.component(found, lane)]

    return code.each_lane([op.result.type], one)[0]


def _scatter(
    code: Code, op: row_slice.InsertElementOp, matrix: SSAValue, index: SSAValue
) -> SSAValue:
    """Return the matrix with an element of each active lane."""
    value, numbers = code.spread(op.value), code.numbers(range(code.lanes.count))

    def one(lane: SSAValue, found: Sequence[SSAValue]) -> list[SSAValue]:
        token = code.add(row_slice.IdOp(found[0], code.component(index, lane)))
        own = code.add(vector.BroadcastOp(lane, code.wide(INDEX)))
        alone = code.add(arith.CmpiOp(numbers, own, "eq"))
        code.effect(row_slice.InsertElementOp(value, token, alone))
        return [code.add(row_slice.InsertToMatrixOp(token, found[0].type))]

    mask = code.mask
    if op.mask is not None:
        mask = code.both(mask, code.spread(op.mask))
    with code.within(code.block, mask):
        return code.lane_by_lane([matrix], one)[0]


def _wait(code: Code, op: simt.WaitingOp) -> None:
    """Lanes of a work-item never wait for each other: they run in step."""
    within = op.scope.data is simt.FenceScope.SUBGROUP
    if not within and not code.lanes.is_whole_group:
        code.effect(op.clone())


def _block(code: Code, op: simt.BlockReadOp | simt.BlockWriteOp) -> None:
    """Lanes read and write consecutive elements: one vector."""
    type = op.result.type if isinstance(op, simt.BlockReadOp) else op.value.type
    if is_vector(type):
        refuse(op, f"expected one element of each lane, got {type}")
    if code.lanes.is_whole_group or any(x in code.varying for x in op.positions):
        refuse(op, "expected positions that are the same for all lanes")
    where = [code.of(x) for x in op.positions]
    memory = code.of(op.memory)
    if isinstance(op, simt.BlockReadOp):
        found = code.add(vector.LoadOp(memory, where, code.wide(type)))
        code.name(op.results, [found])
    else:
        code.effect(vector.StoreOp(code.spread(op.value), memory, where))


def _call(code: Code, op: CallOp) -> None:
    """Call a function that is vectorised too."""
    if code.mask is not None:
        refuse(op, "expected control flow that is the same for all lanes at a call")
    callee = SymbolTable.lookup_symbol(op, op.callee)
    region = None if callee is None or not callee.regions else callee.regions[0]
    if region is None or not region.blocks:
        if any(x in code.varying for x in (*op.operands, *op.results)):
            refuse(op, "expected a function with a body, for what differs by lane")
        arguments = [code.of(x) for x in op.arguments]
    else:
        pairs = zip(op.arguments, region.block.args, strict=True)
        arguments = [code.as_target(x, y) for x, y in pairs]
    new = CallOp(op.callee, arguments, [code.type_of(x) for x in op.results])
    code.effect(new)
    code.name(op.results, new.results)


def _other(code: Code, op: Operation) -> None:
    """Write an operation by what of it varies; its regions stay as they are."""
    _check_regions(code, op)
    varies = any(x in code.varying for x in op.operands)
    updates = isinstance(op, memref.AtomicRMWOp)
    atomic = updates or (varies and simt.ORDERING in op.attributes)
    if isinstance(op, memref.LoadOp | memref.StoreOp) and varies and not atomic:
        found = access(code, op)
        code.name(op.results, [] if found is None else [found])
    elif op.dialect_name() in ELEMENTWISE and _any_result(code, op) and varies:
        _elementwise(code, op)
    elif not varies and not atomic:
        _uniform(code, op)
    elif is_side_effect_free(op) and op.results and not _any_result(code, op):
        _of_first_lane(code, op)
    elif atomic or (is_side_effect_free(op) and not op.regions):
        _each_lane(code, op)
    else:
        refuse(op, "expected operands that are the same for all lanes")


def _check_regions(code: Code, op: Operation) -> None:
    """Refuse regions in which something is not the same for all lanes.

    What the body of `coopmatrix.apply` computes differs between elements, not lanes.
    """
    own = op if isinstance(op, coopmatrix.ApplyOp) else None
    for nested in op.walk():
        values = [
            x
            for x in (*nested.operands, *nested.results)
            if own is None or not own.is_ancestor(x.owner)
        ]
        if nested is not op and (
            any(x in code.varying for x in values)
            or nested.dialect_name() in ("simt", "row_slice", "func")
        ):
            refuse(op, f"expected a region without {nested.name} of each lane")


def _any_result(code: Code, op: Operation) -> bool:
    return any(x in code.varying for x in op.results)


def _uniform(code: Code, op: Operation) -> None:
    """Write an operation as it is; spread results that are vectors elsewhere."""
    new = op.clone(dict(code.values))
    code.effect(new)
    found: list[SSAValue] = []
    for old, result in zip(op.results, new.results, strict=True):
        wide = old in code.varying
        type = code.type_of(old)
        if wide and is_vector(old.type):
            refuse(op, f"expected numbers where lanes differ, got {old.type}")
        found.append(
            code.add(vector.BroadcastOp(result, type))  # pyright: ignore
            if wide
            else result
        )
    code.name(op.results, found)


def _elementwise(code: Code, op: Operation) -> None:
    """Write an operation on vectors."""
    if any(is_vector(x.type) for x in (*op.operands, *op.results)):
        refuse(op, "expected numbers where lanes differ, got vectors")
    operands = [code.spread(x) for x in op.operands]
    if isinstance(op, DIVISIONS) and code.mask is not None:
        one = code.constant(1, operands[1].type)
        operands[1] = code.add(arith.SelectOp(code.mask, operands[1], one))
    new = op.create(
        operands=operands,
        result_types=[code.wide(x.type) for x in op.results],
        properties=op.properties,
        attributes=op.attributes,
    )
    code.effect(new)
    code.name(op.results, new.results)


def _of_first_lane(code: Code, op: Operation) -> None:
    """Write an operation whose result is one for all lanes, whatever its operands."""
    zero = code.constant(0)
    new = op.clone({x: in_lane(code, x, zero) for x in op.operands})
    code.effect(new)
    code.name(op.results, new.results)


def _each_lane(code: Code, op: Operation) -> None:
    """Write an operation for each active lane."""
    if any(is_vector(x.type) for x in (*op.operands, *op.results)):
        refuse(op, "expected numbers where lanes differ, got vectors")

    def one(lane: SSAValue) -> list[SSAValue]:
        new = op.clone({x: in_lane(code, x, lane) for x in op.operands})
        code.effect(new)
        return list(new.results)

    code.name(op.results, code.each_lane([x.type for x in op.results], one))
