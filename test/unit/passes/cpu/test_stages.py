"""The attribute `cpu.kernels`: what is written is what is read."""

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DictionaryAttr,
    MemRefType,
    ModuleOp,
    f32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir.affine import AffineMap

from coopc.passes.cpu.stages import KERNELS, Stages, map_of_sizes


def test_written_stages_are_read() -> None:
    grid = AffineMap.from_callable(lambda m, n: (m.ceil_div(2), n))
    size = AffineMap.from_callable(lambda m, n: (m, n, 4))
    found = Stages((("f.pack", grid), ("f", None)), ((size, grid),))
    module = ModuleOp([], {KERNELS: DictionaryAttr({"f": found.attr})})
    assert Stages.of(module) == {"f": found}


def test_module_without_the_attribute_has_no_stages() -> None:
    assert Stages.of(ModuleOp([])) == {}


def test_map_of_sizes_folds_constants() -> None:
    func = FuncOp("f", ([MemRefType(f32, [DYNAMIC_INDEX, 8])], []))
    rows = AffineMap.identity(1).results[0]
    number = map_of_sizes(func, 6).results[0]
    found = map_of_sizes(func, rows.ceil_div(4), number.ceil_div(4), 3)
    assert str(found) == "(d0) -> ((d0 ceildiv 4), 2, 3)"
    assert found.eval([9], []) == (3, 2, 3)
