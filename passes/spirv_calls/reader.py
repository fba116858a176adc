"""Reads a function of SPIR-V-friendly LLVM into a new function of coopc's dialects.

The old function stays as it is.

| in LLVM                      | becomes                                       |
|------------------------------|-----------------------------------------------|
| a pointer argument           | a memref of rank 0 of what is read through it |
| getelementptr                | an offset, in elements, from the argument     |
| matrices                     | `!coopmatrix.matrix`                          |
| integer and float arithmetic | `arith`                                       |
| `scf`, `arith`, `math`       | themselves                                    |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.dialects import arith, func, llvm
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from coopc.dialects import simt
from coopc.dialects.coopmatrix import SCOPE_NUMBERS, MatrixType, Use
from coopc.dialects.coopmatrix.types import unsupported_element
from coopc.dialects.llvm_target import TargetExtType
from coopc.dialects.narrow import is_integer, is_memref
from coopc.ir.transaction import Refused

BINARY: dict[type[Operation], Callable[..., Operation]] = {
    llvm.AddOp: arith.AddiOp,
    llvm.SubOp: arith.SubiOp,
    llvm.MulOp: arith.MuliOp,
    llvm.UDivOp: arith.DivUIOp,
    llvm.SDivOp: arith.DivSIOp,
    llvm.URemOp: arith.RemUIOp,
    llvm.SRemOp: arith.RemSIOp,
    llvm.AndOp: arith.AndIOp,
    llvm.OrOp: arith.OrIOp,
    llvm.XOrOp: arith.XOrIOp,
    llvm.ShlOp: arith.ShLIOp,
    llvm.LShrOp: arith.ShRUIOp,
    llvm.AShrOp: arith.ShRSIOp,
    llvm.FAddOp: arith.AddfOp,
    llvm.FSubOp: arith.SubfOp,
    llvm.FMulOp: arith.MulfOp,
    llvm.FDivOp: arith.DivfOp,
}
"""Of two operands of one type."""

CASTS: dict[type[Operation], type[Operation]] = {
    llvm.TruncOp: arith.TruncIOp,
    llvm.ZExtOp: arith.ExtUIOp,
    llvm.SExtOp: arith.ExtSIOp,
    llvm.SIToFPOp: arith.SIToFPOp,
    llvm.FPExtOp: arith.ExtFOp,
    llvm.FPTruncOp: arith.TruncFOp,
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
    def __init__(self, old: llvm.FuncOp | func.FuncOp, call: ReadCall) -> None:
        """Begin a function.

        Args:
            old: the function, with a body.
            call: reads a call.

        Raises:
            Refused: its arguments or results have no form here.
        """
        self.old = old
        self._call = call
        self.values: dict[SSAValue, Value] = {}
        self.location = old.location
        block = old.body.blocks[0]
        types = [self._argument(arg) for arg in block.args]
        self.block = Block(arg_types=types)
        for arg, new in zip(block.args, self.block.args, strict=True):
            new.name_hint = arg.name_hint
            if is_memref(new.type) and _is_pointer(arg):
                self.values[arg] = PointerOperand(new, new.type.element_type, None)
            else:
                self.values[arg] = new
        self.builder = Builder(InsertPoint.at_end(self.block))

    def read(self, body: Callable[[Reader], None]) -> func.FuncOp:
        """Read the body, and return the new function.

        Args:
            body: reads the blocks where there are several.

        Raises:
            Refused: an operation is not read.
        """
        if len(self.old.body.blocks) > 1:
            body(self)
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
        self, value: SSAValue, op: Operation, element: Attribute
    ) -> PointerOperand:
        """What a pointer became, to elements of a type.

        Raises:
            Refused: it comes from elsewhere than an argument, or its elements are
                others.
        """
        found = self.values[value]
        if not isinstance(found, PointerOperand):
            raise Refused(op, "expected a pointer that comes from an argument")
        if found.element != element:
            raise Refused(
                op,
                f"expected one type of elements behind an argument, {found.element}, "
                f"got {element}",
            )
        return found

    def insert(self, op: Operation) -> Sequence[SSAValue]:
        """Append an operation; return its results."""
        op.location = self.location
        self.builder.insert(op)
        return op.results

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
            self.location = op.location
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
            case _:
                return self._plain(op)

    def _plain(self, op: Operation) -> Sequence[Value]:
        """Arithmetic, and what stays as it is."""
        operands = [self.value(each, op) for each in op.operands]
        if (binary := BINARY.get(type(op))) is not None:
            return [self.add(binary(*operands))]
        if (cast := CASTS.get(type(op))) is not None:
            types = [op.results[0].type]
            return [self.add(cast.create(operands=operands, result_types=types))]
        if op.dialect_name() not in KEPT:
            raise Refused(op, f"expected an operation that is read, got {op.name}")
        new = type(op).create(
            operands=operands,
            result_types=[self.type(each.type, op) for each in op.results],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            regions=[self._region(region, op) for region in op.regions],
        )
        self.location = op.location
        return self.insert(new)

    def _region(self, old: Region, op: Operation) -> Region:
        if not old.blocks:
            return Region()
        if len(old.blocks) > 1:
            raise Refused(op, "expected regions of one block, as scf has them")
        source = old.blocks[0]
        block = Block(arg_types=[self.type(arg.type, op) for arg in source.args])
        self.bind(source.args, block.args)
        outer, self.builder = self.builder, Builder(InsertPoint.at_end(block))
        self.read_ops(source.ops)
        self.builder = outer
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
