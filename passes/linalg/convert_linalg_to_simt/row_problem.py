"""The facts about a nest from which `coopc.plan.rows` chooses a plan."""

from __future__ import annotations

from functools import partial
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from coopc.dialects.narrow import memref_type
from coopc.passes.linalg.convert_linalg_to_simt.row_vectors import width_along
from coopc.passes.linalg.rows import Index, Nest, Statement, combiners, is_contiguous
from coopc.plan.rows import RowProblem, RowReduction


def problem_of(nest: Nest, vectors: bool = False) -> RowProblem:
    """Return what is known of a nest that decides who computes what.

    With `vectors`, work-items may load several elements at once.
    """
    shared = range(len(nest.shared))
    weights, own_weights = [0] * len(shared), dict[tuple[Statement, int], int]()
    reuse = [[0] * len(shared) for _ in shared]
    reducing = [x for x in nest.loops if x.reduces]
    for statement in reducing or nest.loops:
        accesses = nest.reads(statement)
        if not statement.reduces:
            accesses += nest.writes(statement)
        for n in shared:
            weights[n] += sum(weight(m, index, n) for m, index in accesses)
            for _, index in (x for x in accesses if weight(*x, n)):
                used = {y for x in index for y in x.used_dims()}
                for other in {*shared} - used:
                    reuse[n][other] += 1
        for at, loop in enumerate(nest.own(statement), len(shared)):
            found = sum(weight(m, index, at) for m, index in accesses)
            own_weights[statement, loop] = found
    sizes = tuple(nest.sizes.known(x) for x in nest.shared)
    if not reducing:
        return RowProblem(sizes, tuple(weights), crossed=crossed_loops(nest))
    reasons = (combiners(x.op) for x in reducing)
    sequential = next((x for x in reasons if isinstance(x, str)), None)
    of_lanes = [(x, lane_loop(nest, x)) for x in nest.loops if nest.own(x)]
    steps = [nest.size(x, loop) for x, loop in of_lanes]
    known = [x for x in steps if x is not None]
    total = sum(own_weights.get(each, 0) for each in of_lanes)
    least = min(known, default=None)
    if not steps:
        sequential = "the reductions have one step"
    stored = stored_reduction(nest) is not None
    width, widths = 1, [1] * len(sizes)
    if vectors and sequential is None:
        width = width_along(nest, partial(lane_dimension, nest))
        widths = [width_along(nest, partial(_always, n)) for n in shared]
    bodies = (x for each in reducing for x in each.block.ops)
    slow = any(isinstance(x, arith.MaximumfOp | arith.MinimumfOp) for x in bodies)
    again = bytes_again(nest)
    reduction = RowReduction(least, total, sequential, stored, width, slow, again)
    shares = tuple(map(tuple, reuse))
    return RowProblem(sizes, tuple(weights), reduction, tuple(widths), shares)


def crossed_loops(nest: Nest) -> tuple[int, int] | None:
    """Return `RowProblem.crossed` of a nest without reductions."""
    if any(map(nest.own, nest.loops)):
        return None
    stored = [x for statement in nest.loops for x in nest.writes(statement)]
    shared = range(len(nest.shared))
    along = [n for n in shared if all(weight(m, index, n) for m, index in stored)]
    for first in along:
        counts = [len(loads_along(nest, n, first)) for n in shared]
        if max(counts):
            return first, counts.index(max(counts))
    return None


def loads_along(nest: Nest, loop: int, stored: int) -> list[tuple[SSAValue, Index]]:
    """Return what is loaded that is contiguous along a shared loop only.

    Of elements of whole bytes, for which there is work-group memory on all engines.

    What is stored is contiguous along the shared loop `stored`.
    """
    found = [
        (memory, index)
        for statement in nest.loops
        for memory, index in nest.reads(statement)
        if weight(memory, index, loop) and loop != stored
    ]
    stores = nest.stores.values()
    return [
        (memory, index)
        for memory, index in dict.fromkeys(found)
        if memory not in stores and element_bytes(memory)
    ]


def element_bytes(memory: SSAValue) -> int:
    """Return the bytes of an element of a memref; 0 if they are not whole."""
    element = memref_type(memory).get_element_type()
    if not isinstance(element, FixedBitwidthType) or element.bitwidth % 8:
        return 0
    return element.bitwidth // 8


def _always(dimension: int, _: Statement) -> int:
    return dimension


def lane_dimension(nest: Nest, statement: Statement) -> int | None:
    """Return the dimension of the loop that lanes do together, if there is one."""
    own = nest.own(statement)
    if not own:
        return None
    return len(nest.shared) + own.index(lane_loop(nest, statement))


def bytes_again(nest: Nest) -> int:
    """Return the bytes of a row that several statements read, of known sizes."""
    read = dict[SSAValue, list[int]]()
    for statement in nest.loops:
        own = [nest.size(statement, n) for n in nest.own(statement)]
        if not own or None in own:
            continue
        steps = prod(x for x in own if x is not None)
        memories = {
            memory
            for memory, index in nest.reads(statement)
            if any(n >= len(nest.shared) for x in index for n in x.used_dims())
        }
        for memory in memories:
            read.setdefault(memory, []).append(steps * element_bytes(memory))
    return sum(max(sizes) for sizes in read.values() if len(sizes) > 1)


def bytes_reduced(nest: Nest) -> list[int]:
    """Return the bytes of each number that one row reduces."""
    reducing = [x for x in nest.loops if x.reduces]
    types = [y.type for x in reducing for y in x.block.args[x.inputs :]]
    return [-(-x.bitwidth // 8) for x in types if isinstance(x, FixedBitwidthType)]


def reads_stored(nest: Nest) -> bool:
    """Return whether a work-item may read what another one of the row has stored.

    It may not where a statement reads an element and stores it, and its value is not
    used otherwise, so that it is computed where it is stored, or is a reduction: that
    is combined behind a barrier.
    """
    stored, used = [*nest.stores.values()], nest.used()
    for statement in nest.loops:
        own = nest.writes(statement)
        combined = statement.reduces and bool(nest.own(statement))
        for memory, index in nest.reads(statement):
            is_own = (memory, index) in own and (combined or statement not in used)
            if memory in stored and not is_own:
                return True
    return False


def stored_reduction(nest: Nest) -> Statement | None:
    """Return the reduction over one loop of which all results are stored.

    None where a row does more, or where memory that it is stored to is read.
    """
    reducing = [x for x in nest.loops if x.reduces]
    if len(reducing) != 1 or len(nest.own(reducing[0])) != 1:
        return None
    (found,) = reducing
    others = [x for x in nest.loops if x is not found]
    stored = [(x.by, x.output) for x in nest.stores]
    wanted = [(found, number) for number in range(len(found.maps) - found.inputs)]
    read = [memory for memory, _ in nest.reads(found)]
    is_read = any(memory in read for memory in nest.stores.values())
    if any(nest.own(x) for x in others) or stored != wanted or is_read:
        return None
    return found


def weight(memory: SSAValue, index: Index, dimension: int) -> int:
    """Return how much it matters that memory is contiguous along a dimension."""
    if not is_contiguous(memory, index, dimension):
        return 0
    return sum(not isinstance(x, AffineConstantExpr) for x in index)


def lane_loop(nest: Nest, statement: Statement) -> int:
    """Return which of the loops that are not shared lanes do together."""
    own, accesses = nest.own(statement), nest.reads(statement)

    def preference(n: int) -> tuple[int, int]:
        at = len(nest.shared) + own.index(n)
        return sum(weight(m, index, at) for m, index in accesses), n

    return max(own, key=preference)
