"""A module of LLVM IR: functions of blocks, what they call, global arrays, metadata.

An instruction is its text in pieces: words, values, and values with their types before
them (`Typed`), so that names are chosen when it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from coopc.llvm.values import (
    I1,
    VOID,
    Constant,
    Local,
    Pointer,
    Type,
    Value,
    Vector,
    like,
    symbol,
)


@dataclass(eq=False, slots=True)
class Block:
    """A basic block; equal to itself alone."""

    hint: str
    instructions: list[Instruction] = field(default_factory=lambda: [])


@dataclass(frozen=True, slots=True)
class Typed:
    """A value that prints with its type before it, and attributes between."""

    value: Value
    attributes: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """A block that prints as `label %name`."""

    block: Block


@dataclass(frozen=True, slots=True)
class Metadata:
    """A node that prints as `!n`, by the module's number of it."""

    kind: str
    node: int


Piece: TypeAlias = "str | Local | Constant | Typed | Label | Block"


@dataclass(eq=False, slots=True)
class Instruction:
    """One instruction."""

    pieces: list[Piece]
    result: Local | None = None
    metadata: tuple[Metadata, ...] = ()


@dataclass(frozen=True, slots=True)
class Signature:
    """What callers know of a function."""

    name: str
    result: Type
    parameters: tuple[Type, ...]
    convention: str = ""
    """A calling convention, as spir_func; empty for C's."""
    attributes: str = ""
    """Of the function, in the order in which they print."""
    parameter_attributes: tuple[str, ...] = ()
    """For each parameter; empty where none has any."""
    result_attributes: str = ""

    def attributes_of(self, at: int) -> str:
        return self.parameter_attributes[at] if self.parameter_attributes else ""


class Function:
    """A function with a body."""

    def __init__(
        self, signature: Signature, names: Sequence[str | None] = (), linkage: str = ""
    ) -> None:
        """Begin a function with one block.

        Args:
            signature: of it.
            names: hints for the parameters.
            linkage: such as internal; empty for external.
        """
        self.signature = signature
        self.linkage = linkage
        hints = [*names, *[None] * (len(signature.parameters) - len(names))]
        self.parameters = [
            Local(type, hint)
            for type, hint in zip(signature.parameters, hints, strict=True)
        ]
        self.entry = Block("entry")
        self.blocks = [self.entry]
        self.block = self.entry
        self.metadata: tuple[Metadata, ...] = ()
        self.allocations = 0
        """Instructions at the beginning that are allocations."""
        self.phis: dict[Local, Instruction] = {}

    def label(self, hint: str) -> Block:
        """A block to come."""
        return Block(hint)

    def begin(self, block: Block) -> None:
        self.blocks.append(block)
        self.block = block

    def do(self, *pieces: Piece, metadata: tuple[Metadata, ...] = ()) -> None:
        """Append an instruction without a result."""
        self.block.instructions.append(Instruction(list(pieces), None, metadata))

    def emit(
        self,
        type: Type,
        *pieces: Piece,
        metadata: tuple[Metadata, ...] = (),
        hint: str | None = None,
    ) -> Local:
        result = Local(type, hint)
        self.block.instructions.append(Instruction(list(pieces), result, metadata))
        return result

    # --- what most instructions look like --------------------------------------

    def arithmetic(
        self, opcode: str, first: Value, *others: Value, flags: str = ""
    ) -> Local:
        """`fneg float %x`, `add nsw i32 %a, %b`: operands and result of one type."""
        assert all(other.type == first.type for other in others), (opcode, first)
        pieces: list[Piece] = [f"{opcode} {flags} " if flags else f"{opcode} "]
        pieces.append(Typed(first))
        for other in others:
            pieces += [", ", other]
        return self.emit(first.type, *pieces)

    def cast(self, opcode: str, value: Value, to: Type) -> Value:
        """`trunc i64 %x to i32`; nothing where the type is the same."""
        if value.type == to:
            return value
        return self.emit(to, f"{opcode} ", Typed(value), f" to {to}")

    def compare(self, opcode: str, left: Value, right: Value) -> Local:
        """`icmp slt i64 %a, %b`, of which `opcode` is `icmp slt`."""
        assert left.type == right.type, (opcode, left, right)
        type = like(left.type, I1)
        return self.emit(type, f"{opcode} ", Typed(left), ", ", right)

    def select(self, condition: Value, yes: Value, no: Value) -> Local:
        """One of two values; a condition of i1 chooses whole vectors."""
        parts = (Typed(condition), ", ", Typed(yes), ", ", Typed(no))
        return self.emit(yes.type, "select ", *parts)

    def call(
        self,
        callee: Signature,
        arguments: Sequence[Value],
        *,
        attributes: str = "",
        metadata: tuple[Metadata, ...] = (),
    ) -> Local:
        """Call a function; what a void one gives is of no use."""
        found = tuple(argument.type for argument in arguments)
        assert found == callee.parameters, (callee, found)
        head = " ".join(
            word
            for word in ("call", callee.convention, callee.result_attributes)
            if word
        )
        pieces: list[Piece] = [f"{head} {callee.result} ", symbol(callee.name), "("]
        for at, argument in enumerate(arguments):
            pieces += [", "] if at else []
            pieces.append(Typed(argument, callee.attributes_of(at)))
        pieces.append(f") {attributes}" if attributes else ")")
        if callee.result == VOID:
            self.do(*pieces, metadata=metadata)
            return Local(VOID)
        return self.emit(callee.result, *pieces, metadata=metadata)

    def load(
        self,
        type: Type,
        pointer: Value,
        align: int,
        *,
        metadata: tuple[Metadata, ...] = (),
    ) -> Local:
        """A load with an alignment in bytes."""
        parts = (f"load {type}, ", Typed(pointer), f", align {align}")
        return self.emit(type, *parts, metadata=metadata)

    def store(
        self,
        value: Value,
        pointer: Value,
        align: int,
        *,
        metadata: tuple[Metadata, ...] = (),
    ) -> None:
        """A store with an alignment in bytes."""
        parts = (Typed(value), ", ", Typed(pointer), f", align {align}")
        self.do("store ", *parts, metadata=metadata)

    def address(
        self, type: Type, pointer: Value, *indices: Value, inbounds: bool = True
    ) -> Local:
        """`getelementptr`; `inbounds` where it is known to be of the object."""
        pieces: list[Piece] = []
        for index in indices:
            pieces += [", ", Typed(index)]
        words = "getelementptr inbounds" if inbounds else "getelementptr"
        return self.emit(pointer.type, f"{words} {type}, ", Typed(pointer), *pieces)

    def allocate(self, type: Type, align: int, hint: str | None = None) -> Local:
        """A variable of the function, at its beginning."""
        result = Local(Pointer(), hint)
        made = Instruction([f"alloca {type}, align {align}"], result)
        self.entry.instructions.insert(self.allocations, made)
        self.allocations += 1
        return result

    def extract(self, vector: Value, index: Value) -> Local:
        """A component of a vector."""
        assert isinstance(vector.type, Vector), vector
        parts = (Typed(vector), ", ", Typed(index))
        return self.emit(vector.type.element, "extractelement ", *parts)

    def insert(self, vector: Value, element: Value, index: Value) -> Local:
        """A vector with one component replaced."""
        parts = (Typed(vector), ", ", Typed(element), ", ", Typed(index))
        return self.emit(vector.type, "insertelement ", *parts)

    def phi(self, type: Type, hint: str | None = None) -> Local:
        """A phi, whose operands `arrive` adds."""
        result = self.emit(type, f"phi {type} ", hint=hint)
        self.phis[result] = self.block.instructions[-1]
        return result

    def arrive(self, phi: Value, value: Value, source: Block) -> None:
        """Add an operand to a phi."""
        assert isinstance(phi, Local), phi
        pieces = self.phis[phi].pieces
        separator = ", " if len(pieces) > 1 else ""
        pieces += [f"{separator}[ ", value, ", ", source, " ]"]


Node: TypeAlias = "tuple[Constant | int | str, ...]"
"""The operands of a metadata node: constants, texts, and nodes by their numbers."""


@dataclass(frozen=True, slots=True)
class Global:
    """A variable of the module that begins undefined."""

    name: str
    type: Type
    space: int
    align: int
    """In bytes."""


class Module:
    """A module."""

    def __init__(self, triple: str, layout: str = "") -> None:
        """Make an empty module.

        Args:
            triple: of the target.
            layout: its data layout; empty for the target's own.
        """
        self.triple = triple
        self.layout = layout
        self.functions: list[Function] = []
        self.declarations: dict[str, Signature] = {}
        self.globals: list[Global] = []
        self.nodes: list[Node] = []

    def declare(self, signature: Signature) -> Signature:
        """Declare a function of elsewhere, once; return what was declared first.

        Raises:
            ValueError: it was declared with other types.
        """
        found = self.declarations.setdefault(signature.name, signature)
        if (found.result, found.parameters) != (signature.result, signature.parameters):
            raise ValueError(
                f"expected @{signature.name} with the types that it has, "
                f"({', '.join(map(str, found.parameters))}) -> {found.result}, got "
                f"({', '.join(map(str, signature.parameters))}) -> {signature.result}"
            )
        return found

    def define(self, function: Function) -> Function:
        self.functions.append(function)
        return function

    def variable(self, hint: str, type: Type, space: int, align: int) -> Constant:
        """A new variable of the module; a name that is taken gets a number."""
        taken = {each.name for each in self.globals}
        taken |= {each.signature.name for each in self.functions}
        taken |= set(self.declarations)
        name, number = hint, 0
        while name in taken:
            name, number = f"{hint}_{number}", number + 1
        self.globals.append(Global(name, type, space, align))
        return symbol(name, Pointer(space))

    def node(self, *operands: Constant | int | str) -> int:
        """The number of a metadata node, made once."""
        if operands in self.nodes:
            return self.nodes.index(operands)
        self.nodes.append(operands)
        return len(self.nodes) - 1

    def loop(self, property: str) -> Metadata:
        """Return the metadata of a new loop that has one property."""
        of_loop = self.node(property)
        self.nodes.append((len(self.nodes), of_loop))
        return Metadata("llvm.loop", len(self.nodes) - 1)
