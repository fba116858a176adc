"""Long reductions in two: how loops are chosen, and that numbers are the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.linalg.ops import GenericOp

import coopc
from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.passes.linalg import split_reductions
from coopc.passes.linalg.rows import sizes_of
from coopc.passes.linalg.split_reductions import Split, SplitReductionsPass, split_of
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

COMBINERS: dict[str, tuple[str, str, np.ufunc]] = {
    "addf": ("f32", "f4", np.add),
    "mulf": ("f64", "f8", np.multiply),
    "maximumf": ("f32", "f4", np.maximum),
    "minimumf": ("f16", "f2", np.minimum),
    "maxnumf": ("f32", "f4", np.fmax),
    "minnumf": ("f64", "f8", np.fmin),
    "addi": ("i32", "i4", np.add),
    "muli": ("i64", "i8", np.multiply),
    "maxsi": ("i8", "i1", np.maximum),
    "minsi": ("i32", "i4", np.minimum),
    "maxui": ("i16", "u2", np.maximum),
    "minui": ("i32", "u4", np.minimum),
    "andi": ("i32", "i4", np.bitwise_and),
    "ori": ("i16", "i2", np.bitwise_or),
    "xori": ("i64", "i8", np.bitwise_xor),
}
"""The type of elements, that of numpy, and the function."""


def program(
    shape: tuple[int, ...],
    reduced: tuple[int, ...],
    combiner: str = "addf",
    type: str = "f32",
    dynamic: tuple[int, ...] = (),
) -> str:
    def tensor(dims: list[int]) -> str:
        sizes = ["?" if n in dynamic else str(shape[n]) for n in dims]
        return f"tensor<{'x'.join([*sizes, type])}>"

    every = [*range(len(shape))]
    kept = [n for n in every if n not in reduced]
    loops, out = (", ".join(f"d{n}" for n in x) for x in (every, kept))
    kinds = ", ".join('"reduction"' if n in reduced else '"parallel"' for n in every)
    x, y = tensor(every), tensor(kept)
    return f"""
func.func @f(%x: {x}, %init: {y}) -> {y} {{
  %s = linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({loops})>,
                                         affine_map<({loops}) -> ({out})>],
                        iterator_types = [{kinds}]}} ins(%x : {x}) outs(%init : {y}) {{
  ^bb0(%a: {type}, %b: {type}):
    %c = arith.{combiner} %a, %b : {type}
    linalg.yield %c : {type}
  }} -> {y}
  func.return %s : {y}
}}"""


@pytest.mark.parametrize(
    ("shape", "reduced", "dynamic", "parts", "wanted"),
    [
        ((4096, 4096), (0, 1), (), 4096, Split((0,))),
        ((4096, 4096), (0, 1), (), 64, Split((), (0, 64))),
        ((6, 10, 65536), (0, 1, 2), (), 4096, Split((0, 1), (2, 64))),
        ((1 << 20,), (0,), (), 4096, Split((), (0, 4096))),
        ((32, 16, 64, 64), (0, 1, 2), (), 4096, Split((0, 1))),
        ((2, 1 << 20), (1,), (), 4096, Split((), (1, 2048))),
        ((1 << 20, 2), (0,), (), 4096, Split((), (0, 16384))),
        ((7, 9), (0, 1), (0, 1), 4096, Split((0,))),
        ((7, 99), (0, 1), (0,), 4096, Split((0,))),
        ((3, 7, 99), (0, 1, 2), (1,), 4096, Split((0, 1))),
        ((1, 1, 1 << 20), (0, 1, 2), (), 4096, Split((0, 1), (2, 4096))),
        ((4096, 4096), (1,), (), 4096, "it has 1 parts only"),
        ((64, 64), (0, 1), (), 4096, "it is of 4096 elements only"),
        ((0, 1 << 20), (0, 1), (), 4096, "it is of 0 elements only"),
        ((1048583,), (0,), (), 4096, "it has 1 parts only"),
        ((9, 7), (1,), (0, 1), 4096, "the number of results is not known"),
        (
            (7, 9),
            (1,),
            (1,),
            4096,
            "the loops behind the first of a dynamic size are short",
        ),
        (
            (9, 7),
            (0, 1),
            (0,),
            4096,
            "the loops behind the first of a dynamic size are short",
        ),
    ],
)
def test_loops(
    shape: tuple[int, ...],
    reduced: tuple[int, ...],
    dynamic: tuple[int, ...],
    parts: int,
    wanted: Split | str,
) -> None:
    text = program(shape, reduced, dynamic=dynamic)
    module = parse(new_context(everything()), Source(text))
    (op,) = (x for x in module.walk() if isinstance(x, GenericOp))
    assert split_of(op, sizes_of([op]), SplitReductionsPass(parts)) == wanted


@st.composite
def reductions(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], list[int]]:
    """Shapes, what is reduced of them, and which sizes are dynamic."""
    sizes = st.sampled_from([1, 2, 3, 4, 6, 8, 16, 30])
    shape = tuple(draw(st.lists(sizes, min_size=1, max_size=4)))
    every = range(len(shape))
    reduced = draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    dynamic = draw(st.lists(st.sampled_from(sorted(reduced)), unique=True))
    return shape, tuple(sorted(reduced)), dynamic


@settings(max_examples=200)
@given(
    reductions(),
    st.sampled_from([*COMBINERS]),
    st.sampled_from([2, 16, 4096]),
    st.integers(0, 99),
)
def test_numbers(
    case: tuple[tuple[int, ...], tuple[int, ...], list[int]],
    combiner: str,
    parts: int,
    seed: int,
) -> None:
    """Small tensors are split, too, where the limits are as low as they may be."""
    shape, reduced, dynamic = case
    type, dtype, combine = COMBINERS[combiner]
    random = np.random.default_rng(seed)
    numbers = [-1, 1] if combiner.startswith("mul") else [-3, -1, 0, 2, 3]
    if combiner.endswith("f") and combiner.startswith("m") and seed % 2:
        numbers = [*numbers, np.nan]
    kept = tuple(n for at, n in enumerate(shape) if at not in reduced)
    x, init = (
        random.choice(np.array(numbers), y).astype("f8" if dtype[0] == "f" else "i8")
        for y in (shape, kept)
    )
    x, init = (y.astype(dtype, casting="unsafe") for y in (x, init))
    ctx = new_context(everything())
    module = parse(ctx, Source(program(shape, reduced, combiner, type, tuple(dynamic))))
    with pytest.MonkeyPatch.context() as patch:
        for limit in ("LEAST_PARTS", "ENOUGH"):
            patch.setattr(split_reductions, limit, 1)
        SplitReductionsPass(parts, least=1).apply(ctx, module)
    module.verify()
    found = np.asarray(simulate(module, "f", [x, init]).results[0]).view(dtype)
    wanted = combine(combine.reduce(x, axis=reduced), init)
    np.testing.assert_array_equal(found.reshape(kept), wanted)


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_narrow_sums(type: str) -> None:
    """Sums of f16 and bf16 are exact as far as those of f32 are, also above 65504."""
    text = program((512, 1024), (0, 1), type=type)
    x = np.full((512, 1024), 0.25 if type == "f16" else 1, np.float32)
    x[::2] *= -1
    x[0, :7] = 1
    kernel = coopc.load(text, on="cpu")
    if type == "f16":
        found = kernel.run(x.astype(np.float16), np.float16(3).reshape(())).arrays[-1]
        assert found == np.float16(x.sum(dtype=np.float64) + 3)
        return
    bits = (x.view(np.uint32) >> 16).astype(np.uint16)
    found = kernel.run(bits, np.array(0x4040, np.uint16)).arrays[-1]
    total = np.float32(x.sum(dtype=np.float64) + 3)
    assert found.astype(np.uint32)[()] << 16 == total.view(np.uint32)


@pytest.mark.parametrize(("size", "kernels"), [(1024, 3), (512, 1)])
def test_what_is_stored_by_its_own_kernel(size: int, kernels: int) -> None:
    """Elements of a long row are not for the one work-group that reduces it."""
    text = """
      #m = affine_map<(i, j) -> (i, j)>
      #s = affine_map<(i, j) -> ()>
      func.func @f(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
        %zero = arith.constant 0.0 : f32
        %e = tensor.empty() : tensor<f32>
        %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
        %s = linalg.generic {indexing_maps = [#m, #s],
            iterator_types = ["reduction", "reduction"]}
            ins(%x : tensor<1024x1024xf32>) outs(%z : tensor<f32>) {
        ^bb0(%a: f32, %b: f32):
          %c = arith.addf %a, %b : f32
          linalg.yield %c : f32
        } -> tensor<f32>
        %o = tensor.empty() : tensor<1024x1024xf32>
        %r = linalg.generic {indexing_maps = [#m, #s, #m],
            iterator_types = ["parallel", "parallel"]}
            ins(%x, %s : tensor<1024x1024xf32>, tensor<f32>)
            outs(%o : tensor<1024x1024xf32>) {
        ^bb0(%a: f32, %b: f32, %c: f32):
          %d = arith.subf %a, %b : f32
          linalg.yield %d : f32
        } -> tensor<1024x1024xf32>
        func.return %r : tensor<1024x1024xf32>
      }"""
    kernel = coopc.load(text.replace("1024", str(size)), on="cpu")
    x = np.random.default_rng(0).integers(-3, 4, (size, size)).astype(np.float32)
    found = kernel.run(x, np.empty_like(x)).arrays[-1]
    assert np.array_equal(found, x - x.sum())
    assert [len(x.steps) for x in kernel.interface if x.steps] == [kernels]
