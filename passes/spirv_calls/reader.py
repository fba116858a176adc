"""Reads a function of SPIR-V-friendly LLVM into a new function of coopc's dialects.

The old function stays as it is.

| in LLVM                      | becomes                                       |
|------------------------------|-----------------------------------------------|
| a pointer argument           | a memref of rank 0 of what is read through it |
| getelementptr                | an offset, in elements, from the argument     |
| matrices                     | `!coopmatrix.matrix`                          |
| integer and float arithmetic | `arith`                                       |
| `scf`, `arith`, `math`       | themselves                                    |
| branches                     | `scf.if` and `scf.while`                      |

What a front end writes is reducible: each loop is entered at its first block.  A loop
that is left from one block becomes an `scf.while`, its part up to there the region
`before`; what one of two ways leads to becomes an `scf.if`, up to the block at which
they meet.  Other graphs are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from xdsl.dialects import arith, cf, func, llvm, memref, scf
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    i1,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.utils.hints import isa

from coopc.dialects import simt
from coopc.dialects.coopmatrix import SCOPE_NUMBERS, Layout, MatrixType, Use
from coopc.dialects.coopmatrix.types import CHANNEL_BITS, unsupported_element
from coopc.dialects.llvm_target import TargetExtType
from coopc.dialects.narrow import is_integer, is_memref
from coopc.dialects.shaped_arith import IndexCastUIOp
from coopc.emit import arith as shared
from coopc.ir.builder import Builder
from coopc.ir.dominators import immediate_dominators
from coopc.ir.transaction import Refused

# The tables of emission, read backwards.
_LLVM = {op.name.removeprefix("llvm."): op for op in llvm.LLVM.operations}
COMPUTED: dict[type[Operation], Callable[..., Operation]] = {
    _LLVM[name]: op for op, (_, name) in shared.INSTRUCTIONS.items()
}
"""Of operands of one type, which the result has."""

CASTS: dict[type[Operation], type[Operation]] = {
    **{
        _LLVM[name]: op
        for op, (_, name) in shared.CASTS.items()
        if name in _LLVM and op not in (arith.IndexCastOp, IndexCastUIOp)
    },
    llvm.BitcastOp: arith.BitcastOp,
}
"""Of one operand, to the type of the result."""


MATRIX = "spirv.CooperativeMatrixKHR"
_SCOPES = tuple(SCOPE_NUMBERS)
_USES = (Use.A, Use.B, Use.ACC)
"""The enumerants of SPV_KHR_cooperative_matrix."""

KEPT = ("arith", "math", "scf", "vector")
"""Dialects whose operations stay."""
_SPACES: dict[int, Attribute] = {
    **dict.fromkeys((0, 1, 4), NoneAttr()),
    3: simt.MemoryAttr(simt.MemorySpace.WORKGROUP),
}
"""Address spaces of SPIR: memory that all see, by a private name of x86-64's, by
CrossWorkgroup and by Generic; and the work-group's."""

T = TypeVar("T")


@dataclass(frozen=True)
class PointerOperand:
    """Element `offset` of what an argument points to."""

    base: SSAValue
    """A memref of rank 0."""
    element: Attribute
    offset: SSAValue | None
    """An index; None for 0."""


Value = SSAValue | PointerOperand
ReadCall = Callable[["Reader", llvm.CallOp], Sequence[Value]]
ReadOther = Callable[["Reader", Operation], Sequence[Value]]


def matrix_of(type: TargetExtType, op: Operation) -> MatrixType:
    """The matrix that a target's type is.

    Raises:
        Refused: it is none; naming the operation.
    """
    if type.target.data != MATRIX or len(type.types) != 1 or len(type.numbers) != 4:
        raise Refused(
            op,
            f'expected "{MATRIX}" with a type, scope, rows, columns and use, got '
            f"{type}",
        )
    scope, rows, cols, use = (number.data for number in type.numbers)
    element: Attribute = type.types.data[0]
    if (reason := unsupported_element(element)) is not None:
        raise Refused(op, reason)
    if min(rows, cols) < 1:
        reason = f"expected rows and columns of 1 or more, got {rows} x {cols}"
        raise Refused(op, reason)
    scope = enumerant(_SCOPES, scope, "a scope", op)
    return MatrixType.of(rows, cols, element, enumerant(_USES, use, "a use", op), scope)


def enumerant(known: Sequence[T], number: int, what: str, op: Operation) -> T:
    """What a number of SPIR-V means.

    Raises:
        Refused: nothing; naming the operation.
    """
    if not 0 <= number < len(known):
        most = len(known) - 1
        raise Refused(op, f"expected {what} of SPIR-V, 0 to {most}, got {number}")
    return known[number]


class Reader:
    def __init__(
        self,
        old: llvm.FuncOp | func.FuncOp,
        call: ReadCall,
        other: ReadOther | None = None,
    ) -> None:
        """Begin a function.

        The function has a body; `other` reads operations of dialects that are not read
        here.

        Raises:
            Refused: its arguments or results have no form here.
        """
        self.old = old
        self._call = call
        self._other = other
        self.values: dict[SSAValue, Value] = {}
        block = old.body.blocks[0]
        types = [self._argument(arg) for arg in block.args]
        self.block = Block(arg_types=types)
        for arg, new in zip(block.args, self.block.args, strict=True):
            new.name_hint = arg.name_hint
            if is_memref(new.type) and _is_pointer(arg):
                self.values[arg] = PointerOperand(new, new.type.element_type, None)
            else:
                self.values[arg] = new
        self.b = Builder.at_end(self.block, old.location)

    def read(self) -> func.FuncOp:
        """Read the body, and return the new function.

        Raises:
            Refused: an operation is not read.
        """
        if len(self.old.body.blocks) > 1:
            read_blocks(self)
        else:
            self.read_ops(self.old.body.block.ops)
        last = self.block.last_op
        results = [] if last is None else [value.type for value in last.operands]
        inputs = [arg.type for arg in self.block.args]
        name = self.old.sym_name.data
        return func.FuncOp(name, (inputs, results), Region(self.block))

    # --- values ----------------------------------------------------------------

    def bind(self, old: Iterable[SSAValue], new: Iterable[Value]) -> None:
        """Note what values became, and name it after them where it has no name."""
        for value, found in zip(old, new, strict=True):
            self.values[value] = found
            if isinstance(found, SSAValue) and found.name_hint is None:
                found.name_hint = value.name_hint

    def value(self, value: SSAValue, op: Operation) -> SSAValue:
        """What a number or a matrix became.

        Raises:
            Refused: it is a pointer.
        """
        found = self.values[value]
        if isinstance(found, PointerOperand):
            raise Refused(op, "expected a number or a matrix, got a pointer")
        return found

    def place(
        self, value: SSAValue, op: Operation, element: Attribute | None
    ) -> PointerOperand:
        """What a pointer became, to elements of a type, or of any.

        Raises:
            Refused: it comes from elsewhere than an argument, or its elements are
                others.
        """
        found = self.values[value]
        if not isinstance(found, PointerOperand):
            raise Refused(op, "expected a pointer that comes from an argument")
        if element is not None and found.element != element:
            raise Refused(
                op,
                f"expected one type of elements behind an argument, {found.element}, "
                f"got {element}",
            )
        return found

    def insert(self, op: Operation) -> Sequence[SSAValue]:
        """Append an operation; return its results."""
        return self.b.effect(op).results

    def add(self, op: Operation) -> SSAValue:
        """Append an operation; return its first result."""
        return self.insert(op)[0]

    def index(self, value: SSAValue, op: Operation) -> SSAValue:
        new = self.value(value, op)
        if isinstance(new.type, IndexType):
            return new
        if (number := constant(value)) is not None:
            return self.number(number)
        return self.add(arith.IndexCastOp(new, IndexType()))

    def number(self, number: int) -> SSAValue:
        return self.add(arith.ConstantOp(IntegerAttr(number, IndexType())))

    def type(self, type: Attribute, op: Operation) -> Attribute:
        """What a type becomes.

        Raises:
            Refused: it is a pointer, or a target's type that is no matrix.
        """
        if isinstance(type, TargetExtType):
            return matrix_of(type, op)
        if isinstance(type, llvm.LLVMPointerType):
            raise Refused(op, "expected a pointer that comes from an argument")
        return type

    def _argument(self, arg: BlockArgument) -> Attribute:
        if not _is_pointer(arg):
            return self.type(arg.type, self.old)
        assert isinstance(arg.type, llvm.LLVMPointerType)
        space = arg.type.addr_space
        number = space.data if isinstance(space, IntAttr) else 0
        if number not in _SPACES:
            raise Refused(
                self.old,
                "expected pointers to global or work-group memory, address spaces 0, "
                f"1, 3 and 4, got {number}",
            )
        return MemRefType(self._pointee(arg), [], memory_space=_SPACES[number])

    def _pointee(self, arg: SSAValue) -> Attribute:
        """The type of what is read or written through an argument."""
        found = _accessed(arg)
        if len(found) > 1:
            raise Refused(
                self.old,
                "expected one type of elements behind an argument, got "
                + " and ".join(sorted(map(str, found))),
            )
        if not found:
            raise Refused(
                self.old,
                "expected a pointer argument to be read or written, so that the type "
                "of its elements is known",
            )
        if isinstance(found[0], TargetExtType):
            raise Refused(self.old, f"expected elements of a number, got {found[0]}")
        return found[0]

    # --- operations ------------------------------------------------------------

    def read_ops(self, ops: Iterable[Operation]) -> None:
        """Read operations, one after the other.

        Raises:
            Refused: one is not read.
        """
        for op in ops:
            self.b.location = op.location
            self.bind(op.results, self._op(op))

    def _op(self, op: Operation) -> Sequence[Value]:
        match op:
            case llvm.CallOp():
                return self._call(self, op)
            case llvm.GEPOp():
                return [self._address(op)]
            case llvm.ConstantOp():
                return [self._constant(op)]
            case llvm.ReturnOp() | func.ReturnOp():
                values = (self.value(each, op) for each in op.operands)
                return self.insert(func.ReturnOp(*values))
            case llvm.ICmpOp():
                pair = (self.value(op.lhs, op), self.value(op.rhs, op))
                return [self.add(arith.CmpiOp(*pair, op.predicate.value.data))]
            case _ if self._other is not None and op.dialect_name() not in KEPT:
                return self._other(self, op)
            case _:
                return self._plain(op)

    def _plain(self, op: Operation) -> Sequence[Value]:
        """Arithmetic, and what stays as it is."""
        operands = [self.value(each, op) for each in op.operands]
        if (make := COMPUTED.get(type(op))) is not None:
            return [self.add(make(*operands))]
        if (cast := CASTS.get(type(op))) is not None:
            types = [op.results[0].type]
            return [self.add(cast.create(operands=operands, result_types=types))]
        if op.dialect_name() not in KEPT:
            raise Refused(op, f"expected an operation that is read, got {op.name}")
        types = [self.type(each.type, op) for each in op.results]
        regions = [self._region(region, op) for region in op.regions]
        self.b.location = op.location
        return self.b.like(op, operands, types, regions).results

    def _region(self, old: Region, op: Operation) -> Region:
        if not old.blocks:
            return Region()
        if len(old.blocks) > 1:
            raise Refused(op, "expected regions of one block, as scf has them")
        source = old.blocks[0]
        block = Block(arg_types=[self.type(arg.type, op) for arg in source.args])
        self.bind(source.args, block.args)
        with self.b.inside(block):
            self.read_ops(source.ops)
        return Region(block)

    def _constant(self, op: llvm.ConstantOp) -> SSAValue:
        type, value = op.result.type, op.value
        if isinstance(value, IntegerAttr) and is_integer(type):
            return self.add(arith.ConstantOp(IntegerAttr(value.value.data, type)))
        if isinstance(value, FloatAttr):
            return self.add(arith.ConstantOp(value))
        raise Refused(op, f"expected a number, got a constant of {type}")

    def _address(self, op: llvm.GEPOp) -> PointerOperand:
        """A pointer, some elements, or bytes, further."""
        base = self.values[op.ptr]
        numbers = list(op.rawConstantIndices.iter_values())
        if not isinstance(base, PointerOperand) or len(numbers) != 1:
            raise Refused(
                op, "expected one index, from a pointer that comes from an argument"
            )
        step = (
            self.index(op.ssa_indices[0], op)
            if op.ssa_indices
            else self.number(numbers[0])
        )
        if op.elem_type != base.element:
            step_bytes, size = _bytes(op.elem_type), _bytes(base.element)
            if step_bytes != 1 or size == 0:
                raise Refused(
                    op,
                    f"expected steps of {base.element}, which the pointer is to, or of "
                    f"bytes, got {op.elem_type}",
                )
            step = self.add(arith.DivSIOp(step, self.number(size)))
        if base.offset is not None:
            step = self.add(arith.AddiOp(base.offset, step))
        return PointerOperand(base.base, base.element, step)


def matrix_memory(
    r: Reader,
    op: Operation,
    type: MatrixType,
    layout: Layout,
    place: PointerOperand,
    stride: SSAValue | int,
) -> SSAValue:
    """The memory that a pointer and a stride are, as a memref of the matrix alone.

    Raises:
        Refused: the matrix has no such layout.
    """
    sizes = list(type.shape)
    if layout == Layout.COL_MAJOR:
        sizes.reverse()
    elif layout == Layout.PACKED:
        factor = CHANNEL_BITS // type.element_bits
        if factor < 1 or sizes[0] % factor:
            raise Refused(op, f"expected rows in groups of {factor}, got {type}")
        sizes = [sizes[0] // factor, sizes[1] * factor]
    bits = simt.bits_of(place.element)
    if sizes[1] * type.element_bits % bits:
        raise Refused(op, f"expected rows of whole {place.element}, got {type}")
    sizes[1] = sizes[1] * type.element_bits // bits
    offset = 0 if place.offset is None else place.offset
    base = place.base.type
    assert isa(base, MemRefType)
    strides = StridedLayoutAttr(
        [stride if isinstance(stride, int) else None, 1],
        0 if place.offset is None else None,
    )
    shape = MemRefType(place.element, sizes, strides, base.memory_space)
    cast = memref.ReinterpretCastOp.from_dynamic(
        place.base, [offset], sizes, [stride, 1], shape
    )
    return r.add(cast)


def constant(value: SSAValue) -> int | None:
    """The integer that a value is; None where it is not known."""
    owner = value.owner
    if isinstance(owner, llvm.ConstantOp | arith.ConstantOp):
        attr = owner.value
        if isinstance(attr, IntegerAttr):
            return attr.value.data
    return None


def _is_pointer(value: SSAValue) -> bool:
    return isinstance(value.type, llvm.LLVMPointerType)


def _bytes(type: Attribute) -> int:
    """The size of a number; 0 where it is none, or less than a byte."""
    bits = getattr(type, "bitwidth", 0)
    return bits // 8


def _accessed(pointer: SSAValue) -> Sequence[Attribute]:
    """The types that are read or written through a pointer, in order, each once."""
    found: dict[Attribute, None] = {}
    todo, seen = [pointer], {pointer}
    while todo:
        for use in list(todo.pop().uses):
            op, further = use.operation, list[SSAValue]()
            if isinstance(op, llvm.GEPOp):
                further.append(op.result)
            elif op.successors:
                # The arguments of blocks that an operand of a branch becomes.
                args = [arg for block in op.successors for arg in block.args]
                at = use.index - (len(op.operands) - len(args))
                further += args[at : at + 1] if at >= 0 else ()
            elif isinstance(op, llvm.CallOp):
                for value in (*op.results, *op.operands):
                    if isinstance(value.type, TargetExtType) and value.type.types.data:
                        found[value.type.types.data[0]] = None
            todo += [value for value in further if value not in seen]
            seen.update(further)
    return list(found)


# Branches

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
    reader.insert(func.ReturnOp(*branches.parts(results, old, results)))


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
            arm = Block()
            with self.reader.b.inside(arm):
                values = self.known(given)
                if at is not join:
                    assert at is not None
                    self.reader.bind(at.args, values)
                    values = self.run(at, join)
                found.append(values)
                self.put(scf.YieldOp(*self.parts(values, end, found[0])), end)
            arms.append(Region(arm))
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
        before = Block(arg_types=[x.type for x in inputs])
        with self.reader.b.inside(before):
            self.reader.bind(header.args, whole(carried, before.args))
            known = len(self.read)
            if place is not header:
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
            passed = [self.known(x) for x in (ways[inside], ways[after], live)]
            parts = [self.parts(values, end, values) for values in passed]
            flat = [x for each in parts for x in each]
            self.put(scf.ConditionOp(condition, *flat), end)
        # The rest, up to the first block.
        rest = Block(arg_types=[x.type for x in flat])
        with self.reader.b.inside(rest):
            again, _, kept = self.split(passed, parts, rest.args)
            self.reader.bind(live, kept)
            if inside is not header:
                self.reader.bind(inside.args, again)
                again = self.run(inside, header)
            self.put(scf.YieldOp(*self.parts(again, end, carried)), end)
        types = [x.type for x in flat]
        results = self.put(
            scf.WhileOp(inputs, types, Region(before), Region(rest)), end
        )
        _, given, kept = self.split(passed, parts, results)
        self.reader.bind(live, kept)
        return after, given

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

    def put(self, op: Operation, like: Operation) -> Sequence[SSAValue]:
        self.reader.b.location = like.location
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
