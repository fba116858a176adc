"""Programs are compared in every form that passes give their functions."""

from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from coopc.compiler import new_context
from coopc.dialects import coopmatrix
from coopc.ir.control_flow import functions
from coopc.parsing import parse
from coopc.pipeline import Observer, Run, read_passes
from coopc.source import Source
from coopc.universe import everything
from coopc.validate.forms import FunctionForm, form_of
from coopc.validate.inputs import Contract, slots_of, tiles_of
from coopc.validate.step import Mismatch, Validator

EXAMPLES = Path(__file__).parents[3] / "examples"
GEMM = (EXAMPLES / "gemm.mlir").read_text()
MATMUL = (EXAMPLES / "matmul.mlir").read_text()
UNIVERSE = everything()


class Steps(Observer):
    """Compares each step, and may change the module after the last."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.found: list[Mismatch] = []

    def start(self, module: ModuleOp) -> None:
        self.validator = Validator(module.clone())

    def after(self, step: object, module: ModuleOp, last: bool) -> None:
        found = self.validator.mismatch(module.clone(), self.said.append)
        self.found += [] if found is None else [found]


def run(text: str, pipeline: str) -> tuple[ModuleOp, Steps]:
    ctx, source, steps = new_context(UNIVERSE), Source(text, "text"), Steps()
    module = parse(ctx, source)
    passes = read_passes(pipeline, UNIVERSE.all_passes)
    Run(ctx, source, observers=(steps,)).apply(module, passes)
    return module, steps


def not_compared(said: list[str]) -> list[str]:
    return [line for line in said if "not compared" in line]


def first(module: ModuleOp, wanted: type[Operation], name: str = "") -> Operation:
    return next(
        op
        for func in module.ops
        if isinstance(func, FuncOp) and func.sym_name.data.endswith(name)
        for op in func.walk()
        if isinstance(op, wanted)
    )


def test_a_loss_in_whole_tiles_only_is_found() -> None:
    """The stores of whole tiles of C run at sizes of a tile and more."""
    module, steps = run(MATMUL, "tile-matmul-khr{device=nvidia}")
    assert steps.found == []
    assert steps.said == []
    before = module.clone()
    inside = [
        op
        for op in module.walk()
        if isinstance(op, coopmatrix.StoreOp) and op.checked is None
    ]
    assert inside
    for store in inside:
        store.detach()
        store.erase()
    found = Validator(before).mismatch(module)
    assert found is not None
    assert found.argument == "argument 2 (%c)"


def test_operations_that_no_input_reaches_are_told() -> None:
    text = """
    func.func @f(%x: memref<4xi32>) {
      %c0 = arith.constant 0 : index
      %never = arith.constant false
      %v = memref.load %x[%c0] : memref<4xi32>
      scf.if %never {
        %w = arith.addi %v, %v : i32
        memref.store %w, %x[%c0] : memref<4xi32>
      }
      func.return
    }
    """
    _, steps = run(text, "check-dominance")
    assert steps.found == []
    (said,) = steps.said
    assert said.startswith("@f: memref.store at loc(")
    assert said.endswith("and 2 other operations never ran")


LOADS = """
func.func @f(%x: memref<8x16xf32>, %y: memref<8x16xf32>) attributes {
    simt.kernel, simt.subgroup_size = 16 : i32,
    simt.grid = affine_map<() -> (2)>} {
  %c0 = arith.constant 0 : index
  %g = simt.workgroup_id x : index
  %c8 = arith.constant 8 : index
  %at = arith.muli %g, %c8 : index
  %m = coopmatrix.load %x[%c0, %at] row_major
    : memref<8x16xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %n = coopmatrix.add %m, %m : !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %n, %y[%c0, %at] row_major
    : !coopmatrix.matrix<8x8xf32, acc>, memref<8x16xf32>
  func.return
}
"""


def drop_work_group(module: ModuleOp) -> None:
    """Begin the loop over work-groups one too late."""
    loop = first(module, scf.ForOp)
    one = arith.ConstantOp.from_int_and_width(1, IndexType())
    block = loop.parent
    assert block is not None
    late = arith.AddiOp(loop.operands[0], one.result)
    block.insert_ops_before([one, late], loop)
    loop.operands[0] = late.result


def drop_store(module: ModuleOp) -> None:
    """Lose all that the last stage stores."""
    for name in ("amx.tile_store", "vector.store", "vector.transfer_write"):
        func = functions(module)["matmul.multiply"]
        for op in list(func.walk()):
            if op.name == name:
                op.detach()
                op.erase()


def drop_packing(module: ModuleOp) -> None:
    """Pack nothing."""
    store = first(module, memref.StoreOp, "gemm.pack")
    store.detach()
    store.erase()


def swap_packed(module: ModuleOp) -> None:
    """Take the packed operand from another place."""
    load = next(
        op
        for op in functions(module)["f"].walk()
        if isinstance(op, coopmatrix.LoadOp)
        and op.layout.data is coopmatrix.Layout.PACKED
    )
    one = arith.ConstantOp.from_int_and_width(1, IndexType())
    block = load.parent
    assert block is not None
    block.insert_op_before(one, load)
    load.operands[1] = one.result


PACKED = """
func.func @f(%a: memref<16x32xf16>, %b: memref<{b}>, %c: memref<16x16xf32>)
    attributes {{simt.kernel, simt.subgroup_size = 16 : i32,
                 simt.grid = affine_map<{grid}>}} {{
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major
    : memref<16x32xf16> -> !coopmatrix.matrix<16x32xf16, a>
  %y = coopmatrix.load %b[%0, %0] {order}
    : memref<{b}> -> !coopmatrix.matrix<32x16xf16, b>
  %z = coopmatrix.load %c[%0, %0] row_major
    : memref<16x16xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  %r = coopmatrix.mul_add %x, %y, %z : !coopmatrix.matrix<16x32xf16, a>,
    !coopmatrix.matrix<32x16xf16, b>, !coopmatrix.matrix<16x16xf32, acc>
  coopmatrix.store %r, %c[%0, %0] row_major
    : !coopmatrix.matrix<16x16xf32, acc>, memref<16x16xf32>
  func.return
}}
"""
ROWS = PACKED.format(b="64x16xf16", grid="() -> (1)", order="row_major")
COLUMNS = PACKED.format(b="16x64xf16", grid="() -> (1)", order="col_major")
SMALL = MATMUL.replace("?x?", "16x16")
PACK = "pack-coopmatrix-b{device=intel-cpu kernel=true}"


@pytest.mark.parametrize(
    ("text", "pipeline", "mistake"),
    [
        (LOADS, "coopc-cpu", drop_work_group),
        (SMALL, "coopc-amx", drop_store),
        (GEMM, "coopc-amx", drop_packing),
        (ROWS, PACK, swap_packed),
        (COLUMNS, PACK, swap_packed),
    ],
    ids=["loops", "stages", "packing", "packed rows", "packed columns"],
)
def test_forms(text: str, pipeline: str, mistake: Callable[[ModuleOp], None]) -> None:
    module, steps = run(text, pipeline)
    assert steps.found == []
    said = not_compared(steps.said)
    assert [line for line in said if "on real inputs" not in line] == []
    mistake(module)
    found = steps.validator.mismatch(module, lambda _: None)
    assert found is not None


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("element", ["bf16", "i8"])
def test_steps_of_amx_stay_inside_of_what_they_pack(element: str, threads: int) -> None:
    """Slabs of several steps are packed, and the last step is a partial one."""
    total = "f32" if element == "bf16" else "i32"
    text = f"""
    func.func @f(%a: memref<16x600x{element}>, %b: memref<600x64x{element}>,
                 %c: memref<16x64x{total}>) {{
      linalg.matmul ins(%a, %b : memref<16x600x{element}>, memref<600x64x{element}>)
                    outs(%c : memref<16x64x{total}>)
      func.return
    }}
    """
    _, steps = run(text, f"tile-matmul-amx{{threads={threads}}}")
    assert steps.found == []
    assert not_compared(steps.said) == []


def test_a_program_that_is_in_stages_already() -> None:
    """Who gives the stages their memory is not in the module: so it is said."""
    module, _ = run(GEMM, "coopc-amx")
    said: list[str] = []
    assert Validator(module.clone()).mismatch(module, said.append) is None
    (why,) = not_compared(said)
    assert why == (
        "@gemm is not compared: the memory that its stages share is among its arguments"
    )


def test_memory_of_vectors_is_compared() -> None:
    text = LOADS.replace("memref<8x16xf32>", "memref<8x4xvector<4xf32>>")
    text = text.replace("%c8 = arith.constant 8", "%c2 = arith.constant 2")
    text = text.replace("%at = arith.muli %g, %c8", "%at = arith.muli %g, %c2")
    _, steps = run(text, "canonicalize")
    assert (steps.found, steps.said) == ([], [])


def test_inputs_keep_the_conditions_of_the_interface() -> None:
    _, steps = run(GEMM, "coopc-xe{device=bmg any=false}")
    assert steps.found == []
    assert [x for x in not_compared(steps.said) if "real inputs" not in x] == []


def contract(attributes: str) -> tuple[Contract, FunctionForm]:
    text = f"""
    func.func @f(%a: memref<?x?xf16>, %b: memref<?x64xf16>) attributes {{
      simt.kernel, simt.grid = affine_map<
        (m, k, k1) -> (m ceildiv 32, (k1 + 7) floordiv 8)>, {attributes}}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %k = memref.dim %a, %c1 : memref<?x?xf16>
      %steps = arith.ceildivsi %k, %c4 : index
      scf.for %i = %c0 to %steps step %c4 {{ }}
      func.return
    }}
    """
    module = parse(new_context(UNIVERSE), Source(text, "text"))
    func = functions(module)["f"]
    form = form_of(func, module, {})
    assert isinstance(form, FunctionForm)
    return Contract.of(func, (form,), any_memory=False), form


def test_sizes_keep_conditions_and_equal_sizes() -> None:
    found, _ = contract(
        "simt.equal_sizes = [array<i64: 1, 0, 0, 1>], simt.conditions = ["
        '{argument = 0 : i64, what = "size", dimension = 1 : i64, '
        'multiple_of = 8 : i64, at_least = 20 : i64, why = "w"}]'
    )
    assert found.fitted((5, 17, 3)) == (5, 24, 24)
    assert found.fitted((5, 25, 64)) == (5, 32, 32)
    first, *both = slots_of(found.func)
    equal = found.equal()
    assert [equal[x] for x in (first, *both)] == [{first}, {*both}, {*both}]


def test_equal_to_a_size_that_is_known() -> None:
    found, _ = contract("simt.equal_sizes = [array<i64: 1, 1, 0, 1>]")
    assert found.fitted((5, 17, 3)) == (5, 64, 3)


def test_tiles() -> None:
    found, form = contract("simt.equal_sizes = [array<i64: 1, 0, 0, 1>]")
    assert tiles_of(found, (form,)) == {0: 32, 1: 16, 2: 16}
    found, form = contract("simt.subgroup_size = 8 : i32")
    assert tiles_of(found, (form,)) == {0: 32, 1: 16, 2: 8}
