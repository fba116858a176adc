"""Read a function of several blocks: its branches become `scf.if` and `scf.while`.

What a front end writes is reducible: each loop is entered at its first block.  A loop
that is left from one block becomes an `scf.while`, its part up to there the region
`before`; what one of two ways leads to becomes an `scf.if`, up to the block at which
they meet.  Other graphs are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from xdsl.builder import Builder
from xdsl.dialects import arith, cf, func, llvm, scf
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from coopc.ir.dominators import immediate_dominators
from coopc.ir.transaction import Refused
from coopc.passes.spirv_calls.reader import PointerOperand, Reader, Value

MAX_BLOCKS = 1000
"""Of a function; the time is quadratic in them."""

Way = tuple[Block | None, Sequence[SSAValue]]
"""Where a branch leads, None for the function's end, and what it gives."""
Node = Block | None


def read_blocks(reader: Reader) -> None:
    """Read all blocks of the function of a reader, whose arguments are read.

    Raises:
        Refused: an operation is not read, or the branches are not as said above.
    """
    old = reader.old
    if len(old.body.blocks) > MAX_BLOCKS:
        reason = f"expected at most {MAX_BLOCKS} blocks, got {len(old.body.blocks)}"
        raise Refused(old, reason)
    branches = Branches(reader, old.body.blocks[0])
    results = branches.run(old.body.blocks[0], None)
    if any(isinstance(value, PointerOperand) for value in results):
        raise Refused(old, "expected a number or a matrix to be returned")
    reader.builder.insert(func.ReturnOp(*branches.parts(results, old, results)))


class Branches:
    """Reads the blocks of one function."""

    def __init__(self, reader: Reader, entry: Block) -> None:
        self.reader = reader
        self.outer = immediate_dominators(entry, successors)
        before = predecessors(self.outer)
        self.joins: dict[Node, Node] = immediate_dominators(None, before.__getitem__)
        self.loops: dict[Block, set[Block]] = {}
        """The blocks of each loop, by its first block."""
        for block in self.outer:
            for header in successors(block):
                if block is not None and self.dominates(header, block):
                    assert header is not None
                    body = self.loops.setdefault(header, {header})
                    body |= reaching(block, before, body)
        self.open: set[Block] = set()
        """The first blocks of the loops that are or were read."""
        self.read: dict[Block, None] = {}
        """The blocks that were, in order."""

    def dominates(self, node: Node, block: Block) -> bool:
        at: Node = block
        while at is not node and self.outer[at] is not at:
            at = self.outer[at]
        return at is node

    def run(self, block: Block, stop: Node) -> Sequence[Value]:
        """Read from a block on, whose arguments are known, and return what `stop` gets.

        Raises:
            Refused: control goes elsewhere.
        """
        at: Node = block
        first = True
        given: Sequence[Value] = ()
        while at is not stop or first:
            if at is None:
                raise Refused(last(block), "expected one place to return at")
            block = at
            if not first:
                self.reader.bind(block.args, given)
            first = False
            if block in self.loops and block not in self.open:
                self.open.add(block)
                at, given = self.loop(block)
            else:
                at, given = self.follow(block)
        return given

    def follow(self, block: Block) -> tuple[Node, Sequence[Value]]:
        """Read a block, and what is decided at its end."""
        self.operations(block)
        end = last(block)
        ways = ways_of(end)
        if len(ways) == 1:
            at, given = ways[0]
            return at, self.known(given)
        if block not in self.joins:
            raise Refused(end, "expected a way to the end of the function")
        join = self.joins[block]
        arms: list[Region] = []
        found: list[Sequence[Value]] = []
        for at, given in ways:
            with_block = Block()
            outer = self.enter(with_block)
            if at is join:
                values = self.known(given)
            else:
                assert at is not None
                self.reader.bind(at.args, self.known(given))
                values = self.run(at, join)
            found.append(values)
            self.put(scf.YieldOp(*self.parts(values, end, found[0])), end)
            self.reader.builder = outer
            arms.append(Region(with_block))
        types = [x.type for x in last(arms[0].block).operands]
        condition = self.reader.value(end.operands[0], end)
        results = self.put(scf.IfOp(condition, types, arms[0], arms[1]), end)
        return join, whole(found[0], results)

    def loop(self, header: Block) -> tuple[Node, Sequence[Value]]:
        """Read a loop; return the block that follows, and what it gets."""
        body = self.loops[header]
        exits = [(x, to) for x in body for to in successors(x) if to not in body]
        if len(exits) != 1 or (exits[0][0] is not header and exits[0][0] in self.loops):
            reason = f"expected a loop that is left at one place, got {len(exits)}"
            raise Refused(last(header), reason)
        (place, after), end = exits[0], last(exits[0][0])
        carried = self.known(header.args)
        inputs = self.parts(carried, end, carried)
        outer = self.reader.builder
        before = Block(arg_types=[x.type for x in inputs])
        self.enter(before)
        self.reader.bind(header.args, whole(carried, before.args))
        known = len(self.read)
        if place is header:
            self.operations(header)
        else:
            self.reader.bind(place.args, self.run(header, place))
            self.operations(place)
        # What is decided at its end.
        ways = dict(ways_of(end))
        inside = next(to for to in ways if to is not after)
        assert inside is not None
        condition = self.reader.value(end.operands[0], end)
        if ways_of(end)[0][0] is after:
            (true,) = self.put(arith.ConstantOp(IntegerAttr(1, i1)), end)
            (condition,) = self.put(arith.XOrIOp(condition, true), end)
        live = used_elsewhere(list(self.read)[known:])
        passed = [self.known(ways[x]) for x in (inside, after)]
        passed.append(self.known(live))
        parts = [self.parts(values, end, values) for values in passed]
        flat = [x for each in parts for x in each]
        self.put(scf.ConditionOp(condition, *flat), end)
        # The rest, up to the first block.
        rest = Block(arg_types=[x.type for x in flat])
        self.enter(rest)
        given = self.split(passed, parts, rest.args)
        self.reader.bind(live, given[2])
        again = given[0]
        if inside is not header:
            self.reader.bind(inside.args, again)
            again = self.run(inside, header)
        self.put(scf.YieldOp(*self.parts(again, end, carried)), end)
        self.reader.builder = outer
        types = [x.type for x in flat]
        results = self.put(
            scf.WhileOp(inputs, types, Region(before), Region(rest)), end
        )
        given = self.split(passed, parts, results)
        self.reader.bind(live, given[2])
        return after, given[1]

    # --- values ----------------------------------------------------------------

    def known(self, values: Sequence[SSAValue]) -> Sequence[Value]:
        return [self.reader.values[value] for value in values]

    def parts(
        self, values: Sequence[Value], op: Operation, like: Sequence[Value]
    ) -> list[SSAValue]:
        """The values as those of `scf`: of a pointer, how many elements it is moved.

        Raises:
            Refused: pointers come from other arguments than those of `like`.
        """
        found: list[SSAValue] = []
        for value, other in zip(values, like, strict=True):
            if isinstance(value, PointerOperand):
                base = other.base if isinstance(other, PointerOperand) else None
                if value.base is not base:
                    reason = "expected pointers that come from one argument"
                    raise Refused(op, reason)
                moved = value.offset
                found.append(self.reader.number(0) if moved is None else moved)
            else:
                found.append(value)
        return found

    def split(
        self,
        lists: Sequence[Sequence[Value]],
        parts: Sequence[Sequence[SSAValue]],
        new: Sequence[SSAValue],
    ) -> list[Sequence[Value]]:
        rest = iter(new)
        return [
            whole(values, list(islice(rest, len(each))))
            for values, each in zip(lists, parts, strict=True)
        ]

    # --- operations ------------------------------------------------------------

    def enter(self, block: Block) -> Builder:
        """Write to a block from now on; return what was written to."""
        outer = self.reader.builder
        self.reader.builder = Builder(InsertPoint.at_end(block))
        return outer

    def put(self, op: Operation, like: Operation) -> Sequence[SSAValue]:
        self.reader.location = like.location
        return self.reader.insert(op)

    def operations(self, block: Block) -> None:
        """Read a block but for its end."""
        if block in self.read:
            reason = "expected loops that are entered at one block, as front ends write"
            raise Refused(last(block), reason)
        self.read[block] = None
        self.reader.read_ops(op for op in block.ops if op is not block.last_op)


def whole(like: Sequence[Value], parts: Sequence[SSAValue]) -> list[Value]:
    """Values of some parts: pointers where others are pointers."""
    return [
        PointerOperand(old.base, old.element, part)
        if isinstance(old, PointerOperand)
        else part
        for old, part in zip(like, parts, strict=True)
    ]


def last(block: Block) -> Operation:
    assert block.last_op is not None, block
    return block.last_op


def ways_of(end: Operation) -> list[Way]:
    """Where the end of a block leads.

    Raises:
        Refused: it is no branch and no return.
    """
    match end:
        case llvm.ReturnOp() | func.ReturnOp():
            return [(None, end.operands)]
        case llvm.BrOp() | cf.BranchOp():
            return [(end.successor, end.arguments)]
        case llvm.CondBrOp() | cf.ConditionalBranchOp():
            return [
                (end.then_block, end.then_arguments),
                (end.else_block, end.else_arguments),
            ]
        case _:
            raise Refused(end, f"expected a branch or a return, got {end.name}")


def successors(node: Node) -> list[Node]:
    """Where control goes next; None for the end of the function, which is the last."""
    return [] if node is None else [to for to, _ in ways_of(last(node))]


def predecessors(nodes: Iterable[Node]) -> dict[Node, list[Node]]:
    """Where control may have come from, for each node that is reached."""
    found: dict[Node, list[Node]] = {None: []}
    for node in nodes:
        for to in successors(node):
            found.setdefault(to, []).append(node)
        found.setdefault(node, [])
    return found


def reaching(
    block: Block, before: dict[Node, list[Node]], within: set[Block]
) -> set[Block]:
    """The blocks from which control reaches a block without those in `within`."""
    found: set[Block] = set()
    wanted: list[Node] = [block]
    while wanted:
        node = wanted.pop()
        if node is not None and node not in found and node not in within:
            found.add(node)
            wanted += before[node]
    return found


def used_elsewhere(blocks: Sequence[Block]) -> list[SSAValue]:
    """The values of some blocks that operations in other blocks use."""
    found: list[SSAValue] = []
    for block in blocks:
        region = block.parent
        assert region is not None, block
        for value in (*block.args, *(x for op in block.ops for x in op.results)):
            users = (use.operation.parent for use in value.uses)
            if any(
                user is None or region.find_ancestor_block_in_region(user) not in blocks
                for user in users
            ):
                found.append(value)
    return found
