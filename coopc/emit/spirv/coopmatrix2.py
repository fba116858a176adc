"""`coopmatrix`: what SPV_NV_cooperative_matrix2 has instructions for.

| operation                   | instruction                         | function        |
| --------------------------- | ----------------------------------- | --------------- |
| reduce, broadcast or quads  | OpCooperativeMatrixReduceNV         | of two elements |
| apply                       | OpCooperativeMatrixPerElementOpNV   | the body        |
| convert, of another use     | OpCooperativeMatrixConvertNV        |                 |
| transpose of an accumulator | OpCooperativeMatrixTransposeNV      |                 |
| coord                       | OpCooperativeMatrixGetCoordinateEXT |                 |

SPV_EXT_cooperative_matrix_maintenance1 has the same instructions by other names, the
last one, and a decoration of conversions that transpose.  A body becomes a function of
row, column and element.  What it uses from outside are further parameters, unless it is
a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import Reduced, Use, matrix_type
from coopc.dialects.narrow import is_memref
from coopc.emit.spirv.coopmatrix import LEGALIZE, through_lanes
from coopc.emit.spirv.emission import Emission, Handlers
from coopc.emit.spirv.view import View
from coopc.emit.view import Form
from coopc.emit.walker import NoForm
from coopc.ir.control_flow import captured
from coopc.passes.coopmatrix.elementwise import reduction
from coopc.passes.coopmatrix.supported_tiles import rows_move
from coopc.spirv.instruction import Id

handlers = Handlers()

_MODES = {
    Reduced.ROWS: "Row",
    Reduced.COLS: "Column",
    Reduced.ALL: "Row|Column",
    Reduced.QUADS: "2x2",
}


@handlers.on(coopmatrix.ReduceOp)
def reduce(e: Emission, op: coopmatrix.ReduceOp) -> None:
    """OpCooperativeMatrixReduceNV; a function combines two elements."""
    matrix = matrix_type(op.value)
    if "reductions" not in e.facts.device.matrix2:
        raise NoForm(
            f"{e.facts.device.name} has no reductions of matrices: {LEGALIZE} lets its "
            "lanes do it"
        )
    halves = op.axis.data is Reduced.QUADS
    if halves != (op.broadcast is None) or matrix.use.data is not Use.ACC:
        raise NoForm(
            f"expected {'no ' * halves}broadcast and a matrix of use acc, as SPIR-V "
            f"reduces no other, got {matrix}: {LEGALIZE} lets lanes reduce it"
        )
    element = e.types.number(matrix.element_type)
    sign = " signed" if op.signed is not None else ""
    name = f"{op.kind.data}{sign} of {matrix.element_type}"
    function = e.whole.emitted.get(name)
    if function is None:
        inner = _begin(e, f"combine_{op.kind.data}", element, [element, element])
        function = e.whole.emitted[name] = inner.function
        pair = [inner.standing(matrix.element_type, id) for id in function.parameters]
        with inner.beside() as code:
            _end(inner, code(reduction(op)(*pair)))
    id = e.emit(
        f"OpCooperativeMatrixReduce{e.facts.device.matrix2_vendor}",
        e.value(op.value),
        _MODES[op.axis.data],
        function.id,
        type=e.types.matrix(matrix_type(op.result)),
    )
    e.set(op.result, id)


@handlers.on(coopmatrix.TransposeOp)
def transpose(e: Emission, op: coopmatrix.TransposeOp) -> None:
    """OpCooperativeMatrixTransposeNV, or a decorated conversion of the use."""
    before, after = matrix_type(op.value), matrix_type(op.result)
    device = e.facts.device
    if rows_move(op, device):
        e.set(op.result, through_lanes(e, e.value(op.value), before, after))
        return
    if not device.changes_use(before.use.data, after.use.data, transposing=True):
        raise NoForm(
            f"{device.name} has no transposition of {before} to {after}: {LEGALIZE} "
            "lets lanes do it"
        )
    is_own = device.matrix2_vendor == "NV"
    name = "TransposeNV" if is_own else "ConvertUseEXT"
    type = e.types.matrix(after)
    id = e.emit(f"OpCooperativeMatrix{name}", e.value(op.value), type=type)
    if not is_own:
        e.module.decorate(id, "CooperativeMatrixTransposeEXT")
    e.set(op.result, id)


@handlers.on(coopmatrix.ApplyOp)
def apply(e: Emission, op: coopmatrix.ApplyOp) -> None:
    """OpCooperativeMatrixPerElementOpNV; the body is a function."""
    if "per-element operations" not in e.facts.device.matrix2:
        raise NoForm(
            f"{e.facts.device.name} has no instruction for it: {LEGALIZE} makes it "
            "loops over elements"
        )
    matrix = matrix_type(op.result)
    outside = {value: _ids(e, value) for value in captured(op.body)}
    operands = [id for ids in outside.values() for id in ids if not is_global(id)]
    element, u32 = e.types.number(matrix.element_type), e.types.u32
    types = [u32, u32, element, *(id.type for id in operands)]
    inner = _begin(e, "element", element, types)
    row, col, value, *rest = inner.function.parameters
    given = iter(rest)
    for outer, ids in outside.items():
        seen = [id if is_global(id) else next(given) for id in ids]
        inner.set(outer, _seen(e, outer, seen))
    body = op.body.block
    for argument, id in zip(body.args, (row, col), strict=False):
        inner.set(argument, inner.index.narrow(id))
    inner.set(body.args[2], value)
    (result,) = inner.block(body).operands
    _end(inner, result)
    id = e.emit(
        f"OpCooperativeMatrixPerElementOp{e.facts.device.matrix2_vendor}",
        e.value(op.value),
        inner.function.id,
        *operands,
        type=e.types.matrix(matrix),
    )
    e.set(op.result, id)


@handlers.on(coopmatrix.CoordOp)
def coord(e: Emission, op: coopmatrix.CoordOp) -> None:
    """OpCooperativeMatrixGetCoordinateEXT."""
    if "coordinates" not in e.facts.device.matrix2:
        raise NoForm(
            f"{e.facts.device.name} has no instruction for the place of an element: "
            f"{LEGALIZE} loads matrices of rows and columns"
        )
    u32 = e.types.u32
    pair = e.emit(
        "OpCooperativeMatrixGetCoordinateEXT",
        e.value(op.matrix),
        e.value(op.index),
        type=e.types.vector(u32, 2),
    )
    for at, result in enumerate(op.results):
        id = e.emit("OpCompositeExtract", pair, at, type=u32)
        e.set(result, e.index.narrow(id))


def _ids(e: Emission, value: SSAValue) -> list[Id]:
    """What a number, or a memref, is made of."""
    if not is_memref(value.type):
        return list(e.parts(value))
    view = e.view(value)
    numbers = e.index.open_numbers(view, Form.of(value.type))
    return [view.base, *map(e.index.value, numbers)]


def _seen(e: Emission, value: SSAValue, ids: Sequence[Id]) -> tuple[Id, ...] | View:
    """What a number, or a memref, is in a function that is given these."""
    if not is_memref(value.type):
        return tuple(ids)
    base, *numbers = ids
    at = replace(e.view(value), base=base)
    return Form.of(value.type).opened(at, numbers)


def is_global(id: Id) -> bool:
    """Whether all functions see it: a constant, or a variable of the module."""
    assert id.definition is not None, id
    name, operands = id.definition.facts.name, id.definition.operands
    is_variable = name == "OpVariable" and operands[0] != "Function"
    return is_variable or name.startswith(("OpConstant", "OpSpecConstant"))


def _begin(e: Emission, name: str, result: Id, parameters: Sequence[Id]) -> Emission:
    type = e.module.type("OpTypeFunction", result, *parameters)
    function = e.module.function(result, type, name=name)
    return Emission(e.whole, function, subgroup_size=e.subgroup_size)


def _end(e: Emission, result: SSAValue) -> None:
    e.do("OpReturnValue", e.value(result))
    e.finish()
