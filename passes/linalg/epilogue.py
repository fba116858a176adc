"""Epilogues: what operations behind a product do to its sums, element by element.

    %acc = memref.alloc() : memref<64x64xf32>          (unless %acc is an argument)
    linalg.fill, linalg.matmul .. outs(%acc)
    linalg.generic ins(%acc, %bias) outs(%d) { .. }    all loops parallel, of %acc
    linalg.generic ins(%d, %scale) outs(%d) { .. }     any number of them

The operations become functions from a place (batch, m, n) and the sum there to what is
stored there.  A kernel calls them, as functions that do not exist:

    %y = func.call @epilogue0(%batch, %m, %n, %sum) : (index, index, index, f32) -> f32

`Consumers.write` puts operations in place of such a call.  Where the sum is a vector,
it is of consecutive columns, the result is as well, and a mask may follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerType, f16, f32, f64
from xdsl.dialects.func import CallOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.rewriter import Rewriter

from coopc.dialects.coopmatrix.types import unsupported_element
from coopc.dialects.narrow import is_integer, is_memref, is_vector, memref_type
from coopc.dialects.shaped_arith import element_of, shaped
from coopc.dialects.simt import bits_of
from coopc.ir.builder import INDEX, Builder
from coopc.ir.transaction import Refused
from coopc.plan.gemm import Cast, Epilogue, GemmOperand, Output

CALLS = "epilogue"
"""What the names of functions of the sums that are stored begin with."""
Place: TypeAlias = tuple[AffineExpr, ...]
"""Where an element is in memory: d0 counts the matrices of a batch, the last two rows
and columns, and d1 of four the rows of an image."""

CASTS: dict[type[Operation], str] = {
    arith.ExtFOp: "convert",
    arith.TruncFOp: "convert",
    arith.SIToFPOp: "convert signed",
    arith.UIToFPOp: "convert",
    arith.FPToSIOp: "convert signed",
    arith.FPToUIOp: "convert",
    arith.ExtSIOp: "convert signed",
    arith.ExtUIOp: "convert",
    arith.TruncIOp: "convert",
}
"""Casts that matrices have, too."""


BATCH = AffineDimExpr(0)


@dataclass(frozen=True, slots=True)
class Load:
    """An element of memory that is read at a place."""

    memory: SSAValue
    at: Place


@dataclass(frozen=True, slots=True)
class Result:
    """What is in memory behind the operations: a value of one of their bodies."""

    memory: SSAValue
    at: Place
    value: SSAValue
    """The sums where it is the memory that these were in."""


@dataclass(slots=True)
class Consumers:
    """The operations behind a product, and what their bodies are given."""

    sums: SSAValue
    """The memory of the product's output, in place of a sum."""
    at: Place
    """Where in that memory the sum of an element is."""
    name: str = CALLS
    """What the names of the functions begin with; the number of the output follows."""
    given: dict[SSAValue, SSAValue | Load] = field(default_factory=lambda: {})
    """What the arguments of bodies are: values of bodies, of the function, or read."""
    loops: dict[Operation, Place] = field(default_factory=dict[Operation, Place])
    """The loops of each operation."""
    results: dict[SSAValue, Result] = field(default_factory=dict[SSAValue, Result])
    """What is known of memory that they, or the product, have written."""

    # --- matching --------------------------------------------------------------------

    def __post_init__(self) -> None:
        self.results[self.sums] = Result(self.sums, self.at, self.sums)

    def add(self, op: Operation) -> None:
        """Add the next operation.

        Raises:
            Refused: it is none that is done element by element.
        """
        if not isinstance(op, linalg.GenericOp):
            raise Refused(
                op,
                "expected an elementwise linalg.generic on the result of the product, "
                f"got {op.name}",
            )
        if any(x.data is not IteratorType.PARALLEL for x in op.iterator_types):
            raise Refused(
                op,
                "expected only parallel loops, over the elements of the product's "
                "result",
            )
        values = (*op.inputs, *op.outputs)
        maps = [attr.data for attr in op.get_indexing_maps()]
        self.loops[op] = loops = self._loops_of(op, values, maps)
        for value, map, arg in zip(values, maps, op.body.block.args, strict=True):
            if is_memref(value.type):
                self.given[arg] = self._read(op, value, place(op, map, loops), arg)
            else:
                self.given[arg] = value
        _check_body(op)
        last = op.body.block.last_op
        assert last is not None, op
        outputs = zip(op.outputs, maps[len(op.inputs) :], last.operands, strict=True)
        for memory, map, value in outputs:
            at = place(op, map, loops)
            if len(at) != len(loops) or {*at} != {*loops}:
                raise Refused(
                    op,
                    "expected an output with an element for each one of the product's "
                    f"result, got {map} for {memory.type}",
                )
            self.results[memory] = Result(memory, at, value)

    def _loops_of(
        self, op: Operation, values: Sequence[SSAValue], maps: Sequence[AffineMap]
    ) -> Place:
        """Return what the loops of an operation count, by the sums that it reads."""
        for value, map in zip(values, maps, strict=True):
            known = self.results.get(value)
            if known is None:
                continue
            found: dict[int, AffineExpr] = {}
            for expr, at in zip(map.results, known.at, strict=True):
                if isinstance(expr, AffineDimExpr) and isinstance(at, AffineDimExpr):
                    found[expr.position] = at
            if len(found) == map.num_dims == len(self.at):
                return tuple(found[x] for x in range(map.num_dims))
            raise Refused(
                op,
                "expected one loop for each dimension of the product's result, "
                f"got {map}",
            )
        raise Refused(
            op, "expected an operation on the result of the product before it"
        )

    def _read(
        self, op: Operation, memory: SSAValue, at: Place, arg: BlockArgument
    ) -> SSAValue | Load:
        if (known := self.results.get(memory)) is None:
            return Load(memory, at)
        if at != known.at and arg.uses:
            raise Refused(
                op,
                "expected each element of the product's result to be used at its own "
                "position only",
            )
        return known.value

    def finished(self, op: Operation) -> tuple[Result, ...]:
        """Return what is stored; memory of the function is not.

        Raises:
            Refused: nothing is stored, or another element of what is stored is read.
        """
        stored = tuple(
            x for x in self.results.values() if isinstance(x.memory, BlockArgument)
        )
        if not stored:
            raise Refused(op, "expected an output that is an argument of the function")
        written = {x.memory: x.at for x in stored}
        for each in (*stored, *self.loads):
            memory, at = each.memory, each.at
            if not isinstance(memory, BlockArgument):
                raise Refused(
                    op,
                    "expected operands that are arguments of the function, got "
                    f"{memory.type} that is not",
                )
            if written.get(memory, at) != at:
                raise Refused(
                    op,
                    f"expected {memory.type}, which is an output, to be read only "
                    "where it is written",
                )
        for memory, at in written.items():
            type = memref_type(memory).get_element_type()
            if (reason := unsupported_element(type)) is not None:
                raise Refused(op, reason)
            if BATCH in self.at and at[0] != BATCH:
                raise Refused(op, "expected the batch to be the first dimension")
        return stored

    @property
    def loads(self) -> list[Load]:
        """What is read beside the sums."""
        used = [x for arg, x in self.given.items() if arg.uses]
        return [x for x in used if isinstance(x, Load)]

    # --- deciding --------------------------------------------------------------------

    def epilogue(
        self, stored: Sequence[Result], memories: Sequence[GemmOperand]
    ) -> Epilogue:
        """Return what is done, and by which casts matrices become what is computed."""
        outputs = tuple(
            Output(memory) if x.value is self.sums else self._output(x.value, memory)
            for x, memory in zip(stored, memories, strict=True)
        )
        written = {x.memory for x in stored}
        in_place = any(x.memory in written for x in self.loads)
        return Epilogue(outputs, in_place, self._why_not_vectors())

    def _output(self, value: SSAValue, memory: GemmOperand) -> Output:
        head, before = self.head, list[Cast]()
        if (cast := self.first_cast) is not None:
            before.append(Cast(CASTS[type(cast)], str(head)))
        if (last := self.last_cast(value)) is not None:
            return Output(
                memory,
                tuple(before),
                str(head),
                (Cast(CASTS[type(last)], str(value.type)),),
            )
        carrier, after = head, ()
        bits, wanted = bits_of(head), bits_of(value.type)
        if wanted > bits:
            # The function gives the sum back its type.
            carrier = of_width(head, wanted)
            sign = " signed" if is_integer(head) else ""
            before.append(Cast(f"convert{sign}", str(carrier)))
        elif wanted < bits:
            sign = " signed" if is_integer(value.type) else ""
            after = (Cast(f"convert{sign}", str(value.type)),)
        wide = of_width(value.type, max(bits, wanted))
        if wide != carrier:
            after = (Cast("bitcast", str(wide)), *after)
        return Output(memory, tuple(before), str(carrier), after)

    @property
    def _heads(self) -> list[SSAValue]:
        """The arguments of bodies that are sums."""
        return [arg for arg, x in self.given.items() if x is self.sums and arg.uses]

    @property
    def first_cast(self) -> Operation | None:
        """A cast of the sums that is all that any operation does with them."""
        users = [use.operation for head in self._heads for use in head.uses]
        first = users[0] if users else None
        if first is None or type(first) not in CASTS:
            return None
        if isinstance(first, arith.TruncFOp | arith.TruncIOp):
            return None  # a matrix of few bits may not have what follows
        same = all(
            type(x) is type(first) and x.results[0].type == first.results[0].type
            for x in users
        )
        return first if same else None

    def last_cast(self, value: SSAValue) -> Operation | None:
        """Return the cast that a stored value is, of a value like the sums, if any."""
        owner = value.owner
        if not isinstance(owner, Operation) or type(owner) not in CASTS:
            return None
        if owner.operands[0].type != self.head or owner is self.first_cast:
            return None
        return owner

    @property
    def head(self) -> Attribute:
        """The type of a sum, cast by that."""
        if (cast := self.first_cast) is not None:
            return cast.results[0].type
        return memref_type(self.sums).get_element_type()

    def _why_not_vectors(self) -> str | None:
        column = max(x.position for x in self.at if isinstance(x, AffineDimExpr))
        for load in self.loads:
            type = memref_type(load.memory)
            strides = type.get_strides()
            along = [x for x in load.at if column in x.used_dims()]
            if along and (
                along != [load.at[-1]]
                or along != [AffineDimExpr(column)]
                or strides is None
                or strides[-1] != 1
            ):
                return f"elements of a row of {type} are not consecutive"
        for op in self.loops:
            for inner in op.regions[0].block.ops:
                if isinstance(inner, linalg.IndexOp):
                    return "linalg.index is not computed in vectors"
        return None

    # --- writing ---------------------------------------------------------------------

    def write(
        self,
        kernel: Operation,
        stored: Sequence[Result],
        outside: Mapping[SSAValue, SSAValue],
    ) -> None:
        """Put operations in place of a kernel's calls.

        What the arguments of the function are in the kernel is in `outside`.
        """
        for op in list(kernel.walk()):
            if not isinstance(op, CallOp):
                continue
            name = op.callee.root_reference.data
            if name.startswith(self.name):
                output = stored[int(name.removeprefix(self.name))].value
                self._write(op, output, outside)

    def _write(
        self, call: CallOp, output: SSAValue, outside: Mapping[SSAValue, SSAValue]
    ) -> None:
        where = [x for x in call.arguments if x.type == INDEX]
        total, *rest = call.arguments[len(where) :]
        element = ElementWriter(
            self,
            Builder.at(call),
            where,
            total.type,
            rest[0] if rest else None,
            dict(outside),
        )
        given, taken = element_of(total.type), element_of(call.results[0].type)
        cast, head = self.first_cast, self.head
        if given == memref_type(self.sums).get_element_type():
            element.known[self.sums] = total
        elif cast is not None:
            total = element.cast(total, given, head)
            for arg in self._heads:
                for use in arg.uses:
                    element.known[use.operation.results[0]] = total
        else:
            element.known[self.sums] = element.cast(total, given, head)
        last = self.last_cast(output)
        if last is not None and taken == head:
            output = last.operands[0]
        found = element.value(output)
        wide = of_width(output.type, bits_of(taken))
        found = element.cast(found, output.type, wide)
        if wide != taken:
            type = shaped(found.type, taken)
            found = element.builder.pure(arith.BitcastOp, found, type)
        type = call.results[0].type
        if is_vector(type):
            found = element.builder.broadcast(found, type)
        call.results[0].replace_all_uses_with(found)
        Rewriter.erase_op(call)


@dataclass(slots=True)
class ElementWriter:
    """An element of C, or several of a row, whose functions are written out."""

    consumers: Consumers
    builder: Builder
    where: Sequence[SSAValue]
    """What places count, by dimension."""
    shape: Attribute
    """The type of the sums: a vector where there are several."""
    mask: SSAValue | None
    """Which of several there are, if not all."""
    known: dict[SSAValue, SSAValue]

    def value(self, value: SSAValue) -> SSAValue:
        """Return what a value of a body, or of the function, is for the element."""
        if (found := self.known.get(value)) is None:
            found = self.known[value] = self._written(value)
        return found

    def _written(self, value: SSAValue) -> SSAValue:
        given = self.consumers.given.get(value)
        if isinstance(given, Load):
            return self._load(given)
        if given is not None:
            return self.value(given)
        op = value.owner
        assert isinstance(op, Operation), value
        if isinstance(op, linalg.IndexOp):
            assert op.parent is not None, op
            around = op.parent_op()
            assert around is not None, op
            loops = self.consumers.loops[around]
            return self.builder.affine(loops[op.dim.value.data], self.where)
        found = self.builder.on_vectors(op, [self.value(x) for x in op.operands])
        return found[op.results.index(value)]

    def _load(self, load: Load) -> SSAValue:
        b = self.builder
        at = [b.affine(x, self.where) for x in load.at]
        column = len(self.where) - 1
        memory = load.memory
        memory = self.known.get(memory, memory)
        if not is_vector(self.shape) or AffineDimExpr(column) not in load.at:
            return b.load(memory, at)
        type = shaped(self.shape, memref_type(memory).get_element_type())
        assert is_vector(type), type
        if self.mask is None:
            return b.effect(vector.LoadOp(memory, at, type)).results[0]
        none = b.constant(type, 0)
        masked = vector.MaskedLoadOp(memory, at, self.mask, none, type)
        return b.effect(masked).results[0]

    def cast(self, value: SSAValue, before: Attribute, after: Attribute) -> SSAValue:
        """Return a number, or numbers, in another type of the same kind."""
        if before == after:
            return value
        wider = bits_of(after) > bits_of(before)
        make = arith.ExtFOp if wider else arith.TruncFOp
        if is_integer(after):
            make = arith.ExtSIOp if wider else arith.TruncIOp
        return self.builder.pure(make, value, shaped(value.type, after))


def place(op: Operation, map: AffineMap, loops: Place) -> Place:
    """Return where an operation accesses memory.

    Raises:
        Refused: at no place that loops and constants alone name.
    """
    if not all(is_part(expr) for expr in map.results):
        raise Refused(
            op, f"expected maps of loops and constants behind a product, got {map}"
        )
    return tuple(x.replace_dims_and_symbols(loops, ()) for x in map.results)


def is_part(expr: AffineExpr) -> bool:
    """Whether an expression is a loop, a quotient or remainder of one, or a number."""
    match expr:
        case AffineBinaryOpExpr(
            AffineBinaryOpKind.Mod | AffineBinaryOpKind.FloorDiv,
            lhs,
            AffineConstantExpr(),
        ):
            return is_part(lhs)
        case _:
            return isinstance(expr, AffineDimExpr | AffineConstantExpr)


def of_width(type: Attribute, bits: int) -> Attribute:
    """Return the type of the kind of another one, of at least as many bits."""
    if bits_of(type) == bits:
        return type
    if is_integer(type):
        return IntegerType(bits)
    return {16: f16, 32: f32, 64: f64}[bits]


def not_computed(op: linalg.GenericOp) -> Operation | None:
    """Return the first operation of a body that does more than compute, if any."""
    return next(
        (
            inner
            for inner in op.body.block.ops
            if not isinstance(inner, linalg.YieldOp | linalg.IndexOp)
            and (inner.dialect_name() not in ("arith", "math") or inner.regions)
        ),
        None,
    )


def _check_body(op: linalg.GenericOp) -> None:
    """Check that a body computes, and no more.

    Raises:
        Refused: it does something else.
    """
    if (inner := not_computed(op)) is not None:
        raise Refused(
            inner,
            "expected operations of arith and math in the body of an operation "
            f"behind a product, got {inner.name}",
        )
