"""What each operation of one work-item is for all lanes: a table of rules.

    | operation                        | for all lanes                                 |
    |----------------------------------|-----------------------------------------------|
    | nothing of it varies             | as it is                                      |
    | `arith`, `math`                  | the same on vectors                           |
    | load, store of consecutive lanes | a vector, masked where not all are active     |
    | other loads, stores, atomics     | lane by lane                                  |
    | ids, sizes                       | constants by lane                             |
    | broadcast, shuffle, reduce       | components; a reduction of a vector           |
    | operations on a row slice        | the same, widened                             |
    | loops, branches                  | as they are, or masked                        |

A rule returns what the results are now, of types that `VectorBuilder.type_of` says.

A branch that lanes take differently runs both sides, each for the lanes that take it,
if there are any; a side that `is_quick` runs even if there are none.  A loop that lanes
leave at different times runs until no lane goes on; those who have left keep what they
had:

    scf.for %i = %lb to %ub ..        scf.while (%i = %lb, ..) {
      ..                                %active = %i < %ub
                                        scf.condition(any of %active) %active, %i, ..
                                      } do { .. under %active; select what it gives }

Matrices are one for all lanes: under masks they can only be inserted into, since
insertions change nothing of lanes that are not active.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import IntegerType, MemRefType, UnitAttr, i1
from xdsl.dialects.func import CallOp, ReturnOp
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.traits import SymbolTable, is_side_effect_free, is_speculatable

from coopc.dialects import coopmatrix, effects, row_slice, shaped_arith, simt
from coopc.dialects.narrow import is_integer, is_memref, is_vector, vector_type
from coopc.dialects.simt import ReduceKind, ShuffleMode
from coopc.dialects.traits import Collective
from coopc.ir.builder import INDEX, Values
from coopc.ir.control_flow import block_of, yielded
from coopc.ir.facts import constant_number
from coopc.ir.transaction import Refused
from coopc.passes.cpu.vectorize_subgroup.vector_builder import VectorBuilder, is_shared

Results: TypeAlias = Sequence[SSAValue]
Rule: TypeAlias = Callable[[VectorBuilder, Any], Results]

ELEMENTWISE = (shaped_arith.Arith.name, "math")
"""Dialects whose operations do to each component what they do to a number."""


def write(b: VectorBuilder, op: Operation) -> None:
    """Write one operation.

    Raises:
        Refused: it has no form for all lanes.
    """
    b.location = op.location
    if isinstance(op, coopmatrix.ELEMENTS_OF_LANES):
        reason = "expected row_slice operations, as resolve-matrix-wi-slice makes"
        raise Refused(op, reason)
    if op.has_trait(Collective) and b.mask is not None:
        raise Refused(op, "expected control flow that is the same for all lanes")
    b.define(op.results, RULES.get(type(op), by_what_varies)(b, op))


# By what varies, whatever the operation is


def by_what_varies(b: VectorBuilder, op: Operation) -> Results:
    """Write an operation by what of it varies; its regions stay as they are."""
    if op.regions:
        _check_regions(b, op)
    results_vary = any(x in b.varying for x in op.results)
    if not any(x in b.varying for x in op.operands):
        return uniform(b, op)
    if op.dialect_name() in ELEMENTWISE and results_vary:
        return elementwise(b, op)
    if is_side_effect_free(op) and op.results and not results_vary:
        # One for all lanes, whatever the operands are.
        return b.effect(op.clone({x: b.in_lane(x, 0) for x in op.operands})).results
    if is_side_effect_free(op) and not op.regions:
        return each_lane(b, op)
    raise Refused(op, "expected operands that are the same for all lanes")


def _check_regions(b: VectorBuilder, op: Operation) -> None:
    """Refuse regions in which something is not the same for all lanes.

    What the body of `coopmatrix.apply` computes differs between elements, not lanes.
    """
    own = op if isinstance(op, coopmatrix.ApplyOp) else None
    for nested in (x for region in op.regions for x in region.walk()):
        varies = any(
            x in b.varying and (own is None or not own.is_ancestor(x.owner))
            for x in (*nested.operands, *nested.results)
        )
        if varies or nested.dialect_name() in ("simt", "row_slice", "func"):
            raise Refused(op, f"expected a region without {nested.name} of each lane")


def uniform(b: VectorBuilder, op: Operation) -> Results:
    """Write an operation as it is; results that vary elsewhere are spread."""
    used = {x for inner in op.walk() for x in inner.operands}
    new = b.effect(op.clone({x: b.values[x] for x in used if x in b.values}))
    found: list[SSAValue] = []
    for old, result in zip(op.results, new.results, strict=True):
        if old in b.varying:
            _check_numbers(op, old)
            found.append(b.pure(vector.BroadcastOp, result, b.wide(old.type)))
        else:
            found.append(result)
    return found


def elementwise(b: VectorBuilder, op: Operation) -> Results:
    _check_numbers(op, *op.operands, *op.results)
    operands = [b.as_vector(x) for x in op.operands]
    if isinstance(op, effects.DIVISIONS) and b.mask is not None:
        # Lanes that do not run it divide, too.
        one = b.constant(operands[1].type, 1)
        operands[1] = b.select(b.mask, operands[1], one)
    if (step := stride_of_result(b, op)) is not None:
        b.strides[op.results[0]] = step
    new = b.like(op, operands, [b.wide(x.type) for x in op.results])
    new.attributes |= op.attributes
    return new.results


def each_lane(b: VectorBuilder, op: Operation) -> Results:
    _check_numbers(op, *op.operands, *op.results)

    def one(lane: SSAValue) -> Results:
        return b.effect(op.clone({x: b.in_lane(x, lane) for x in op.operands})).results

    return b.each_lane([x.type for x in op.results], one)


def _check_numbers(op: Operation, *values: SSAValue) -> None:
    for value in values:
        if is_vector(value.type):
            what = f"expected numbers where lanes differ, got {value.type}"
            raise Refused(op, what)


# Where work-items are


def position(b: VectorBuilder, op: Operation) -> Results:
    """The number of each lane in its subgroup, of its subgroup, and how many there are.

    Sizes are those that the kernel had; a subgroup may be a work-item.
    """
    size, count = b.lanes.subgroup_size, b.lanes.count
    match op:
        case simt.LaneIdOp():
            b.strides[op.result] = 1
            return [b.by_lane(lambda lane: lane % size)]
        case simt.SubgroupSizeOp():
            return [b.constant(INDEX, size)]
        case simt.WorkgroupSizeOp():
            return [b.constant(INDEX, b.lanes.work_group_size[op.axis])]
        case _ if not b.lanes.is_whole_group:
            return uniform(b, op)
        case simt.SubgroupIdOp():
            return [b.by_lane(lambda lane: lane // size)]
        case _:
            assert isinstance(op, simt.NumSubgroupsOp), op
            return [b.constant(INDEX, count // size)]


def local_id(b: VectorBuilder, op: simt.LocalIdOp) -> Results:
    """A digit of the number of a work-item in its work-group, x first."""
    x, y, z = b.lanes.work_group_size
    axis = op.axis
    below, size = (1, x, x * y)[axis], (x, y, z)[axis]
    count, varies = b.lanes.count, op.result in b.varying
    if axis == 0 and (y * z == 1 or x % count == 0):
        b.strides[op.result] = 1
    if x * y * z == count:
        if varies:
            return [b.by_lane(lambda lane: lane // below % size)]
        assert size == 1, op
        return [b.constant(INDEX, 0)]
    item = b.pure(simt.SubgroupIdOp)
    linear = b.pure(arith.MuliOp, item, b.constant(INDEX, count))
    if varies:
        spread = b.pure(vector.BroadcastOp, linear, b.wide(INDEX))
        linear = b.pure(arith.AddiOp, spread, b.by_lane(lambda lane: lane))
    if below > 1:
        linear = b.pure(arith.DivUIOp, linear, b.constant(linear.type, below))
    if axis < 2:
        linear = b.pure(arith.RemUIOp, linear, b.constant(linear.type, size))
    return [linear]


# Between lanes


def broadcast(b: VectorBuilder, op: simt.BroadcastOp) -> Results:
    """The component of one lane, the same for all of a subgroup."""
    _check_numbers(op, op.value)
    if op.value not in b.varying:
        return b.as_targets([op.value], op.results)
    if op.result in b.varying:
        return [_taken(b, b.values[op.value], b.as_vector(op.lane))]
    return [b.extract(b.values[op.value], b.in_lane(op.lane, 0))]


def shuffle(b: VectorBuilder, op: simt.ShuffleOp) -> Results:
    """Components; of a lane that does not exist, some other one's."""
    _check_numbers(op, op.value)
    if op.value not in b.varying:
        return b.as_targets([op.value], op.results)
    size = b.lanes.subgroup_size
    make, other = OFFSETS[op.mode.data]
    if (by := constant_number(op.offset)) is not None:
        lanes = range(b.lanes.count)
        chosen = [x // size * size + other(x % size, by) % size for x in lanes]
        return [b.blend(b.values[op.value], b.values[op.value], chosen)]
    lane = b.as_vector(op.offset)
    if make is not None:
        lane = b.pure(make, b.by_lane(lambda lane: lane % size), lane)
    # Subgroup sizes are powers of two: this is the remainder, never negative.
    lane = b.pure(arith.AndIOp, lane, b.constant(lane.type, size - 1))
    return [_taken(b, b.values[op.value], lane)]


OtherLane: TypeAlias = tuple[type[Operation] | None, Callable[[int, int], int]]
OFFSETS: Mapping[ShuffleMode, OtherLane] = {
    ShuffleMode.XOR: (arith.XOrIOp, int.__xor__),
    ShuffleMode.UP: (arith.SubiOp, int.__sub__),
    ShuffleMode.DOWN: (arith.AddiOp, int.__add__),
    ShuffleMode.IDX: (None, lambda lane, index: index),
}
"""From the own lane and the offset to the other lane; `idx` says the lane itself."""


def _taken(b: VectorBuilder, value: SSAValue, lanes: SSAValue) -> SSAValue:
    """Write, for each lane, what the lane of a number in its subgroup has."""
    size = b.lanes.subgroup_size
    first = b.by_lane(lambda lane: lane // size * size)
    sources = b.pure(arith.AddiOp, first, lanes)

    def one(lane: SSAValue) -> Results:
        return [b.extract(value, b.extract(sources, lane))]

    return b.each_lane([vector_type(value).get_element_type()], one)[0]


def reduce(b: VectorBuilder, op: simt.ReduceOp) -> Results:
    """A reduction of the vector, or of the part of each subgroup."""
    _check_numbers(op, op.value)
    kind = str(op.kind.data)
    if op.kind.data in (ReduceKind.MAX, ReduceKind.MIN):
        of_integers = "ui" if op.signed is None else "si"
        kind += of_integers if is_integer(op.value.type) else "numf"
    value, size = b.as_vector(op.value), b.lanes.subgroup_size

    def of_subgroup(start: int) -> SSAValue:
        part = value
        if b.lanes.is_whole_group:
            part = b.blend(value, value, range(start, start + size))
        return b.reduced(part, CombiningKindFlag(kind))

    if op.result not in b.varying:
        return [of_subgroup(0)]
    wide = b.wide(op.value.type)
    found = b.pure(vector.BroadcastOp, of_subgroup(0), wide)
    for start in range(size, b.lanes.count, size):
        spread = b.pure(vector.BroadcastOp, of_subgroup(start), wide)
        own = range(start, start + size)
        chosen = [x + b.lanes.count * (x in own) for x in range(b.lanes.count)]
        found = b.blend(found, spread, chosen)
    return [found]


def wait(b: VectorBuilder, op: simt.WaitingOp) -> Results:
    """Lanes of a work-item never wait for each other: they run in step."""
    within = op.scope.data is simt.FenceScope.SUBGROUP
    if not within and not b.lanes.is_whole_group:
        b.effect(op.clone())
    return ()


# Memory


def memory_at(b: VectorBuilder, op: simt.MemoryAtOp) -> Results:
    """The address, where each lane has its own: `VectorBuilder.in_lane`."""
    if op.address not in b.varying:
        return uniform(b, op)
    return [b.values[op.address]]


Access: TypeAlias = memref.LoadOp | memref.StoreOp


def access(b: VectorBuilder, op: Access) -> Results:
    """A vector where lanes access consecutive elements, else lane by lane."""
    if not any(x in b.varying for x in op.operands):
        return uniform(b, op)
    memory, indices = op.memref, list(op.indices)
    private = memory in b.varying
    is_address = isinstance(memory.owner, simt.MemoryAtOp)
    if simt.ORDERING in op.attributes or (private and is_address):
        return each_lane(b, op)
    plain = simt.VOLATILE not in op.attributes
    if private and not isinstance(memory.owner, memref.AllocaOp):
        raise Refused(
            op,
            "expected private memory of memref.alloca, or a memref that is the "
            "same for all lanes, got one that varies",
        )
    if plain and private and not any(x in b.varying for x in indices):
        where = [*map(b.values.__getitem__, indices), b.constant(INDEX, 0)]
        return _together(b, op, memory, where)
    if plain and not private and is_consecutive(b, memory.type, indices):
        return _together(b, op, memory, [b.in_lane(x, 0) for x in indices])
    if plain and not private and not is_address and is_written_apart(b, indices):
        return _apart(b, op)

    def one(lane: SSAValue) -> Results:
        new = op.clone({x: b.in_lane(x, lane) for x in op.operands})
        if private:  # its last dimension is of lanes
            where = [*new.indices, lane]
            if isinstance(new, memref.LoadOp):
                new = memref.LoadOp.get(new.memref, where)
            else:
                new = memref.StoreOp.get(new.value, new.memref, where)
        return b.effect(new).results

    return b.each_lane([x.type for x in op.results], one)


def _together(
    b: VectorBuilder,
    op: Access | simt.BlockReadOp | simt.BlockWriteOp,
    memory: SSAValue,
    where: Sequence[SSAValue],
) -> Results:
    """Write an access to consecutive elements."""
    memory = b.values[memory]
    if isinstance(op, memref.StoreOp | simt.BlockWriteOp):
        value = b.as_vector(op.value)
        if b.mask is None:
            return b.effect(vector.StoreOp(value, memory, where)).results
        return b.effect(vector.MaskedStoreOp(memory, where, b.mask, value)).results
    type = b.wide(op.results[0].type)
    if b.mask is None:
        return b.effect(vector.LoadOp(memory, where, type)).results
    rest = b.constant(type, 0)
    return b.effect(vector.MaskedLoadOp(memory, where, b.mask, rest, type)).results


MOST_APART = 16
"""Lanes whose accesses are unrolled, at most, if they are not evenly apart."""


def is_written_apart(b: VectorBuilder, indices: Sequence[SSAValue]) -> bool:
    """Whether an access of all lanes is unrolled, and no loop over them."""
    even = all(spacing(b, x) is not None for x in indices)
    return b.mask is None and (even or b.lanes.count <= MOST_APART)


def _apart(b: VectorBuilder, op: Access) -> Results:
    """Write an access of each lane, by itself.

    Where lanes are evenly apart, so are the places: these are sums with constants.
    """

    def place(x: SSAValue, lane: int) -> SSAValue:
        by = spacing(b, x)
        return b.in_lane(x, lane) if by is None else b.plus(b.in_lane(x, 0), lane * by)

    memory, lanes = b.values[op.memref], range(b.lanes.count)
    places = [[place(x, lane) for x in op.indices] for lane in lanes]
    if isinstance(op, memref.StoreOp):
        value = b.as_vector(op.value)
        for lane, at in zip(lanes, places, strict=True):
            b.store(b.extract(value, lane), memory, at)
        return ()
    found = b.constant(b.wide(op.res.type), 0)
    for lane, at in zip(lanes, places, strict=True):
        found = b.insert(found, lane, b.load(memory, at))
    return [found]


def is_consecutive(
    b: VectorBuilder, memory: Attribute, indices: Sequence[SSAValue]
) -> bool:
    """Whether lane l accesses element l from that of lane 0 on."""
    if not isinstance(memory, MemRefType) or not indices or b.lanes.is_whole_group:
        return False
    strides = memory.get_strides()
    if not strides or strides[-1] != 1:
        return False
    *outer, last = indices
    return not any(x in b.varying for x in outer) and stride(b, last) == 1


def stride(b: VectorBuilder, value: SSAValue) -> int | None:
    """Return by how much an index grows from lane to lane; None if not evenly."""
    return b.strides.get(value) if value in b.varying else 0


def spacing(b: VectorBuilder, value: SSAValue) -> int | None:
    """Return the stride of an index; None where lanes are of several subgroups."""
    return None if b.lanes.is_whole_group else stride(b, value)


LEAST_INDEX_BITS = 32


def stride_of_result(b: VectorBuilder, op: Operation) -> int | None:
    """Return the stride of an integer result; None if unknown.

    An integer of 32 bits or more that wraps around between lanes becomes negative when
    it is sign-extended, and an access there is out of bounds.
    """
    type = op.results[0].type if op.results else None
    if isinstance(type, IntegerType) and type.bitwidth < LEAST_INDEX_BITS:
        return None
    match op:
        case arith.AddiOp() | arith.SubiOp():
            one, other = stride(b, op.lhs), stride(b, op.rhs)
            if one is not None and other is not None:
                return one + other if isinstance(op, arith.AddiOp) else one - other
        case arith.MuliOp():
            for factor, value in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                number, one = constant_number(factor), stride(b, value)
                if number is not None and one is not None:
                    return one * number
        case arith.IndexCastOp() | arith.ExtSIOp() | arith.TruncIOp():
            return stride(b, op.input)
        case _:
            pass
    return None


def allocate(b: VectorBuilder, op: memref.AllocaOp) -> Results:
    """Memory of each lane: one more dimension, of lanes."""
    if op.memref not in b.varying:
        return uniform(b, op)
    type = op.memref.type
    if op.dynamic_sizes or not type.has_static_shape():
        raise Refused(op, f"expected private memory of a static size, got {type}")
    if any(not isinstance(x.operation, Access) for x in op.memref.uses):
        what = "expected private memory that is only loaded from and stored to"
        raise Refused(op, what)
    shape = [*type.get_shape(), b.lanes.count]
    new = memref.AllocaOp.get(
        type.get_element_type(), shape=shape, memory_space=type.memory_space
    )
    new.attributes = {k: v for k, v in op.attributes.items() if isinstance(v, UnitAttr)}
    return b.effect(new).results


def access_block(b: VectorBuilder, op: simt.BlockReadOp | simt.BlockWriteOp) -> Results:
    """Lanes read and write consecutive elements: one vector."""
    type = op.result.type if isinstance(op, simt.BlockReadOp) else op.value.type
    if is_vector(type):
        raise Refused(op, f"expected one element of each lane, got {type}")
    if b.lanes.is_whole_group or any(x in b.varying for x in op.positions):
        raise Refused(op, "expected positions that are the same for all lanes")
    return _together(b, op, op.memory, [b.values[x] for x in op.positions])


# Row slices of matrices


def slice_length(b: VectorBuilder, op: row_slice.LengthOp) -> Results:
    """The number of row slices of all lanes."""
    return [b.pure(row_slice.LengthOp, op.matrix_type, b.lanes.count)]


def slice_id(b: VectorBuilder, op: row_slice.IdOp) -> Results:
    """A token; where lanes have slots of their own, the matrix as it is so far."""
    matrix = b.values[op.matrix]
    if op.index in b.varying:
        return [matrix]
    return b.effect(row_slice.IdOp(matrix, b.values[op.index])).results


def extract_element(b: VectorBuilder, op: row_slice.ExtractElementOp) -> Results:
    """The row slice; an element of each lane's own otherwise, one after the other."""
    wide = b.wide(op.result.type)
    if (index := _own_index(b, op)) is None:
        return b.effect(row_slice.ExtractElementOp(b.values[op.token], wide)).results
    matrix = b.values[op.token]

    def one(lane: SSAValue) -> Results:
        token = b.effect(row_slice.IdOp(matrix, b.extract(index, lane))).results[0]
        found = b.effect(row_slice.ExtractElementOp(token, wide)).results[0]
        return [b.extract(found, lane)]

    return b.each_lane([op.result.type], one)


def insert_element(b: VectorBuilder, op: row_slice.InsertElementOp) -> Results:
    """The row slice under a mask; or an element of each active lane's own."""
    value, mask = b.as_vector(op.value), b.mask
    if op.mask is not None:
        mask = b.active(b.as_vector(op.mask))
    if (index := _own_index(b, op)) is None:
        b.effect(row_slice.InsertElementOp(value, b.values[op.token], mask))
        return ()
    numbers = b.by_lane(lambda lane: lane)

    def one(lane: SSAValue, found: Values) -> Values:
        (matrix,) = found
        token = b.effect(row_slice.IdOp(matrix, b.extract(index, lane))).results[0]
        own = b.pure(vector.BroadcastOp, lane, b.wide(INDEX))
        alone = b.compare("eq", numbers, own)
        b.effect(row_slice.InsertElementOp(value, token, alone))
        new = b.effect(row_slice.InsertToMatrixOp(token, matrix.type))
        return tuple(new.results)

    with b.masked(mask):
        (b.values[op.token],) = b.lane_by_lane([b.values[op.token]], one)
    return ()


def insert_to_matrix(b: VectorBuilder, op: row_slice.InsertToMatrixOp) -> Results:
    """The matrix as insertions have made it."""
    token = b.values[op.token]
    if _own_index(b, op) is not None:
        return [token]
    return b.effect(row_slice.InsertToMatrixOp(token, op.result.type)).results


def _own_index(
    b: VectorBuilder,
    op: (
        row_slice.ExtractElementOp
        | row_slice.InsertElementOp
        | row_slice.InsertToMatrixOp
    ),
) -> SSAValue | None:
    """Return the slot of each lane where they differ, None where there is one."""
    owner = op.token.owner
    if not isinstance(owner, row_slice.IdOp) or owner.index not in b.varying:
        return None
    if owner.parent is not op.parent:
        raise Refused(op, "expected a token to be used in the block that it is made in")
    return b.values[owner.index]


def fill(b: VectorBuilder, op: coopmatrix.FillOp) -> Results:
    """A matrix of a number that is the same for all lanes by its meaning."""
    if op.value not in b.varying:
        return uniform(b, op)
    return b.effect(coopmatrix.FillOp(b.in_lane(op.value, 0), op.result.type)).results


# Functions


def call(b: VectorBuilder, op: CallOp) -> Results:
    """Call a function that is vectorised too."""
    if b.mask is not None:
        what = "expected control flow that is the same for all lanes at a call"
        raise Refused(op, what)
    callee = SymbolTable.lookup_symbol(op, op.callee)
    region = None if callee is None or not callee.regions else callee.regions[0]
    if region is not None and region.blocks:
        arguments = b.as_targets(op.arguments, region.block.args)
    else:
        if any(x in b.varying for x in (*op.operands, *op.results)):
            what = "expected a function with a body, for what differs by lane"
            raise Refused(op, what)
        arguments = [b.values[x] for x in op.arguments]
    new = CallOp(op.callee, arguments, [b.type_of(x) for x in op.results])
    return b.effect(new).results


def give_back(b: VectorBuilder, op: ReturnOp) -> Results:
    """Return values in the form that they have."""
    return b.effect(ReturnOp(*map(b.values.__getitem__, op.arguments))).results


# Control flow


def control_flow(b: VectorBuilder, op: scf.IfOp | scf.ForOp | scf.WhileOp) -> Results:
    """Write a branch or a loop, masked where lanes go different ways."""
    match op:
        case scf.IfOp():
            if op.cond in b.varying:
                return _masked_if(b, op)
            return _alike(b, op, [op.cond], [op.results, op.results])
        case scf.ForOp():
            bounds = op.lb, op.ub, op.step
            if any(x in b.varying for x in bounds):
                return _masked_for(b, op)
            carried = op.body.block.args[1:]
            return _alike(b, op, [*bounds, *carried], [carried])
        case scf.WhileOp():
            condition = yielded(op.before_region)[0]
            if condition in b.varying:
                return _masked_while(b, op)
            before = op.before_region.block.args
            return _alike(b, op, before, [[condition, *op.results], before])


def _alike(
    b: VectorBuilder,
    op: Operation,
    starts: Sequence[SSAValue],
    passed: Sequence[Sequence[SSAValue]],
) -> Results:
    """Write control flow that all lanes take alike.

    Its operands are passed on as `starts`, those of the end of each region as `passed`.
    """
    regions = [
        Region([Block(arg_types=[b.type_of(x) for x in old.args]) for old in x.blocks])
        for x in op.regions
    ]
    new = b.effect(
        op.create(
            operands=b.as_targets(op.operands, starts),
            result_types=[b.type_of(x) for x in op.results],
            properties=op.properties,
            regions=regions,
        )
    )
    for old, region, targets in zip(op.regions, regions, passed, strict=True):
        if region.blocks:
            b.define(old.block.args, region.block.args)
            with b.within(region.block, b.mask):
                _run(b, old)
                end = old.block.last_op
                assert end is not None, op
                given = b.as_targets(end.operands, targets)
                b.effect(end.create(operands=given))
    return new.results


def _run(b: VectorBuilder, region: Region) -> Sequence[SSAValue]:
    """Write the operations of a region here; return what it yields, as old values."""
    for op in region.block.ops:
        if op is not region.block.last_op:
            write(b, op)
    return yielded(region)


def _while(
    b: VectorBuilder,
    start: Sequence[SSAValue],
    types: Sequence[Attribute],
    before: Block,
    after: Block,
) -> Results:
    loop = scf.WhileOp(start, types, Region(before), Region(after))
    return b.effect(loop).results


def _masked_if(b: VectorBuilder, op: scf.IfOp) -> Results:
    """Run each side if a lane takes it, and choose for each lane.

    Of numbers, those of lanes that do not take a side are 0; a matrix stays.
    """
    _check_types(op, op.results)
    condition, bases = b.values[op.cond], _bases(op)
    outer = {base: b.values[base] for base in bases if base is not None}
    found: list[Values] = []
    otherwise = b.pure(arith.XOrIOp, condition, b.constant(b.wide(i1), 1))
    masks = b.active(condition), b.active(otherwise)
    for region, mask in zip(op.regions, masks, strict=True):
        if not region.blocks:
            continue

        def side(region: Region = region, mask: SSAValue = mask) -> Values:
            with b.masked(mask):
                return b.as_targets(_run(b, region), op.results)

        empty = [
            b.constant(b.type_of(result), 0) if base is None else b.values[base]
            for result, base in zip(op.results, bases, strict=True)
        ]
        found.append(b.branch(is_quick(b, region) or b.any_of(mask), side, empty))
        for base, value in zip(bases, found[-1], strict=True):
            if base is not None:
                b.values[base] = value
    b.values.update(outer)
    return [
        new if base is not None else b.select(condition, then, new)
        for base, then, new in zip(bases, found[0], found[-1], strict=True)
    ]


MOST_AT_ONCE = 4
"""Operations of a side that runs whether or not a lane takes it, at most.  On a Zen 4,
a layer norm of rows of 256 f16 was 1.2 times as fast so.  Stores stay in branches:
without these, a sum of 2^24 f32 was 0.7 times as fast."""


def is_quick(b: VectorBuilder, region: Region) -> bool:
    """Whether a side has a few operations, which are safe where no lane takes it."""
    *ops, _ = region.block.ops
    return len(ops) <= MOST_AT_ONCE and all(
        is_consecutive(b, x.memref.type, list(x.indices))
        and x.memref not in b.varying
        and not {simt.VOLATILE, simt.ORDERING} & x.attributes.keys()
        if isinstance(x, memref.LoadOp)
        else is_speculatable(x) and is_side_effect_free(x)
        for x in ops
    )


def _masked_for(b: VectorBuilder, op: scf.ForOp) -> Results:
    """Run until no lane's counter is below its bound."""
    counter, *carried = op.body.block.args
    _check_types(op, op.results)
    _check_matrices(op, yielded(op.body), carried)
    upper, step = b.as_vector(op.ub), b.as_vector(op.step)
    start = [b.as_vector(op.lb), *b.as_targets(op.iter_args, carried)]
    types = [x.type for x in start]
    first = Block(arg_types=types)
    second = Block(arg_types=[b.wide(i1), *types])
    results = _while(b, start, [x.type for x in second.args], first, second)
    with b.within(first, b.mask):
        below = b.compare("slt", first.args[0], upper)
        active = b.active(below)
        b.effect(scf.ConditionOp(b.any_of(active), active, *first.args))
    mask, here, *held = second.args
    b.define((counter, *carried), (here, *held))
    with b.within(second, mask):
        given = b.as_targets(_run(b, op.body), carried)
        following = b.pure(arith.AddiOp, here, step)
        kept = _kept(b, mask, [following, *given], [here, *held])
        b.effect(scf.YieldOp(*kept))
    return results[2:]


def _masked_while(b: VectorBuilder, op: scf.WhileOp) -> Results:
    """Run until the condition holds for no lane that still runs."""
    before, after = op.before_region.block.args, op.after_region.block.args
    _check_types(op, [*op.results, *before])
    condition, *passed = yielded(op.before_region)
    shared = [x for x in before if is_shared(x.type)]
    if shared:
        _check_matrices(op, [x for x in passed if is_shared(x.type)], shared)
        ends = [x for x in yielded(op.after_region) if is_shared(x.type)]
        _check_matrices(op, ends, [x for x in after if is_shared(x.type)])
    bits = b.wide(i1)
    running = b.constant(bits, 1) if b.mask is None else b.mask
    start = b.as_targets(op.arguments, before)
    types = [b.type_of(x) for x in op.results]
    matrices = iter([b.values[x] for x in op.arguments if is_shared(x.type)])
    empty = [next(matrices) if is_shared(x) else b.constant(x, 0) for x in types]
    first = Block(arg_types=[bits, *(x.type for x in start), *types])
    second = Block(arg_types=[bits, *types])
    results = _while(b, [running, *start, *empty], [bits, *types], first, second)
    mask, rest = first.args[0], first.args[1:]
    b.define(before, rest[: len(start)])
    with b.within(first, mask):
        _run(b, op.before_region)
        given = b.as_targets(passed, op.results)
        kept = _kept(b, mask, given, rest[len(start) :])
        active = b.active(b.as_vector(condition))
        b.effect(scf.ConditionOp(b.any_of(active), active, *kept))
    mask, *found = second.args
    b.define(after, found)
    with b.within(second, mask):
        given = b.as_targets(_run(b, op.after_region), before)
        b.effect(scf.YieldOp(mask, *given, *found))
    return results[1:]


def _kept(
    b: VectorBuilder, mask: SSAValue, new: Sequence[SSAValue], old: Sequence[SSAValue]
) -> list[SSAValue]:
    """Return new values for the lanes of a mask, old ones for others."""
    return [
        x if is_shared(x.type) else b.select(mask, x, y)
        for x, y in zip(new, old, strict=True)
    ]


def _check_types(op: Operation, values: Sequence[SSAValue]) -> None:
    for value in values:
        if is_memref(value.type) or is_vector(value.type):
            raise Refused(
                op,
                "expected numbers and matrices from control flow that differs between "
                f"lanes, got {value.type}",
            )


def _check_matrices(
    op: Operation, given: Sequence[SSAValue], starts: Sequence[SSAValue]
) -> None:
    """Check that a loop only inserts into the matrices that it carries."""
    for value, start in zip(given, starts, strict=True):
        if is_shared(value.type) and _root(value) is not start:
            raise Refused(
                op,
                "expected a loop that lanes leave at different times to insert into "
                "the matrix that it carries, got another one",
            )


def _bases(op: scf.IfOp) -> list[SSAValue | None]:
    """Return, for each result that is a matrix, what both sides insert into."""
    found: list[SSAValue | None] = []
    for place, result in enumerate(op.results):
        if not is_shared(result.type):
            found.append(None)
            continue
        one, other = (_root(yielded(x)[place]) for x in op.regions)
        parent = block_of(one)
        inside = parent is not None and any(x.block is parent for x in op.regions)
        if one is not other or inside or one in found:
            raise Refused(
                op,
                "expected both sides to insert into the same matrix, one for each "
                "result, where lanes take different sides",
            )
        found.append(one)
    return found


def _root(value: SSAValue) -> SSAValue:
    """Return the matrix that insertions made a matrix of."""
    while isinstance(value, OpResult):
        place = value.index
        match value.op:
            case row_slice.InsertToMatrixOp() as op:
                if not isinstance(token := op.token.owner, row_slice.IdOp):
                    return value
                value = token.matrix
            case scf.ForOp() as op:
                if _root(yielded(op.body)[place]) is not op.body.block.args[1 + place]:
                    return value
                value = op.iter_args[place]
            case scf.IfOp() as op:
                one, other = (_root(yielded(x)[place]) for x in op.regions)
                if one is not other:
                    return value
                value = one
            case _:
                return value
    return value


RULES: dict[type[Operation], Rule] = {
    simt.LaneIdOp: position,
    simt.SubgroupIdOp: position,
    simt.NumSubgroupsOp: position,
    simt.SubgroupSizeOp: position,
    simt.WorkgroupSizeOp: position,
    simt.LocalIdOp: local_id,
    simt.BroadcastOp: broadcast,
    simt.ShuffleOp: shuffle,
    simt.ReduceOp: reduce,
    simt.BarrierOp: wait,
    simt.BarrierArriveOp: wait,
    simt.BarrierWaitOp: wait,
    simt.BlockReadOp: access_block,
    simt.BlockWriteOp: access_block,
    simt.MemoryAtOp: memory_at,
    memref.AllocaOp: allocate,
    memref.LoadOp: access,
    memref.StoreOp: access,
    memref.AtomicRMWOp: each_lane,
    simt.CompareExchangeOp: each_lane,
    row_slice.LengthOp: slice_length,
    row_slice.IdOp: slice_id,
    row_slice.ExtractElementOp: extract_element,
    row_slice.InsertElementOp: insert_element,
    row_slice.InsertToMatrixOp: insert_to_matrix,
    coopmatrix.FillOp: fill,
    CallOp: call,
    ReturnOp: give_back,
    scf.ForOp: control_flow,
    scf.IfOp: control_flow,
    scf.WhileOp: control_flow,
}
"""What has a rule of its own; all others go by what varies."""
