"""Whole kernels as Triton prints them are read, verified and printed again."""

from pathlib import Path

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from coopc.compiler import new_context
from coopc.dialects import tt, ttg
from coopc.dialects.tt.types import ModuleFacts, block_io, dpas_of, layout_of
from coopc.parsing import parse
from coopc.pipeline import verify
from coopc.source import Source
from coopc.universe import everything

ROOT = Path(__file__).parents[3]
INPUTS = ROOT / "test" / "inputs" / "ttgir"
DUMPS = sorted((ROOT / "test" / "inputs" / "triton").glob("*.tt*ir"))
KERNELS = sorted([*INPUTS.glob("*.ttgir"), *(ROOT / "examples").glob("*.ttgir")])


def read(text: str, name: str = "kernel") -> ModuleOp:
    module = parse(new_context(everything()), Source(text, name))
    verify(module)
    return module


def of_type(module: ModuleOp, kind: type[Operation]) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, kind)]


def test_there_are_kernels() -> None:
    assert len(KERNELS) >= 10
    assert len(DUMPS) == 78


@pytest.mark.parametrize("path", [*KERNELS, *DUMPS], ids=lambda path: path.name)
def test_round_trip(path: Path) -> None:
    module = read(path.read_text(), path.name)
    again = read(str(module))
    assert str(again) == str(module)
    assert module.is_structurally_equivalent(again)


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_a_kernel(path: Path) -> None:
    """One kernel of the file's name, with a loop."""
    module = read(path.read_text())
    (func,) = of_type(module, tt.FuncOp)
    assert isinstance(func, tt.FuncOp)
    assert func.is_kernel
    assert func.sym_name.data == path.stem
    assert of_type(module, scf.ForOp)
    has_products = "gemm" in path.stem or "attention" in path.stem
    assert bool(of_type(module, tt.DotOp)) == has_products
    assert ModuleFacts.of(func).threads_per_warp == (16 if has_products else 32)


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_products(path: Path) -> None:
    """Dots are DPAS of 16 lanes."""
    module = read(path.read_text())
    for dot in of_type(module, tt.DotOp):
        encoding = dpas_of(dot.results[0].type)
        assert encoding is not None
        for value, operand in zip(dot.operands, "abc", strict=True):
            assert dpas_of(value.type) == encoding
            layout = layout_of(value.type)
            assert layout.is_surjective, operand


def test_attention_moves_the_weights() -> None:
    module = read((INPUTS / "flash_attention_fwd.ttgir").read_text())
    first, second = of_type(module, tt.DotOp)
    (convert,) = of_type(module, ttg.ConvertLayoutOp)
    assert second.operands[0].owner is convert
    reductions = of_type(module, tt.ReduceOp)
    combined = [op.combiner for op in reductions if isinstance(op, tt.ReduceOp)]
    assert [op.name for op in combined if op] == ["arith.maxnumf", "arith.addf"]
    loads = of_type(module, tt.DescriptorLoadOp)
    orders = [block_io(op) for op in loads]
    assert orders == ["row_major", "column_major", "row_major"]
    assert first.operands[1].owner is loads[1]
