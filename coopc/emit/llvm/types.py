"""What LLVM IR is emitted for, and the types of values and constants of them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntAttr,
    i1,
    i8,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute

from coopc.device import Device
from coopc.dialects import amx, avx512
from coopc.dialects.amx import tile_type
from coopc.dialects.coopmatrix import MatrixType
from coopc.dialects.narrow import is_integer, is_vector
from coopc.dialects.row_slice import TokenType
from coopc.emit.walker import (
    NoForm,
    check_number,
    constant_bits,
    count_of,
    element_of,
)
from coopc.llvm.values import (
    BFLOAT,
    DOUBLE,
    FLOAT,
    HALF,
    I8,
    I16,
    I64,
    Constant,
    Float,
    Int,
    Pointer,
    Type,
    Vector,
    floating,
    integer,
)

TRIPLES = {"xe": "spir64-unknown-unknown", "amx": "x86_64-unknown-linux-gnu"}
"""By the family of the device."""

SPIR64_LAYOUT = (
    "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024"
)
"""The data layout of spir64, as OpenCL's front end has it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a module is emitted for."""

    device: Device
    cpu: str | None = None
    """What the functions say as target-cpu; None to leave it to who compiles them."""
    prefix: str = ""
    """What the names of functions that are defined begin with."""
    matrix: bool = False
    """Whether matrices are vectors, and operations on them calls: the IR of the SYCL
    matrix design, which work-items and vectorised code share."""

    def __post_init__(self) -> None:
        if self.device.family not in TRIPLES:
            raise ValueError(
                "expected an Intel GPU or amx, for which LLVM IR is emitted, got "
                f"{self.device.name}"
            )
        if self.matrix and self.gpu:
            raise ValueError(
                "expected amx with matrix=true, whose compiler knows "
                f"llvm.experimental.matrix, got {self.device.name}"
            )

    @property
    def gpu(self) -> bool:
        """Whether it is spir64 rather than x86-64."""
        return self.device.family == "xe"

    @property
    def triple(self) -> str:
        return TRIPLES[self.device.family]

    @property
    def layout(self) -> str:
        """The data layout; empty where LLVM's own is right."""
        return SPIR64_LAYOUT if self.gpu else ""


# What of x86-64 a function needs, as `target-features` of LLVM.


def features(func: FuncOp) -> tuple[str, ...]:
    found: set[str] = set()
    for op in func.walk():
        if op.dialect_name() == "amx":
            found.add("amx-tile")
        if isinstance(op, amx.TileMulIOp):
            found.add("amx-int8")
        elif isinstance(op, amx.TileMulFOp):
            is_bf16 = isinstance(tile_type(op.lhs).element_type, BFloat16Type)
            found.add("amx-bf16" if is_bf16 else "amx-fp16")
        elif isinstance(op, avx512.DotOp):
            found |= {"avx512vnni" if op.element == i8 else "avx512bf16", "avx512vl"}
        elif isinstance(op, avx512.TruncFOp):
            found |= {"avx512bf16", "avx512dq"}
    return tuple(sorted(found))


# The LLVM types of values, and constants of them.
#
# | in the IR      | value                                   | in memory |
# |----------------|-----------------------------------------|-----------|
# | index          | i64                                     | i64       |
# | i1             | i1                                      | a byte    |
# | bf16           | i16; bfloat with `Facts.matrix` alone   | the same  |
# | f8E5M2         | i8                                      | i8        |
# | vector<4x8xf16>| <32 x half>, row-major                  | the same  |
# | vector<1xf16>  | half                                    | the same  |
# | memref         | no value: see `View`                    |           |
# | opaque pointer | ptr                                     |           |
# | RxC matrix     | <R*C x T>, with `Facts.matrix` alone    |           |
# | token          | i64, with `Facts.matrix` alone          |           |
#
# No arithmetic is done on these: `expand-narrow-floats`.  LLVM stops at vectors of
# bfloat, and at some arguments, on processors without AVX512-FP16: they are i16.

_FLOATS: dict[type[Attribute], Float] = {
    Float16Type: HALF,
    Float32Type: FLOAT,
    Float64Type: DOUBLE,
}


class Types:
    """The types and constants of one target."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def number(self, type: Attribute) -> Int | Float:
        """The type of a number as a value.

        Raises:
            NoForm: it is no number, or the device has none.
        """
        check_number(type, self.facts.device)
        if isinstance(type, IndexType):
            return I64
        if is_integer(type):
            return Int(type.width.data)
        if isinstance(type, BFloat16Type):
            return BFLOAT if self.facts.matrix else I16
        return _FLOATS.get(type.__class__) or self.number(i8)

    def vector(self, element: Int | Float, length: int) -> Type:
        """A vector; of one component, the number."""
        return element if length == 1 else Vector(length, element)

    def of(self, type: Attribute) -> Type:
        """The type of a number, a vector of numbers, a pointer, or a matrix.

        Raises:
            NoForm: it is none of them, or the device has none.
        """
        if isinstance(type, LLVMPointerType):
            space = type.addr_space
            return Pointer(space.data if isinstance(space, IntAttr) else 0)
        if isinstance(type, MatrixType | TokenType):
            return self._of_matrix(type)
        if is_vector(type) and any(type.get_scalable_dims()):
            raise NoForm(f"expected a vector of fixed size, got {type}")
        if (length := count_of(type)) < 1:
            raise NoForm(f"expected a vector with components, got {type}")
        return self.vector(self.number(element_of(type)), length)

    def _of_matrix(self, type: MatrixType | TokenType) -> Type:
        """The type of a matrix or of a token of a row slice."""
        if not self.facts.matrix:
            raise NoForm(
                f"{type} has no form in plain LLVM IR: lower matrices with "
                "convert-coopmatrix-to-amx, or emit calls with "
                "llvm-ir{matrix=true}"
            )
        if isinstance(type, TokenType):
            return I64
        if not type.is_static:
            raise NoForm(f"expected numbers for sizes and scope, got {type}")
        rows, cols = type.shape
        return Vector(rows * cols, self.number(type.element_type))

    def in_memory(self, type: Attribute) -> Int | Float:
        """The type of an element of a memref: an i1 is a byte."""
        return I8 if type == i1 else self.number(type)

    def pointee(self, type: Attribute) -> Type:
        """The type of an element of a memref, which may be a vector."""
        return self.of(type) if is_vector(type) else self.in_memory(type)

    def bytes_of(self, type: Attribute) -> int:
        """Size of an element of a memref, in bytes; its alignment, too."""
        if is_vector(type):
            return type.element_count() * self.bytes_of(type.get_element_type())
        return self.in_memory(type).bits // 8

    def constant(self, type: Attribute, value: float) -> Constant:
        """A number as a constant: an int of an integer type, a float of a float type.

        Raises:
            NoForm: the device has no such type, or it has too few bits.
        """
        to = self.number(type)
        bits = constant_bits(type, value, to.bits)
        return integer(to, bits) if isinstance(to, Int) else floating(to, bits)
