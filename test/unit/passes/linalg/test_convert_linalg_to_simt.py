"""Kernels of rows: before and after the pass, against numpy, then on drivers."""

from typing import Any

import numpy as np
import pytest
from support.row_programs import PROGRAMS, RowProgram

import coopc
from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run.arguments import copied as copied_array
from coopc.sim.simulate import Options, simulate
from coopc.sim.tracked import Inputs
from coopc.source import Source
from coopc.universe import everything
from coopc.validate.compare import compare

Array = np.ndarray[Any, Any]
Found = list[tuple[Array, Array | None]]
"""What arguments are, and bounds of their errors."""
PLACES = {
    "cpu": ("cpu", None, None),
    "amx": ("cpu", None, "coopc-amx"),
    "vulkan": ("vulkan", None, None),
    "opencl": ("opencl", None, None),
    "bmg": ("opencl", "bmg", None),
    "lanes": ("vulkan", None, "coopc-lanes{device=lavapipe}"),
}
"""Where kernels run, the device, and the pipeline."""
SIZES = [(32, 64), (7, 77), (5, 3), (1, 1)]
BY_NAME = pytest.mark.parametrize("program", PROGRAMS, ids=[x.name for x in PROGRAMS])


def copied(arguments: list[Array]) -> list[Any]:
    """Arguments in memory of their own, with the strides that they have."""
    return [copied_array(x) if isinstance(x, np.ndarray) else x for x in arguments]


def simulated(text: str, passes: str, arguments: list[Array]) -> Found:
    source, universe = Source(text, "test"), everything()
    ctx = new_context(universe)
    module = parse(ctx, source)
    Run(ctx, source).apply(module, read_passes(passes, universe.all_passes))
    given = copied(arguments)
    found = simulate(module, "f", given, Options(track=Inputs.REAL))
    return [
        (x, bound)
        for x, bound in zip(given, found.errors, strict=True)
        if isinstance(x, np.ndarray)
    ]


def same(found: Array, expected: Array, *bounds: Array | None) -> None:
    bound = sum((x for x in bounds if x is not None), np.zeros(found.shape))
    difference = compare(found, expected, bound=bound)
    assert difference.ok, difference


def inputs(program: RowProgram, r: int, c: int) -> list[Array]:
    return list(program.arguments(np.random.default_rng(r + 100 * c), r, c))


def check(program: RowProgram, text: str, arguments: list[Array], passes: str) -> Found:
    """Compare what a function gives before passes, after them and in numpy."""
    before = simulated(text, "", arguments)
    after = simulated(text, passes, arguments)
    for (one, bound), (other, other_bound) in zip(before, after, strict=True):
        same(other, one, bound, other_bound)
    exact = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in arguments]
    with np.errstate(all="ignore"):
        wanted = program.expected(exact)
    for (one, bound), expected in zip(before[-len(wanted) :], wanted, strict=True):
        wide = one.astype(np.float64) if one.dtype.kind == "f" else one
        same(wide, np.asarray(expected).astype(wide.dtype), bound)
    return after


@BY_NAME
@pytest.mark.parametrize(("r", "c"), SIZES)
@pytest.mark.parametrize("static", [True, False])
def test_rows(program: RowProgram, r: int, c: int, static: bool) -> None:
    text = program.source(r, c) if static else program.source()
    check(program, text, inputs(program, r, c), "convert-linalg-to-simt{device=amx}")


@pytest.mark.parametrize("size", [(0, 5), (5, 0), (0, 0)])
@pytest.mark.parametrize("name", ["gelu_bias", "row_sum_onto", "any", "matvec"])
@pytest.mark.parametrize("static", [True, False])
def test_nothing(name: str, size: tuple[int, int], static: bool) -> None:
    """Memory without elements, and sums of no numbers."""
    (program,) = (x for x in PROGRAMS if x.name == name)
    text = program.source(*size) if static else program.source()
    arguments = inputs(program, *size)
    check(program, text, arguments, "convert-linalg-to-simt{device=amx}")


@BY_NAME
@pytest.mark.parametrize("on", PLACES)
def test_drivers(program: RowProgram, on: str) -> None:
    arguments = inputs(program, 9, 77)
    text = program.source()
    expected = simulated(text, "", arguments)
    given = copied(arguments)
    place, device, pipeline = PLACES[on]
    coopc.launch(text, *given, on=place, device=device, pipeline=pipeline)
    arrays = [x for x in given if isinstance(x, np.ndarray)]
    for found, (one, bound) in zip(arrays, expected, strict=True):
        same(found, one, bound, bound)
