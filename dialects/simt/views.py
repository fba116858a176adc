"""The operation of `simt` that sees memory as elements of another type."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FixedBitwidthType,
    IndexType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.narrow import is_memref, is_vector


@irdl_op_definition
class ViewElementsOp(IRDLOperation):
    """Memory from a position on, as elements of another type.

    Element (i, j) of the result is number j of those that follow each other from `i`
    further along the second to last dimension of the memref on: its stride is that of
    the memref, counted in elements, and the last one is 1.  What the memref holds,
    numbers or vectors of them, is a whole number of elements.

    ```mlir
    %m, %i = "test.op"() : () -> (memref<8x2xvector<4xf32>>, index)
    %e = simt.view_elements %m[%i, %i] : memref<8x2xvector<4xf32>>
        -> memref<4x8xf32, strided<[8, 1], offset: ?>>
    ```
    """

    name = "simt.view_elements"

    memory = operand_def(MemRefType)
    positions = var_operand_def(IndexType())
    result = result_def(MemRefType)

    traits = traits_def(Pure())

    assembly_format = (
        "$memory `[` $positions `]` attr-dict `:` type($memory) `->` type($result)"
    )

    def __init__(
        self,
        memory: SSAValue,
        positions: Sequence[SSAValue],
        shape: tuple[int, int],
        element: Attribute,
    ) -> None:
        assert is_memref(memory.type), memory.type
        layout = StridedLayoutAttr([_stride(memory.type, element), 1], None)
        space = memory.type.memory_space
        type = MemRefType(element, shape, layout, space)
        super().__init__(operands=[memory, positions], result_types=[type])

    @property
    def per_pointee(self) -> int:
        """How many elements are one of what the memref holds."""
        assert is_memref(self.memory.type)
        assert is_memref(self.result.type)
        return per_pointee(self.memory.type.element_type, self.result.type.element_type)

    def verify_(self) -> None:
        """Check the positions, and the result against the memref."""
        memory, result = self.memory.type, self.result.type
        assert is_memref(memory), memory
        assert is_memref(result), result
        if len(self.positions) != memory.get_num_dims() or len(self.positions) < 2:
            raise VerifyException(
                f"expected a memref of rank 2 or more, and a position for each "
                f"dimension, got {memory} and {len(self.positions)}"
            )
        if not per_pointee(memory.element_type, result.element_type):
            raise VerifyException(
                f"expected {memory.element_type} to be a whole number of "
                f"{result.element_type}"
            )
        if not isinstance(memory.layout, NoneAttr | StridedLayoutAttr):
            raise VerifyException(f"expected a memref with strides, got {memory}")
        stride = _stride(memory, result.element_type)
        expected = StridedLayoutAttr([stride, 1], None)
        if result.get_num_dims() != 2 or result.layout != expected:
            raise VerifyException(
                f"expected a result of rank 2 with the layout {expected}, got {result}"
            )
        if result.memory_space != memory.memory_space:
            raise VerifyException(
                f"expected a result in the memory space {memory.memory_space}, got "
                f"{result.memory_space}"
            )


def per_pointee(pointee: Attribute, element: Attribute) -> int:
    """Return how many elements what memory holds is; 0 if it is no whole number.

    >>> from xdsl.dialects.builtin import VectorType, f16, f32
    >>> per_pointee(VectorType(f32, [4]), f16), per_pointee(f16, f32)
    (8, 0)
    """
    bits, element_bits = bits_of(pointee), bits_of(element)
    return 0 if bits % element_bits else bits // element_bits


def bits_of(type: Attribute) -> int:
    """Return the width of a number, or of all components of a vector, in bits."""
    width = 1
    if is_vector(type):
        type, width = type.get_element_type(), type.element_count()
    assert isinstance(type, FixedBitwidthType), type
    return width * type.bitwidth


def _stride(memory: MemRefType, element: Attribute) -> int | None:
    """Return the second to last stride of a memref in elements; None if dynamic."""
    strides = memory.get_strides()
    assert strides is not None, memory
    stride = strides[-2]
    if stride is None or stride == DYNAMIC_INDEX:
        return None
    return stride * per_pointee(memory.element_type, element)
