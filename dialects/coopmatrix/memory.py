"""Operations of `coopmatrix` on memory: load, store, prefetch and atomics."""

from abc import ABC
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    I32,
    I64,
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    SymbolRefAttr,
    UnitAttr,
    i8,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
)
from xdsl.utils.exceptions import VerifyException

from coopc.diagnostic import either
from coopc.dialects.coopmatrix.types import (
    BLOCKED,
    CHANNEL_BITS,
    CheckedAttr,
    Layout,
    LayoutAttr,
    MatrixType,
    NamesConstants,
    Ordering,
    OrderingAttr,
    Scope,
    ScopeAttr,
    Use,
    unsupported_element,
)
from coopc.dialects.narrow import is_integer, is_memref, is_nibble, is_vector
from coopc.dialects.simt import bits_of, verify_positions
from coopc.dialects.traits import Collective, FillsCache, ReadsAndWrites


class AccessOp(IRDLOperation, ABC):
    """What every access to memory has: a memref, positions, a layout, checks.

    In global memory accesses of a subgroup are ordered where the same element of
    matrices of one type is at the same place, so that matrices are updated in place.
    Another lane may have another element, or that of another type of matrix: what one
    access writes and another one reads or writes so needs a `simt.barrier` between.
    """

    memory = operand_def(MemRefType)
    positions = var_operand_def(IndexType())
    layout = prop_def(LayoutAttr)
    checked = opt_prop_def(CheckedAttr)

    @property
    def matrix(self) -> MatrixType:
        """The type of the matrix, which is the first operand or else the result."""
        first = self.operands[0].type
        type = first if isinstance(first, MatrixType) else self.results[0].type
        assert isinstance(type, MatrixType), type
        return type

    @property
    def memory_type(self) -> MemRefType:
        type = self.memory.type
        assert is_memref(type), type
        return type

    @property
    def pointee_bits(self) -> int:
        """The width of what the memref holds, which positions count, in bits."""
        return bits_of(self.memory_type.element_type)

    def verify_(self) -> None:
        memory, matrix = self.memory_type, self.matrix
        if memory.get_num_dims() < 2:
            raise VerifyException(
                f"expected a memref of rank 2 or more, got {memory}: "
                "its last two dimensions hold the matrix"
            )
        verify_positions(memory, len(self.positions))
        self.verify_pointee()
        if not isinstance(memory.layout, NoneAttr | StridedLayoutAttr):
            raise VerifyException(
                f"expected a memref with strides, got layout {memory.layout}"
            )
        if self.layout.data == Layout.PACKED:
            verify_packed(matrix)
        if self.layout.data in BLOCKED and not isinstance(self, PlainAccessOp):
            raise VerifyException(
                f"expected a load or a store, as no other access is {self.layout.data}"
            )

    def verify_pointee(self) -> None:
        expected, found = self.matrix.element_type, self.memory_type.element_type
        if found != expected:
            raise VerifyException(
                f"expected a memref of {expected}, the element type of the matrix, "
                f"got {found}"
            )

    @property
    def matrix_strides(self) -> tuple[int | None, int | None]:
        """The strides of the memref's last two dimensions; None where dynamic."""
        strides = self.memory_type.get_strides()
        assert strides is not None, self.memory_type
        rows, cols = strides[-2:]
        return rows, cols

    @property
    def layout_in_memory(self) -> Layout | None:
        """The layout of the matrix as its elements lie in memory; None if not sure.

        It is the other one where the memref's rows are columns in memory.  Where they
        follow each other backwards, there is none.
        """
        rows, cols = self.matrix_strides
        layout = self.layout.data
        if any(stride is not None and stride < 0 for stride in (rows, cols)):
            return None
        if cols == 1:
            return layout
        named = isinstance(self, PlainAccessOp) and self.layout_name is not None
        if rows != 1 or layout in (Layout.PACKED, *BLOCKED) or named:
            return None
        by_rows = layout is Layout.ROW_MAJOR
        return Layout.COL_MAJOR if by_rows else Layout.ROW_MAJOR


class PlainAccessOp(AccessOp, ABC):
    """A load or a store: an access with memory operands.

    The memref may hold numbers of another type than the matrix, or vectors of numbers
    (as an array of `vec4` in a shader).  Positions and strides count what the memref
    holds; a row of a row-major matrix, a column of a column-major one, lies without
    gaps in memory, from the position of its first element on.  Elements of 4 bits are
    two in a byte, the first in its low bits, and what is checked is their byte.

    The layout may name a `coopmatrix.spec_constant`: `row_major = @L` is by rows unless
    @L is set to what SPIR-V calls another layout, 1 for columns.

    Blocks, of 4 rows of 16 bytes, are row-major within.  `interleave` of them that
    follow each other are one group, in which each block in turn has 4 bytes; the matrix
    has whole groups, and its rows of blocks, or columns of blocks, lie without gaps.
    """

    interleave = opt_prop_def(IntegerAttr[I64])
    """Blocks in a group; 1 where it is absent."""

    layout_name = opt_prop_def(SymbolRefAttr)
    volatile = opt_prop_def(UnitAttr)
    nontemporal = opt_prop_def(UnitAttr)
    alignment = opt_prop_def(IntegerAttr[I64])
    """In bytes, of the first element: a power of two."""
    available = opt_prop_def(ScopeAttr)
    """Of a store: to whom it makes what it writes available."""
    visible = opt_prop_def(ScopeAttr)
    """Of a load: whose writes, made available, it sees."""

    irdl_options = (ParsePropInAttrDict(),)

    @property
    def is_from_start(self) -> bool:
        """Whether the matrix is in an argument of a kernel, of two dimensions.

        The memory then begins where a buffer does.
        """
        memory, owner = self.memory_type, self.memory.owner
        parent = owner.parent_op() if isinstance(owner, Block) else None
        return (
            isinstance(parent, FuncOp)
            and "simt.kernel" in parent.attributes
            and isinstance(memory.memory_space, NoneAttr)
            and memory.get_num_dims() == 2
            and memory.get_offset() == 0
            and memory.element_type == self.matrix.element_type
            and self.matrix.is_static
            and self.layout_in_memory in (Layout.ROW_MAJOR, Layout.COL_MAJOR)
            and self.layout_name is self.available is self.visible is None
        )

    @property
    def group(self) -> int:
        """How many blocks are interleaved."""
        return 1 if self.interleave is None else self.interleave.value.data

    def in_blocks(self, row: Any, col: Any) -> tuple[Any, Any]:
        """Return where an element is in the memref, from the positions on.

        Coordinates are numbers, or arrays of them.
        """
        bits = self.matrix.element_bits
        width, word, group = 128 // bits, max(1, 32 // bits), self.group
        line, block = row // 4, col // width
        if self.layout.data is Layout.COL_BLOCKED:
            line, block = block, line
        within = row % 4 * width + col % width
        start = block // group * (group * 4 * width)
        place = within // word * (group * word) + block % group * word + within % word
        return line, start + place

    def verify_blocks(self) -> None:
        """Check that memory has the blocks of a matrix, and no gaps between them.

        Those are the rules of SPV_ARM_cooperative_matrix_layouts, whose elements are of
        at most 4 bytes, as interleaving would split others.
        """
        matrix, bits = self.matrix, self.matrix.element_bits
        if not matrix.is_static or bits not in (8, 16, 32):
            raise VerifyException(
                "expected a matrix of known sizes and of elements of 8, 16 or 32 bits "
                f"in blocks, got {matrix}"
            )
        if self.checked is not None:
            raise VerifyException("expected no checks of an access to blocks")
        (rows, cols), width = matrix.shape, 128 // bits
        if rows % 4 or cols % width:
            raise VerifyException(
                f"expected multiples of 4 rows and {width} columns, a block of "
                f"{matrix.element_type}, got {rows} x {cols}"
            )
        by_rows = self.layout.data is Layout.ROW_BLOCKED
        blocks = cols // width if by_rows else rows // 4
        if self.group < 1 or blocks % self.group:
            raise VerifyException(
                f"expected interleave to divide {blocks}, the blocks of a "
                f"{'row' if by_rows else 'column'}, got {self.group}"
            )
        lines = rows // 4 if by_rows else cols // width
        pitch, step = self.matrix_strides
        expected = blocks * 4 * width
        if step != 1 or (lines > 1 and pitch != expected):
            raise VerifyException(
                f"expected a memref with rows of {expected} elements, "
                f"{blocks} blocks, got {self.memory_type}"
            )

    def verify_pointee(self) -> None:
        """Check that memory holds numbers or vectors, and the matrix's where it must.

        What is checked or packed is checked or packed element by element.
        """
        pointee = self.memory_type.element_type
        if pointee == self.matrix.element_type:
            return
        whole = (Layout.PACKED, *BLOCKED)
        if is_nibble(self.matrix.element_type):
            if pointee != i8 or self.layout.data in whole:
                super().verify_pointee()
            return
        if self.checked is not None or self.layout.data in whole:
            super().verify_pointee()
        number = pointee
        if is_vector(pointee) and pointee.get_num_dims() == 1:
            number = pointee.get_element_type()
        if (reason := unsupported_element(number)) is not None:
            raise VerifyException(
                f"expected a memref of numbers or of vectors of numbers, {reason}"
            )

    def verify_(self) -> None:
        super().verify_()
        if self.layout.data in BLOCKED:
            self.verify_blocks()
        elif self.interleave is not None:
            raise VerifyException(
                f"expected interleave of blocks only, got {self.layout.data}"
            )
        if self.alignment is None:
            return
        alignment = self.alignment.value.data
        if alignment < 1 or alignment & (alignment - 1):
            raise VerifyException(
                f"expected an alignment that is a power of two, got {alignment}"
            )

    def verify_not_handed(self, scope: ScopeAttr | None, word: str, who: str) -> None:
        """Check that data is handed over the way that `who` does, which is another."""
        if scope is not None:
            raise VerifyException(
                f"expected {word} on {who} only, as SPIR-V has "
                f"MakePointer{word.capitalize()}, got it on {self.name}"
            )


def verify_packed(matrix: MatrixType) -> None:
    """Check that a matrix can have the `packed` layout."""
    if matrix.use.data != Use.B:
        raise VerifyException(
            f"expected use b, the one with a packed layout, got {matrix.use.data}"
        )
    if matrix.element_bits > CHANNEL_BITS:
        raise VerifyException(
            f"expected elements of at most {CHANNEL_BITS} bits, the width of a "
            f"packed channel, got {matrix.element_type}"
        )
    per_channel = CHANNEL_BITS // matrix.element_bits
    rows = matrix.sizes[0]
    if isinstance(rows, int) and rows % per_channel:
        raise VerifyException(
            f"expected rows in groups of {per_channel}, as many as a channel of "
            f"{CHANNEL_BITS} bits packs, got {rows}"
        )


def verify_no_zero_stride(op: AccessOp) -> None:
    is_empty = 0 in op.memory_type.get_shape()  # whose rows may have no pitch
    if 0 in op.matrix_strides and not is_empty:
        raise VerifyException(
            "expected strides greater than 0: a store would write elements over each "
            f"other, got {op.memory_type}"
        )


# Operations of `coopmatrix` on memory: load, store and prefetch.

_ACCESS = (
    "$memory `[` $positions `]` $layout (`=` $layout_name^)? "
    "(`interleave` `=` $interleave^)? "
    "(`checked` `` $checked^)? (`volatile` $volatile^)? (`nontemporal` $nontemporal^)? "
    "(`alignment` `=` $alignment^)? "
    "(`available` `=` $available^)? (`visible` `=` $visible^)? "
)


class ReadsUnlessVolatile(MemoryEffect):
    """A load reads; a volatile one also writes, so that it is never removed."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        is_plain = isinstance(op, LoadOp) and op.volatile is None
        return (MemoryReadEffect if is_plain else ReadsAndWrites).get_effects(op)


@irdl_op_definition
class LoadOp(PlainAccessOp):
    """Read a matrix from memory.

    | value     | shape                                             |
    |-----------|---------------------------------------------------|
    | memory    | rank 2 or more; see `PlainAccessOp`               |
    | positions | one index for each dimension of the memref        |
    | result    | M x N                                             |

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<64x?xf16>, index, index)
    %a = coopmatrix.load %memory[%i, %j] row_major checked(rows, cols) alignment = 16 :
         memref<64x?xf16> -> !coopmatrix.matrix<8x16xf16, a>
    %b = coopmatrix.load %memory[%i, %j] col_major volatile nontemporal :
         memref<64x?xf16> -> !coopmatrix.matrix<16x16xf16, b>
    ```
    """

    name = "coopmatrix.load"

    result = result_def(MatrixType)

    traits = traits_def(Collective(), ReadsUnlessVolatile(), NamesConstants())

    assembly_format = _ACCESS + "attr-dict `:` type($memory) `->` type($result)"

    def __init__(
        self,
        memory: SSAValue,
        positions: Sequence[SSAValue],
        result: Attribute,
        layout: Layout = Layout.ROW_MAJOR,
        **properties: Attribute,
    ) -> None:
        super().__init__(
            operands=[memory, positions],
            properties={"layout": LayoutAttr(layout), **properties},
            result_types=[result],
        )

    def verify_(self) -> None:
        super().verify_()
        self.verify_not_handed(self.available, "available", "a store")


@irdl_op_definition
class StoreOp(PlainAccessOp):
    """Write a matrix to memory.

    | value     | shape                                             |
    |-----------|---------------------------------------------------|
    | value     | M x N                                             |
    | memory    | rank 2 or more; see `PlainAccessOp`               |
    | positions | one index for each dimension of the memref        |

    A stride of 0 would write elements over each other and is refused.

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<64x64xf32>, index, index)
    %c = "test.op"() : () -> !coopmatrix.matrix<8x16xf32, acc>
    coopmatrix.store %c, %memory[%i, %j] row_major checked(rows) :
      !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
    ```
    """

    name = "coopmatrix.store"

    value = operand_def(MatrixType)

    traits = traits_def(Collective(), MemoryWriteEffect(), NamesConstants())

    assembly_format = (
        "$value `,` " + _ACCESS + "attr-dict `:` type($value) `,` type($memory)"
    )

    def __init__(
        self,
        value: SSAValue,
        memory: SSAValue,
        positions: Sequence[SSAValue],
        layout: Layout = Layout.ROW_MAJOR,
        **properties: Attribute,
    ) -> None:
        super().__init__(
            operands=[value, memory, positions],
            properties={"layout": LayoutAttr(layout), **properties},
        )

    def verify_(self) -> None:
        super().verify_()
        self.verify_not_handed(self.visible, "visible", "a load")
        verify_no_zero_stride(self)


@irdl_op_definition
class PrefetchOp(AccessOp):
    """Prefetch what a load of `matrix_type` would read; a hint without a result.

    `level` is the cache that is wanted nearest, 1 for L1; a hint for a level that the
    device does not have is ignored.

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<64x64xf16>, index, index)
    coopmatrix.prefetch %memory[%i, %j] row_major level = 1 :
      memref<64x64xf16>, !coopmatrix.matrix<8x16xf16, a>
    ```
    """

    name = "coopmatrix.prefetch"

    matrix_type = prop_def(MatrixType)
    level = opt_prop_def(IntegerAttr[I32])

    traits = traits_def(Collective(), FillsCache(), NamesConstants())
    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = (
        "$memory `[` $positions `]` $layout (`checked` `` $checked^)? "
        "(`level` `=` $level^)? attr-dict `:` type($memory) `,` qualified($matrix_type)"
    )

    @property
    def matrix(self) -> MatrixType:
        return self.matrix_type

    def verify_(self) -> None:
        super().verify_()
        if self.level is not None and (level := self.level.value.data) < 1:
            raise VerifyException(
                f"expected a level of 1, the nearest cache, or more, got {level}"
            )


# Operations of `coopmatrix` that access memory atomically, element by element.

_ATOMIC = (
    "$memory `[` $positions `]` $layout (`checked` `` $checked^)? "
    "$ordering (`scope` `=` $scope^)? "
)


class AtomicOp(AccessOp, ABC):
    """An access that is atomic element by element, not as a whole."""

    ordering = prop_def(OrderingAttr)
    scope = opt_prop_def(ScopeAttr)
    """Who sees it as atomic; the device where it is absent."""

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Collective(), ReadsAndWrites(), NamesConstants())

    REFUSED: ClassVar[tuple[Ordering, ...]] = ()
    """The orderings that such an access cannot have."""

    @property
    def atomic_scope(self) -> Scope:
        return self.scope.data if self.scope is not None else Scope.DEVICE

    def verify_(self) -> None:
        super().verify_()
        if self.ordering.data in self.REFUSED:
            others = either(each for each in Ordering if each not in self.REFUSED)
            raise VerifyException(
                f"expected {others}, the orderings that {self.name} can have, "
                f"got {self.ordering.data}"
            )
        if self.matrix.element_bits < 8:
            raise VerifyException(
                "expected elements of 8 bits or more, which atomics need, "
                f"got {self.matrix.element_type}"
            )


@irdl_op_definition
class AtomicLoadOp(AtomicOp):
    """Read each element of a matrix atomically.

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<64x64xf32>, index, index)
    %a = coopmatrix.atomic_load %memory[%i, %j] row_major acquire scope = workgroup :
         memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
    ```
    """

    name = "coopmatrix.atomic_load"

    result = result_def(MatrixType)

    assembly_format = _ATOMIC + "attr-dict `:` type($memory) `->` type($result)"

    REFUSED: ClassVar = (Ordering.RELEASE, Ordering.ACQUIRE_RELEASE)
    """A read releases nothing."""


@irdl_op_definition
class AtomicStoreOp(AtomicOp):
    """Write each element of a matrix atomically.

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<64x64xf32>, index, index)
    %c = "test.op"() : () -> !coopmatrix.matrix<8x16xf32, acc>
    coopmatrix.atomic_store %c, %memory[%i, %j] row_major release :
      !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
    ```
    """

    name = "coopmatrix.atomic_store"

    value = operand_def(MatrixType)

    assembly_format = (
        "$value `,` " + _ATOMIC + "attr-dict `:` type($value) `,` type($memory)"
    )

    REFUSED: ClassVar = (Ordering.ACQUIRE, Ordering.ACQUIRE_RELEASE)
    """A write acquires nothing."""

    def verify_(self) -> None:
        super().verify_()
        verify_no_zero_stride(self)


class AtomicUpdateOp(AtomicOp, ABC):
    """`mem = mem (op) value`, element by element; the result is what was there before.

    Elements that fail a check are not updated and are 0 in the result.

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<64x64xf32>, index, index)
    %c = "test.op"() : () -> !coopmatrix.matrix<8x16xf32, acc>
    %old = coopmatrix.atomic_add %c, %memory[%i, %j] row_major relaxed :
      !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
      -> !coopmatrix.matrix<8x16xf32, acc>
    ```
    """

    value = operand_def(MatrixType)
    result = result_def(MatrixType)

    assembly_format = (
        "$value `,` " + _ATOMIC + "attr-dict `:` type($value) `,` type($memory) "
        "`->` type($result)"
    )

    def verify_(self) -> None:
        super().verify_()
        if self.result.type != self.value.type:
            raise VerifyException(
                f"expected a result of {self.value.type}, the type of the value, "
                f"got {self.result.type}"
            )


@irdl_op_definition
class AtomicAddOp(AtomicUpdateOp):
    """Add a matrix to memory; the result is what was there before."""

    name = "coopmatrix.atomic_add"


class AtomicOrderOp(AtomicUpdateOp, ABC):
    """An update by the greater or the smaller: integers have a sign.

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<64x64xi32>, index, index)
    %c = "test.op"() : () -> !coopmatrix.matrix<8x16xi32, acc>
    %old = coopmatrix.atomic_max signed %c, %memory[%i, %j] row_major relaxed :
      !coopmatrix.matrix<8x16xi32, acc>, memref<64x64xi32>
      -> !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    signed = opt_prop_def(UnitAttr)

    assembly_format = f"(`signed` $signed^)? {AtomicUpdateOp.assembly_format}"

    def verify_(self) -> None:
        super().verify_()
        if self.signed is not None and not is_integer(self.matrix.element_type):
            raise VerifyException(
                f"expected integers, which can be signed, got "
                f"{self.matrix.element_type}"
            )


@irdl_op_definition
class AtomicMaxOp(AtomicOrderOp):
    """Leave the greater element in memory; the result is what was there before."""

    name = "coopmatrix.atomic_max"


@irdl_op_definition
class AtomicMinOp(AtomicOrderOp):
    """Leave the smaller element in memory; the result is what was there before."""

    name = "coopmatrix.atomic_min"
