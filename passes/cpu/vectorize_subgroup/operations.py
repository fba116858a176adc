"""Operations of one work-item, written for all lanes: which goes which way.

Subgroup operations as operations on vectors: ids, broadcast, shuffle, reduce.

Accesses of lanes to memory: consecutive ones as vectors, others lane by lane.

Loops and branches of lanes: those that all lanes take alike, and others by masks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.dialects.func import CallOp, ReturnOp
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import SymbolTable, is_side_effect_free

from coopc.dialects import coopmatrix, row_slice, shaped_arith, simt
from coopc.dialects.narrow import is_integer, is_memref, is_vector
from coopc.dialects.simt import ReduceKind, ShuffleMode
from coopc.dialects.traits import Collective
from coopc.ir.uniformity import yielded
from coopc.passes.cpu.vectorize_subgroup.code import INDEX, Code, refuse
from coopc.passes.cpu.vectorize_subgroup.varying import is_shared, is_varying_loop

_KINDS: dict[ReduceKind, tuple[str, str, str]] = {
    # of floats, of signed integers, of unsigned ones
    ReduceKind.ADD: ("add", "add", "add"),
    ReduceKind.MUL: ("mul", "mul", "mul"),
    ReduceKind.MAX: ("maxnumf", "maxsi", "maxui"),
    ReduceKind.MIN: ("minnumf", "minsi", "minui"),
    ReduceKind.AND: ("and", "and", "and"),
    ReduceKind.OR: ("or", "or", "or"),
    ReduceKind.XOR: ("xor", "xor", "xor"),
}


def ids(code: Code, op: Operation) -> SSAValue | None:
    """Write where work-items are; None for other operations."""
    lanes = code.lanes
    match op:
        case simt.LaneIdOp():
            size = lanes.subgroup_size
            return code.numbers([x % size for x in range(lanes.count)])
        case simt.SubgroupSizeOp():
            return code.constant(lanes.subgroup_size)
        case simt.SubgroupIdOp() if lanes.is_whole_group:
            size = lanes.subgroup_size
            return code.numbers([x // size for x in range(lanes.count)])
        case simt.NumSubgroupsOp() if lanes.is_whole_group:
            return code.constant(lanes.count // lanes.subgroup_size)
        case simt.WorkgroupSizeOp():
            axis = list(simt.Dimension).index(op.dimension.data)
            return code.constant(lanes.work_group_size[axis])
        case simt.LocalIdOp():
            return _local_id(code, op)
        case _:
            return None


def _local_id(code: Code, op: simt.LocalIdOp) -> SSAValue:
    """Write a local id: the digit of the linear one, x first."""
    x, y, z = code.lanes.work_group_size
    axis = list(simt.Dimension).index(op.dimension.data)
    below, size = (1, x, x * y)[axis], (x, y, z)[axis]
    count = code.lanes.count
    subgroups = x * y * z // count
    if subgroups == 1:
        digits = [lane // below % size for lane in range(count)]
        if op.result in code.varying:
            return code.numbers(digits)
        assert set(digits) == {0}, op
        return code.constant(0)
    first = code.add(arith.MuliOp(code.add(simt.SubgroupIdOp()), code.constant(count)))
    linear = first
    if op.result in code.varying:
        spread = code.add(vector.BroadcastOp(first, code.wide(INDEX)))
        linear = code.add(arith.AddiOp(spread, code.numbers(list(range(count)))))
    if below > 1:
        linear = code.add(arith.DivUIOp(linear, code.constant(below, linear.type)))
    if axis < 2:
        linear = code.add(arith.RemUIOp(linear, code.constant(size, linear.type)))
    return linear


def exchange(code: Code, op: simt.LaneOp) -> SSAValue:
    """Write an exchange between lanes; the value is a number."""
    if op.value not in code.varying and not isinstance(op, simt.ReduceOp):
        return code.as_target(op.value, op.result)
    match op:
        case simt.BroadcastOp():
            return _broadcast(code, op)
        case simt.ShuffleOp():
            return _shuffle(code, op)
        case simt.ReduceOp():
            return _reduce(code, op)
        case _:
            raise AssertionError(op)


def _broadcast(code: Code, op: simt.BroadcastOp) -> SSAValue:
    lane, value = code.of(op.lane), code.of(op.value)
    if op.result in code.varying:
        lanes = code.lanes
        size = lanes.subgroup_size
        first = code.numbers([x // size * size for x in range(lanes.count)])
        return _taken(code, value, code.add(arith.AddiOp(first, code.spread(op.lane))))
    if op.lane in code.varying:
        lane = code.component(lane, 0)
    return code.component(value, lane)


def _shuffle(code: Code, op: simt.ShuffleOp) -> SSAValue:
    """Take components; of a lane that does not exist, some other one's."""
    value, offset = code.of(op.value), code.spread(op.offset)
    lanes = code.lanes
    size = lanes.subgroup_size
    own = code.numbers([x % size for x in range(lanes.count)])
    match op.mode.data:
        case ShuffleMode.IDX:
            lane = offset
        case ShuffleMode.XOR:
            lane = code.add(arith.XOrIOp(own, offset))
        case ShuffleMode.UP:
            lane = code.add(arith.SubiOp(own, offset))
        case ShuffleMode.DOWN:
            lane = code.add(arith.AddiOp(own, offset))
    # Subgroup sizes are powers of two: this is the remainder, never negative.
    lane = code.add(arith.AndIOp(lane, code.constant(size - 1, lane.type)))
    first = code.numbers([x // size * size for x in range(lanes.count)])
    return _taken(code, value, code.add(arith.AddiOp(first, lane)))


def _taken(code: Code, value: SSAValue, lanes: SSAValue) -> SSAValue:
    """Write, for each lane, what the lane of a number has."""
    assert is_vector(value.type), value
    type = value.type.get_element_type()

    def one(lane: SSAValue) -> list[SSAValue]:
        return [code.component(value, code.component(lanes, lane))]

    return code.each_lane([type], one)[0]


def _reduce(code: Code, op: simt.ReduceOp) -> SSAValue:
    floats, signed, unsigned = _KINDS[op.kind.data]
    type = op.value.type
    kind = floats
    if is_integer(type):
        kind = unsigned if op.signed is None else signed
    flag = CombiningKindFlag(kind)
    value = code.spread(op.value)
    lanes = code.lanes
    if op.result not in code.varying:
        size = lanes.subgroup_size
        part = _part(code, value, 0, size) if lanes.is_whole_group else value
        return code.reduced(part, flag)
    found: SSAValue | None = None
    for start in range(0, lanes.count, lanes.subgroup_size):
        part = _part(code, value, start, lanes.subgroup_size)
        whole = code.reduced(part, flag)
        spread = code.add(vector.BroadcastOp(whole, code.wide(type)))
        if found is not None:
            mask = [
                x + (lanes.count if start <= x < start + lanes.subgroup_size else 0)
                for x in range(lanes.count)
            ]
            chosen = DenseArrayBase.from_list(i64, mask)
            wide = code.wide(type)
            spread = code.add(vector.ShuffleOp(found, spread, chosen, result_type=wide))
        found = spread
    assert found is not None
    return found


def _part(code: Code, value: SSAValue, start: int, size: int) -> SSAValue:
    """Write consecutive components of a vector."""
    assert is_vector(value.type), value
    chosen = DenseArrayBase.from_list(i64, list(range(start, start + size)))
    type = VectorType(value.type.get_element_type(), [size])
    return code.add(vector.ShuffleOp(value, value, chosen, result_type=type))


Access = memref.LoadOp | memref.StoreOp


def access(code: Code, op: Access) -> SSAValue | None:
    """Write a load or a store of which something varies; return what is loaded."""
    memory = op.memref
    indices = list(op.indices)
    plain = not {simt.VOLATILE, simt.ORDERING} & op.attributes.keys()
    private = memory in code.varying
    if private and not isinstance(memory.owner, memref.AllocaOp):
        refuse(
            op,
            "expected private memory of memref.alloca, or a memref that is the "
            "same for all lanes, got one that varies",
        )
    if plain and private and not any(x in code.varying for x in indices):
        return _vector(code, op, [*map(code.of, indices), code.constant(0)])
    if plain and not private and is_consecutive(code, memory.type, indices):
        first = code.component(code.of(indices[-1]), 0)
        return _vector(code, op, [*map(code.of, indices[:-1]), first])
    return _lane_by_lane(code, op, private)


def is_consecutive(code: Code, memory: object, indices: Sequence[SSAValue]) -> bool:
    """Whether lane l accesses element l from that of lane 0 on."""
    if not isinstance(memory, MemRefType) or not indices or code.lanes.is_whole_group:
        return False
    strides = memory.get_strides()
    if not strides or strides[-1] != 1:
        return False
    *outer, last = indices
    if any(index in code.varying for index in outer):
        return False
    return stride(code, last) == 1


def stride(code: Code, value: SSAValue) -> int | None:
    """Return by how much an index grows from lane to lane; None if not evenly."""
    return code.strides.get(value) if value in code.varying else 0


def note_stride(code: Code, op: Operation) -> None:
    """Remember the stride of a result, from those of the operands."""
    if not op.results or op.results[0].type != INDEX:
        return
    found: int | None = None
    match op:
        case simt.LaneIdOp():
            found = 1
        case simt.LocalIdOp():
            x, y, z = code.lanes.work_group_size
            is_x = op.dimension.data is simt.Dimension.X
            found = 1 if is_x and (y * z == 1 or x % code.lanes.count == 0) else None
        case arith.AddiOp() | arith.SubiOp():
            one, other = stride(code, op.lhs), stride(code, op.rhs)
            if one is not None and other is not None:
                found = one + other if isinstance(op, arith.AddiOp) else one - other
        case arith.MuliOp():
            found = _product(code, op.lhs, op.rhs)
        case _:
            pass
    if found is not None:
        code.strides[op.results[0]] = found


def _product(code: Code, a: SSAValue, b: SSAValue) -> int | None:
    for factor, other in ((a, b), (b, a)):
        owner = factor.owner
        if isinstance(owner, arith.ConstantOp) and isinstance(
            attr := owner.value, IntegerAttr
        ):
            found = stride(code, other)
            return None if found is None else found * attr.value.data
    return None


def _vector(code: Code, op: Access, where: Sequence[SSAValue]) -> SSAValue | None:
    """Write an access to consecutive elements."""
    memory = code.of(op.memref)
    if isinstance(op, memref.StoreOp):
        value = code.spread(op.value)
        if code.mask is None:
            code.effect(vector.StoreOp(value, memory, where))
        else:
            code.effect(vector.MaskedStoreOp(memory, where, code.mask, value))
        return None
    type = code.wide(op.res.type)
    if code.mask is None:
        return code.add(vector.LoadOp(memory, where, type))
    rest = code.constant(0, type)
    return code.add(vector.MaskedLoadOp(memory, where, code.mask, rest, type))


def _lane_by_lane(code: Code, op: Access, private: bool) -> SSAValue | None:
    """Write an access for each active lane."""

    def one(lane: SSAValue) -> list[SSAValue]:
        new = op.clone({x: in_lane(code, x, lane) for x in op.operands})
        if private:
            new = _with_lane(code, op, new, lane)
        code.effect(new)
        return list(new.results)

    found = code.each_lane([x.type for x in op.results], one)
    return found[0] if found else None


def _with_lane(code: Code, op: Access, new: Operation, lane: SSAValue) -> Operation:
    """Return an access to private memory, in the part of a lane."""
    memory = code.of(op.memref)
    if isinstance(new, memref.LoadOp):
        return memref.LoadOp.get(memory, [*new.indices, lane])
    assert isinstance(new, memref.StoreOp), new
    return memref.StoreOp.get(new.value, memory, [*new.indices, lane])


def in_lane(code: Code, old: SSAValue, lane: SSAValue) -> SSAValue:
    """Return what a value is in one lane; private memory as it is."""
    if old not in code.varying or is_memref(old.type):
        return code.of(old)
    return code.component(code.of(old), lane)


def private_memory(code: Code, op: memref.AllocaOp) -> SSAValue:
    """Write memory of each lane: one more dimension, of lanes."""
    type = op.memref.type
    if op.dynamic_sizes or not type.has_static_shape():
        refuse(op, f"expected private memory of a static size, got {type}")
    if any(not isinstance(x.operation, Access) for x in op.memref.uses):
        refuse(op, "expected private memory that is only loaded from and stored to")
    shape = [*type.get_shape(), code.lanes.count]
    new = memref.AllocaOp.get(
        type.get_element_type(), shape=shape, memory_space=type.memory_space
    )
    new.attributes = {k: v for k, v in op.attributes.items() if isinstance(v, UnitAttr)}
    return code.add(new)


Write = Callable[[Code, Operation], None]

"""Writes one operation."""


def flow(code: Code, op: Operation, write: Write) -> bool:
    """Write an operation with regions; say whether it was one of these."""
    match op:
        case scf.ForOp() if is_varying_loop(op, code.varying):
            _masked_for(code, op, write)
        case scf.ForOp():
            _for(code, op, write)
        case scf.WhileOp() if is_varying_loop(op, code.varying):
            _masked_while(code, op, write)
        case scf.WhileOp():
            _while(code, op, write)
        case scf.IfOp() if op.cond in code.varying:
            _masked_if(code, op, write)
        case scf.IfOp():
            _if(code, op, write)
        case _:
            return False
    return True


def run(code: Code, region: Region, write: Write) -> Sequence[SSAValue]:
    """Write the operations of a region here; return what it yields, as old values."""
    if not region.blocks:
        return ()
    block = region.block
    for op in block.ops:
        if op is not block.last_op:
            write(code, op)
    return yielded(region)


def _targets(
    code: Code, given: Sequence[SSAValue], targets: Sequence[SSAValue]
) -> list[SSAValue]:
    return [code.as_target(x, y) for x, y in zip(given, targets, strict=True)]


# What all lanes do alike


def _if(code: Code, op: scf.IfOp, write: Write) -> None:
    def side(region: Region) -> Callable[[], Sequence[SSAValue]]:
        return lambda: _targets(code, run(code, region, write), op.results)

    types = [code.type_of(x) for x in op.results]
    then, otherwise = side(op.true_region), side(op.false_region)
    condition = code.of(op.cond)
    if types or op.false_region.blocks:
        types_or_none = types
        found = _both(code, condition, types_or_none, then, otherwise)
    else:
        found = code.branch(condition, code.mask, [], then, lambda: ())
    code.name(op.results, found)


def _both(
    code: Code,
    condition: SSAValue,
    types: Sequence[Attribute],
    then: Callable[[], Sequence[SSAValue]],
    otherwise: Callable[[], Sequence[SSAValue]],
) -> Sequence[SSAValue]:
    blocks = [Block(), Block()]
    for block, body in zip(blocks, (then, otherwise), strict=True):
        with code.within(block, code.mask):
            code.effect(scf.YieldOp(*body()))
    new = scf.IfOp(condition, types, Region(blocks[0]), Region(blocks[1]))
    code.effect(new)
    return new.results


def _for(code: Code, op: scf.ForOp, write: Write) -> None:
    lower, upper, step = (code.of(x) for x in (op.lb, op.ub, op.step))
    counter, *carried = op.body.block.args
    start = _targets(code, op.iter_args, carried)
    block = Block(arg_types=[counter.type, *(code.type_of(x) for x in carried)])
    code.name((counter, *carried), block.args)
    with code.within(block, code.mask):
        given = run(code, op.body, write)
        code.effect(scf.YieldOp(*_targets(code, given, carried)))
    new = scf.ForOp(lower, upper, step, start, block)
    code.effect(new)
    code.name(op.results, new.results)
    for old in op.results:
        if old in code.varying and code.of(old).type == old.type:
            code.values[old] = _spread(code, code.of(old))


def _spread(code: Code, value: SSAValue) -> SSAValue:
    from xdsl.dialects import vector

    return code.add(vector.BroadcastOp(value, code.wide(value.type)))


def _while(code: Code, op: scf.WhileOp, write: Write) -> None:
    before, after = op.before_region.block.args, op.after_region.block.args
    start = _targets(code, op.arguments, before)
    first = Block(arg_types=[code.type_of(x) for x in before])
    code.name(before, first.args)
    with code.within(first, code.mask):
        condition, *passed = run(code, op.before_region, write)
        given = _targets(code, passed, op.results)
        code.effect(scf.ConditionOp(code.of(condition), *given))
    second = Block(arg_types=[code.type_of(x) for x in op.results])
    code.name(after, second.args)
    with code.within(second, code.mask):
        given = run(code, op.after_region, write)
        code.effect(scf.YieldOp(*_targets(code, given, before)))
    types = [code.type_of(x) for x in op.results]
    new = scf.WhileOp(start, types, Region(first), Region(second))
    code.effect(new)
    code.name(op.results, new.results)


# What lanes do apart


def root(value: SSAValue) -> SSAValue:
    """Return the matrix that insertions made a matrix of.

    Insertions under a mask change nothing of the lanes that are not active, so that
    what they made also holds what those lanes had.
    """
    while True:
        match value.owner:
            case row_slice.InsertToMatrixOp() as op:
                if not isinstance(token := op.token.owner, row_slice.IdOp):
                    return value
                value = token.matrix
            case scf.ForOp() as op:
                place = [*op.results].index(value)  # pyright: ignore[reportArgumentType]
                inside = yielded(op.body)[place]
                if root(inside) is not op.body.block.args[1 + place]:
                    return value
                value = op.iter_args[place]
            case scf.IfOp() as op if op.results:
                place = [*op.results].index(value)  # pyright: ignore[reportArgumentType]
                one, other = (root(yielded(x)[place]) for x in op.regions)
                if one is not other:
                    return value
                value = one
            case _:
                return value


def _check_types(op: Operation, values: Sequence[SSAValue]) -> None:
    from coopc.dialects.narrow import is_memref, is_vector

    for value in values:
        if is_memref(value.type) or is_vector(value.type):
            refuse(
                op,
                "expected numbers and matrices from control flow that differs between "
                f"lanes, got {value.type}",
            )


def _masked_if(code: Code, op: scf.IfOp, write: Write) -> None:
    """Run each side if a lane takes it, and choose for each lane."""
    _check_types(op, op.results)
    condition = code.of(op.cond)
    sides = [op.true_region, op.false_region]
    bases = _bases(op)
    masks = [
        code.both(code.mask, condition),
        code.both(code.mask, code.negated(condition)),
    ]
    found: list[Sequence[SSAValue]] = []
    outer = {base: code.of(base) for base in bases if base is not None}
    for region, mask in zip(sides, masks, strict=True):
        if region.blocks:
            found.append(values := _side(code, op, region, mask, bases, write))
            for base, value in zip(bases, values, strict=True):
                if base is not None:
                    code.values[base] = value
    code.values.update(outer)
    for place, (old, base) in enumerate(zip(op.results, bases, strict=True)):
        new = found[-1][place]
        if base is None:
            new = code.add(arith.SelectOp(condition, found[0][place], new))
        code.name([old], [new])


def _bases(op: scf.IfOp) -> list[SSAValue | None]:
    """Return, for each result that is a matrix, what both sides insert into."""
    found: list[SSAValue | None] = []
    for place, result in enumerate(op.results):
        if not is_shared(result.type):
            found.append(None)
            continue
        one, other = (root(yielded(x)[place]) for x in op.regions)
        owner = one.owner
        parent = owner if isinstance(owner, Block) else owner.parent
        inside = parent is not None and any(x.block is parent for x in op.regions)
        if one is not other or inside or one in found:
            refuse(
                op,
                "expected both sides to insert into the same matrix, one for each "
                "result, where lanes take different sides",
            )
        found.append(one)
    return found


def _side(
    code: Code,
    op: scf.IfOp,
    region: Region,
    mask: SSAValue,
    bases: Sequence[SSAValue | None],
    write: Write,
) -> Sequence[SSAValue]:
    """Run one side for the lanes of a mask; 0 or the old matrix without any."""

    def then() -> list[SSAValue]:
        return _targets(code, run(code, region, write), op.results)

    def otherwise() -> list[SSAValue]:
        return [
            code.constant(0, code.type_of(result)) if base is None else code.of(base)
            for result, base in zip(op.results, bases, strict=True)
        ]

    types = [code.type_of(x) for x in op.results]
    return code.if_any(mask, types, then, otherwise)


def _kept(
    code: Code, mask: SSAValue, new: Sequence[SSAValue], old: Sequence[SSAValue]
) -> list[SSAValue]:
    """Return new values for the lanes of a mask, old ones for others."""
    return [
        x if is_shared(x.type) else code.add(arith.SelectOp(mask, x, y))
        for x, y in zip(new, old, strict=True)
    ]


def _check_matrices(
    op: Operation, given: Sequence[SSAValue], starts: Sequence[SSAValue]
) -> None:
    """Check that a loop only inserts into the matrices that it carries."""
    for value, start in zip(given, starts, strict=True):
        if is_shared(value.type) and root(value) is not start:
            refuse(
                op,
                "expected a loop that lanes leave at different times to insert into "
                "the matrix that it carries, got another one",
            )


def _masked_for(code: Code, op: scf.ForOp, write: Write) -> None:
    """Run until no lane's counter is below its bound."""
    counter, *carried = op.body.block.args
    _check_types(op, op.results)
    _check_matrices(op, yielded(op.body), carried)
    upper, step = code.spread(op.ub), code.spread(op.step)
    start = [code.spread(op.lb), *_targets(code, op.iter_args, carried)]
    types = [x.type for x in start]
    outer = code.mask
    first = Block(arg_types=types)
    with code.within(first, None):
        below = code.add(arith.CmpiOp(first.args[0], upper, "slt"))
        active = code.both(outer, below)
        code.effect(scf.ConditionOp(code.any_of(active), active, *first.args))
    second = Block(arg_types=[active.type, *types])
    mask, here, *held = second.args
    code.name((counter, *carried), (here, *held))
    with code.within(second, mask):
        given = _targets(code, run(code, op.body, write), carried)
        following = code.add(arith.AddiOp(here, step))
        kept = _kept(code, mask, [following, *given], [here, *held])
        code.effect(scf.YieldOp(*kept))
    results = [active.type, *types]
    loop = scf.WhileOp(start, results, Region(first), Region(second))
    code.effect(loop)
    code.name(op.results, loop.results[2:])


def _masked_while(code: Code, op: scf.WhileOp, write: Write) -> None:
    """Run until the condition holds for no lane that still runs."""
    before, after = op.before_region.block.args, op.after_region.block.args
    _check_types(op, [*op.results, *before])
    _, *passed = yielded(op.before_region)
    if any(is_shared(x.type) for x in before):
        shared = [x for x in before if is_shared(x.type)]
        _check_matrices(op, [x for x in passed if is_shared(x.type)], shared)
        ends = [x for x in yielded(op.after_region) if is_shared(x.type)]
        _check_matrices(op, ends, [x for x in after if is_shared(x.type)])
    bits = code.wide(i1)
    running = code.constant(1, bits) if code.mask is None else code.mask
    start = _targets(code, op.arguments, before)
    types = [code.type_of(x) for x in op.results]
    empty = [
        _matrix_start(op, place, code) if is_shared(x) else code.constant(0, x)
        for place, x in enumerate(types)
    ]
    first = Block(arg_types=[bits, *(x.type for x in start), *types])
    mask, rest = first.args[0], first.args[1:]
    code.name(before, rest[: len(start)])
    with code.within(first, mask):
        condition, *given = run(code, op.before_region, write)
        results = _targets(code, given, op.results)
        results = _kept(code, mask, results, rest[len(start) :])
        active = code.both(mask, code.spread(condition))
        code.effect(scf.ConditionOp(code.any_of(active), active, *results))
    second = Block(arg_types=[bits, *types])
    mask, *found = second.args
    code.name(after, found)
    with code.within(second, mask):
        given = _targets(code, run(code, op.after_region, write), before)
        code.effect(scf.YieldOp(mask, *given, *found))
    loop = scf.WhileOp(
        [running, *start, *empty], [bits, *types], Region(first), Region(second)
    )
    code.effect(loop)
    code.name(op.results, loop.results[1:])


def _matrix_start(op: scf.WhileOp, place: int, code: Code) -> SSAValue:
    """Return the matrix that a loop starts with, in the place of a result."""
    shared = [x for x in op.arguments if is_shared(x.type)]
    number = sum(is_shared(x.type) for x in list(op.results)[:place])
    return code.of(shared[number])


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
