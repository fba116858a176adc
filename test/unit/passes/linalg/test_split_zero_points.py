"""Products of integers less zero points: the same before and after, to the last bit."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coopc
from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.passes.linalg.generalize_linalg import GeneralizeLinalgPass
from coopc.passes.linalg.split_zero_points import SplitZeroPointsPass
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

Arrays = list[Any]
SIZES = {"b": 2, "m": 3, "n": 5, "k": 4, "l": 2}
KINDS = ("none", "constant", "number", "rank 0", "per row", "per column")


def memref_of(dims: str, element: str, dynamic: bool) -> str:
    sizes = "".join("?x" if dynamic else f"{SIZES[x]}x" for x in dims)
    return f"tensor<{sizes}{element}>"


@st.composite
def sums(draw: st.DrawFn) -> tuple[str, Arrays]:
    """A function of a sum, and arguments: batches, several loops of K, transposes."""
    batch, more = draw(st.sampled_from(["", "b"])), draw(st.sampled_from(["", "l"]))
    a = "".join(draw(st.permutations(batch + "mk" + more)))
    b = "".join(draw(st.permutations(batch + "kn" + more)))
    c = "".join(draw(st.permutations(batch + "mn")))
    dynamic = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    inputs, maps, types, names = list[str](), list[str](), list[str](), list[str]()
    arrays, lines, given_ = Arrays(), "", list[tuple[str, str]]()

    def add(name: str, dims: str, element: str, array: Any) -> None:
        names.append(name)
        maps.append(dims)
        types.append(memref_of(dims, element, dynamic))
        inputs.append(f"%v_{name[1:]}: {element}")
        given_.append((name, types[-1]))
        arrays.append(array)

    for name, dims in (("%a", a), ("%b", b)):
        shape = [SIZES[x] for x in dims]
        add(name, dims, "i8", rng.integers(-128, 128, shape).astype(np.int8))
    for name in ("a", "b"):
        extend = draw(st.sampled_from(["extsi", "extui"]))
        lines += f"\n    %e_{name} = arith.{extend} %v_{name} : i8 to i32"
        kind = draw(st.sampled_from(KINDS))
        zero = f"%z_{name}"
        if kind == "none":
            lines += f"\n    %f_{name} = arith.addi %e_{name}, %none : i32"
            lines = lines.replace(f"%f_{name} = arith.addi %e_{name}, %none : i32", "")
            continue
        if kind == "constant":
            lines += (
                f"\n    %k_{name} = arith.constant {draw(st.integers(-9, 9))} : i32"
            )
            zero = f"%k_{name}"
        elif kind == "number":
            given_.append((zero, "i32"))
            arrays.append(draw(st.integers(-(2**31), 2**31 - 1)))
        else:
            dims = {"rank 0": "", "per row": batch + "m", "per column": "n"}[kind]
            shape = [SIZES[x] for x in dims]
            array = rng.integers(-(2**31), 2**31, shape).astype(np.int32)
            add(zero, dims, "i32", array)
            zero = f"%v_z_{name}"
        lines += f"\n    %d_{name} = arith.subi %e_{name}, {zero} : i32"
    factors = ["%d_" + x if f"%d_{x} " in lines else "%e_" + x for x in "ab"]
    if draw(st.booleans()):
        factors.reverse()
    loops = c + "k" + more
    of = ", ".join(
        f"affine_map<({', '.join(loops)}) -> ({', '.join(x)})>" for x in [*maps, c]
    )
    iterators = ", ".join('"parallel"' if x in c else '"reduction"' for x in loops)
    result = memref_of(c, "i32", dynamic)
    arguments = ", ".join(f"{name}: {type}" for name, type in given_)
    text = f"""func.func @f({arguments}, %c: {result}) -> {result} {{
  %r = linalg.generic {{indexing_maps = [{of}], iterator_types = [{iterators}]}}
      ins({", ".join(names)} : {", ".join(types)}) outs(%c : {result}) {{
  ^bb0({", ".join(inputs)}, %o: i32):{lines}
    %p = arith.muli {", ".join(factors)} : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  }} -> {result}
  func.return %r : {result}
}}"""
    shape = [SIZES[x] for x in c]
    arrays.append(rng.integers(-(2**31), 2**31, shape).astype(np.int32))
    return text, arrays


@settings(max_examples=60)
@given(sums())
def test_sums_are_the_same(case: tuple[str, Arrays]) -> None:
    text, arguments = case
    ctx = new_context(everything())
    found: list[Any] = []
    for passes in ((), (GeneralizeLinalgPass(), SplitZeroPointsPass())):
        module = parse(ctx, Source(text))
        for each in passes:
            each.apply(ctx, module)
        module.verify()
        (result,) = simulate(module, "f", [np.copy(x) for x in arguments]).results
        found.append(result)
        is_zero = "%d_" not in text
        is_split = str(module).count("linalg.generic") > 1
        assert is_zero or is_split == bool(passes) or "constant 0 " in text
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("on", ["cpu", "vulkan"])
def test_images_less_a_zero_point(on: Any) -> None:
    """The convolution of a quantized network: matrices multiply, rows are corrected."""
    rng = np.random.default_rng(0)
    x = rng.integers(-128, 128, (1, 9, 8, 16)).astype(np.int8)
    w = rng.integers(-128, 128, (3, 3, 16, 24)).astype(np.int8)
    y = np.zeros((1, 7, 6, 24), np.int32)
    text = """func.func @f(%x: memref<1x9x8x16xi8>, %w: memref<3x3x16x24xi8>,
        %z: i32, %y: memref<1x7x6x24xi32>) {
      %none = arith.constant 0 : i32
      linalg.fill ins(%none : i32) outs(%y : memref<1x7x6x24xi32>)
      linalg.conv_2d_nhwc_hwcf_q
          ins(%x, %w, %z, %none : memref<1x9x8x16xi8>, memref<3x3x16x24xi8>, i32, i32)
          outs(%y : memref<1x7x6x24xi32>)
      return
    }"""
    coopc.launch(text, x, w, -11, y, on=on)
    windows = np.lib.stride_tricks.sliding_window_view(x + np.int32(11), (3, 3), (1, 2))
    np.testing.assert_array_equal(
        y, np.einsum("nhwcij,ijcf->nhwf", windows, w + 0 * y[0, 0, 0, 0])
    )
