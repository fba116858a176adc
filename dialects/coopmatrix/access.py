"""What accesses of `coopmatrix` to memory share: a memref, positions, a layout, checks.

Memory is a memref of rank 2 or more with strides.  Its last two dimensions hold the
matrix, the leading ones are indices.  Positions are coordinates of the memref, may be
negative, and say where element (0, 0) of the matrix is; `Layout` says where the others
are.  `checked(rows)` and `checked(cols)` name axes of the *matrix*: an element outside
the memref along a checked axis is read as 0 and not written.  Unchecked access out of
bounds is undefined.
"""

from abc import ABC

from xdsl.dialects.builtin import (
    I64,
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.enums import (
    CheckedAttr,
    Layout,
    LayoutAttr,
    ScopeAttr,
    Use,
)
from coopc.dialects.coopmatrix.types import (
    CHANNEL_BITS,
    MatrixType,
    unsupported_element,
)
from coopc.dialects.narrow import is_memref, is_vector
from coopc.dialects.simt.views import bits_of


class AccessOp(IRDLOperation, ABC):
    """What every access to memory has: a memref, positions, a layout, checks."""

    memory = operand_def(MemRefType)
    positions = var_operand_def(IndexType())
    layout = prop_def(LayoutAttr)
    checked = opt_prop_def(CheckedAttr)

    @property
    def matrix(self) -> MatrixType:
        """The type of the matrix that is read or written."""
        raise NotImplementedError

    @property
    def memory_type(self) -> MemRefType:
        """The type of the memref."""
        type = self.memory.type
        assert is_memref(type), type
        return type

    def verify_(self) -> None:
        """Check the memref and the positions against the matrix."""
        memory, matrix = self.memory_type, self.matrix
        if memory.get_num_dims() < 2:
            raise VerifyException(
                f"expected a memref of rank 2 or more, got {memory}: "
                "its last two dimensions hold the matrix"
            )
        if len(self.positions) != memory.get_num_dims():
            raise VerifyException(
                f"expected {memory.get_num_dims()} positions, one for each dimension "
                f"of the memref, got {len(self.positions)}"
            )
        self.verify_pointee()
        if not isinstance(memory.layout, NoneAttr | StridedLayoutAttr):
            raise VerifyException(
                f"expected a memref with strides, got layout {memory.layout}"
            )
        if self.layout.data == Layout.PACKED:
            verify_packed(matrix)

    def verify_pointee(self) -> None:
        """Check that memory holds elements of the matrix."""
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
        if rows != 1 or layout is Layout.PACKED or named:
            return None
        by_rows = layout is Layout.ROW_MAJOR
        return Layout.COL_MAJOR if by_rows else Layout.ROW_MAJOR


class PlainAccessOp(AccessOp, ABC):
    """A load or a store: an access with memory operands.

    The memref may hold numbers of another type than the matrix, or vectors of numbers
    (as an array of `vec4` in a shader).  Positions and strides count what the memref
    holds; a row of a row-major matrix, a column of a column-major one, lies without
    gaps in memory, from the position of its first element on.

    The layout may name a `coopmatrix.spec_constant`: `row_major = @L` is by rows unless
    @L is set to what SPIR-V calls another layout, 1 for columns.
    """

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
    def pointee_bits(self) -> int:
        """The width of what the memref holds, in bits."""
        return bits_of(self.memory_type.element_type)

    def verify_pointee(self) -> None:
        """Check that memory holds numbers or vectors, and the matrix's where it must.

        What is checked or packed is checked or packed element by element.
        """
        pointee = self.memory_type.element_type
        if pointee == self.matrix.element_type:
            return
        if self.checked is not None or self.layout.data == Layout.PACKED:
            super().verify_pointee()
        number = pointee
        if is_vector(pointee) and pointee.get_num_dims() == 1:
            number = pointee.get_element_type()
        if (reason := unsupported_element(number)) is not None:
            raise VerifyException(
                f"expected a memref of numbers or of vectors of numbers, {reason}"
            )

    def verify_(self) -> None:
        """Check the alignment, too."""
        super().verify_()
        if self.alignment is None:
            return
        alignment = self.alignment.value.data
        if alignment < 1 or alignment & (alignment - 1):
            raise VerifyException(
                f"expected an alignment that is a power of two, got {alignment}"
            )

    def verify_not_handed(self, scope: ScopeAttr | None, word: str, who: str) -> None:
        """Check that data is handed over the way that `who` does, which is another.

        Raises:
            VerifyException: `scope` says to whom.
        """
        if scope is not None:
            raise VerifyException(
                f"expected {word} on {who} only, as SPIR-V has "
                f"MakePointer{word.capitalize()}, got it on {self.name}"
            )


def verify_packed(matrix: MatrixType) -> None:
    """Check that a matrix can have the `packed` layout.

    Raises:
        VerifyException: for a use other than b, for elements wider than a channel, and
            for rows that do not fill the channels.
    """
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
    """Check that the memref of a store has no stride of 0."""
    if 0 in op.matrix_strides:
        raise VerifyException(
            "expected strides greater than 0: a store would write elements over each "
            f"other, got {op.memory_type}"
        )
