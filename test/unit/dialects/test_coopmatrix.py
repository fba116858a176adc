"""The dialect `coopmatrix` from Python: types, constructors, traits, and its tests."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    VectorType,
    f16,
    f32,
    i1,
    i8,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import (
    MemoryEffect,
    SymbolUserOpInterface,
    is_side_effect_free,
    is_speculatable,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from coopc.compiler import new_context
from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import (
    CheckedAttr,
    MatrixType,
    Operand,
    Scope,
    ScopeAttr,
    SignedAttr,
    Use,
    UseAttr,
)
from coopc.dialects.coopmatrix.arithmetic import ElementwiseOp
from coopc.dialects.coopmatrix.types import NamesConstants
from coopc.dialects.traits import Collective
from coopc.emit.interface import spec_constant_ids
from coopc.parsing import parse
from coopc.source import Source
from coopc.universe import everything

TESTS = Path(__file__).parents[2] / "dialects"

A = MatrixType.of(8, 16, i8, Use.A)
B = MatrixType.of(16, 4, i8, Use.B)
C = MatrixType.of(8, 4, i32, Use.ACC)
F = MatrixType.of(8, 4, f32, Use.ACC)
MEMORY = MemRefType(f32, [64, 64])
INDEX = IndexType()


def value(type: Attribute) -> SSAValue:
    return create_ssa_value(type)


def test_type_of_plain_values() -> None:
    type = MatrixType.of("M", 16, f16, Use.A, "S")
    assert str(type) == "!coopmatrix.matrix<@M x 16 x f16, a, scope = @S>"
    assert type.sizes == ("M", 16)
    assert type.names == ("M", "S")
    assert not type.is_static
    assert type.with_shape(8, 16).names == ("S",)
    assert not type.with_shape(8, 16).is_static
    assert type.with_element(i8).element_bits == 8
    assert A.is_static
    assert A.shape == (8, 16)
    assert A.names == ()
    assert MatrixType.of(8, 16, i8, Use.A, Scope.WORKGROUP) != A


def test_a_size_is_one_name() -> None:
    nested = SymbolRefAttr("a", [StringAttr("b")])
    scope = ScopeAttr(Scope.SUBGROUP)
    with pytest.raises(VerifyException) as error:
        MatrixType(nested, IntAttr(8), f16, UseAttr(Use.A), scope, NoneAttr())
    message = "expected the name of a constant in the module, got @a::@b"
    assert str(error.value) == message


ACCESSES = """
%m, %i, %j = "test.op"() : () -> (memref<64x64xf32>, index, index)
%c = "test.op"() : () -> !coopmatrix.matrix<8x4xf32, acc>
%x = coopmatrix.atomic_load %m[%i, %j] row_major relaxed scope = workgroup
   : memref<64x64xf32> -> !coopmatrix.matrix<8x4xf32, acc>
coopmatrix.atomic_store %c, %m[%i, %j] row_major release
   : !coopmatrix.matrix<8x4xf32, acc>, memref<64x64xf32>
%y = coopmatrix.atomic_add %c, %m[%i, %j] col_major checked(rows) release scope = device
   : !coopmatrix.matrix<8x4xf32, acc>, memref<64x64xf32>
   -> !coopmatrix.matrix<8x4xf32, acc>
%z = coopmatrix.atomic_max %c, %m[%i, %j] row_major relaxed
   : !coopmatrix.matrix<8x4xf32, acc>, memref<64x64xf32>
   -> !coopmatrix.matrix<8x4xf32, acc>
%w = coopmatrix.atomic_min %c, %m[%i, %j] row_major relaxed
   : !coopmatrix.matrix<8x4xf32, acc>, memref<64x64xf32>
   -> !coopmatrix.matrix<8x4xf32, acc>
coopmatrix.prefetch %m[%i, %j] col_major checked(rows) level = 2
   : memref<64x64xf32>, !coopmatrix.matrix<8x4xf32, acc>
"""


def spec_constant(
    name: str, value: int, id: int | None = None
) -> coopmatrix.SpecConstantOp:
    properties = {"sym_name": StringAttr(name), "value": IntegerAttr(value, 32)}
    if id is not None:
        properties["id"] = IntegerAttr(id, 32)
    return coopmatrix.SpecConstantOp.build(properties=properties)


def memory_ops() -> list[coopmatrix.AccessOp]:
    m, i, j = value(MEMORY), value(INDEX), value(INDEX)
    rows = CheckedAttr(frozenset([coopmatrix.Axis.ROWS]))
    col_major = coopmatrix.Layout.COL_MAJOR
    properties: dict[str, Attribute] = {
        "checked": rows,
        "volatile": UnitAttr(),
        "nontemporal": UnitAttr(),
        "alignment": IntegerAttr(16, 64),
    }
    parsed = parse(new_context(everything()), Source(ACCESSES))
    return [
        coopmatrix.LoadOp(m, [i, j], F, col_major, **properties),
        coopmatrix.StoreOp(value(F), m, [i, j], col_major, **properties),
        *(op for op in parsed.ops if isinstance(op, coopmatrix.AccessOp)),
    ]


def test_accesses_have_their_operands() -> None:
    """Operands are in the order of the syntax, whichever class has them."""
    for op in memory_ops():
        op.verify()
        assert op.memory.type == MEMORY
        assert len(op.positions) == 2
        assert op.matrix == F
        assert op.matrix_strides == (64, 1)
    load, store, *_, prefetch = memory_ops()
    for plain in (load, store):
        assert isinstance(plain, coopmatrix.PlainAccessOp)
        assert plain.layout.data == coopmatrix.Layout.COL_MAJOR
        assert plain.volatile is not None
        assert plain.nontemporal is not None
        assert plain.alignment is not None
        assert plain.alignment.value.data == 16
    assert isinstance(prefetch, coopmatrix.PrefetchOp)
    assert prefetch.level is not None


def test_strides() -> None:
    memory = MemRefType(f32, [4, DYNAMIC_INDEX, DYNAMIC_INDEX])
    load = coopmatrix.LoadOp(value(memory), [value(INDEX)] * 3, F)
    assert load.matrix_strides == (None, 1)


def test_signed_atomics() -> None:
    memory = MemRefType(i32, [64, 64])
    properties: dict[str, Attribute] = {
        "layout": coopmatrix.LayoutAttr(coopmatrix.Layout.ROW_MAJOR),
        "ordering": coopmatrix.OrderingAttr(coopmatrix.Ordering.RELAXED),
        "signed": UnitAttr(),
    }
    for kind in (coopmatrix.AtomicMaxOp, coopmatrix.AtomicMinOp):
        op = kind(
            operands=[value(C), value(memory), [value(INDEX), value(INDEX)]],
            properties=properties,
            result_types=[C],
        )
        op.verify()
        assert op.signed is not None


def test_mul_add() -> None:
    signed = SignedAttr(frozenset([Operand.A, Operand.RESULT]))
    op = coopmatrix.MulAddOp(
        value(A), value(B), value(C), signed=signed, saturating=UnitAttr()
    )
    op.verify()
    assert op.result.type == C
    assert [x for x in Operand if op.is_signed(x)] == [Operand.A, Operand.RESULT]
    assert list(op.matrices.values()) == [A, B, C, C]
    other = C.with_element(i8)
    assert coopmatrix.MulAddOp(value(A), value(B), value(C), other).result.type == other


def test_elements_and_slices() -> None:
    m, i = value(C), value(INDEX)
    slice_type = VectorType(i32, [16])
    mask = value(VectorType(i1, [16]))
    extract = coopmatrix.ExtractOp(m, i)
    assert extract.result.type == i32
    slice = coopmatrix.ExtractRowSliceOp(m, i, slice_type)
    insert = coopmatrix.InsertRowSliceOp(slice.result, m, i, mask)
    assert insert.mask is mask
    assert coopmatrix.InsertRowSliceOp(slice.result, m, i).mask is None
    for op in (
        extract,
        slice,
        insert,
        coopmatrix.InsertOp(extract.result, m, i),
        coopmatrix.CoordOp.build(operands=[m, i], result_types=[INDEX, INDEX]),
        coopmatrix.LengthOp(C),
    ):
        op.verify()


def test_whole_matrices() -> None:
    x, scalar = value(C), value(i32)
    rows = coopmatrix.ReduceOp(
        coopmatrix.Reduction.MAX, coopmatrix.Reduced.ROWS, x, signed=True
    )
    assert rows.result.type == C.with_shape(8, 1)
    body = Block(arg_types=(INDEX, INDEX, C.element_type))
    body.add_op(coopmatrix.YieldOp(body.args[2]))
    for op in (
        rows,
        coopmatrix.ApplyOp(x, Region(body)),
        coopmatrix.ScaleOp(x, scalar),
        coopmatrix.FillOp(scalar, C),
        coopmatrix.DivOp(x, x, signed=True),
        coopmatrix.BitcastOp(x, F),
        coopmatrix.ConvertOp(x, F, signed=True),
        coopmatrix.NotOp(x),
    ):
        op.verify()


def test_speculation() -> None:
    """What may be executed where the program would not: nothing that may fail."""
    fill = coopmatrix.FillOp(value(f32), F)
    pointer = coopmatrix.FillOp(value(MemRefType(f32, [])), F)
    assert is_side_effect_free(fill)
    assert is_speculatable(fill)
    assert pointer.is_pointer
    assert not is_side_effect_free(pointer)
    assert not is_speculatable(pointer)
    assert is_speculatable(coopmatrix.DivOp(value(F), value(F)))
    assert not is_speculatable(coopmatrix.DivOp(value(C), value(C)))
    assert is_speculatable(coopmatrix.ShrOp(value(C), value(C)))


def test_names_are_looked_up_in_a_module_only() -> None:
    """An operation that is just being built is in none yet."""
    type = MatrixType.of("M", 8, f16, Use.A)
    length = coopmatrix.LengthOp(type)
    length.verify()
    module = ModuleOp([spec_constant("N", 8), length])
    with pytest.raises(
        VerifyException, match=r"expected a coopmatrix\.spec_constant @M"
    ):
        module.verify()
    module.body.block.insert_op_before(spec_constant("M", 8), length)
    module.verify()


def test_spec_ids() -> None:
    """Ids that are given are kept; the others are the least ones that are free."""
    module = ModuleOp(
        [
            spec_constant("M", 8),
            spec_constant("N", 8, 0),
            spec_constant("K", 8),
            spec_constant("S", 3, 7),
        ]
    )
    module.verify()
    assert {op.sym_name.data: id for op, id in spec_constant_ids(module)} == {
        "M": 1,
        "N": 0,
        "K": 2,
        "S": 7,
    }


@pytest.mark.parametrize("op", coopmatrix.OPERATIONS, ids=lambda op: op.name)
def test_traits(op: type[Operation]) -> None:
    """Every operation on matrices looks up names, and says whether all run it."""
    if op in (coopmatrix.SpecConstantOp, coopmatrix.SpecValueOp, coopmatrix.YieldOp):
        return
    assert op.has_trait(SymbolUserOpInterface)
    assert op.has_trait(MemoryEffect)
    own = (
        coopmatrix.CoordOp,
        coopmatrix.ExtractOp,
        coopmatrix.InsertOp,
        coopmatrix.LengthOp,
    )
    assert op.has_trait(Collective) == (op not in own)


def test_traits_of_elementwise_operations() -> None:
    elementwise = {op for op in coopmatrix.OPERATIONS if issubclass(op, ElementwiseOp)}
    assert all(op.ALGEBRA for op in elementwise)
    assert NamesConstants in {type(t) for t in coopmatrix.AddOp.traits}
