"""Programs on matrices before and after `convert-coopmatrix-to-amx`: the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from support.programs import module_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from coopc.passes.cpu.convert_coopmatrix_to_amx import ConvertCoopmatrixToAmxPass
from coopc.passes.generic.check_dominance import CheckDominancePass
from coopc.sim.numerics import to_bf16
from coopc.sim.simulate import simulate

Array: TypeAlias = npt.NDArray[Any]


def converted(text: str) -> ModuleOp:
    """Return a program on tiles, with nothing of coopmatrix left."""
    module = module_of(text)
    ConvertCoopmatrixToAmxPass().apply(Context(), module)
    module.verify()
    CheckDominancePass().apply(Context(), module)
    assert not [op for op in module.walk() if op.dialect_name() == "coopmatrix"]
    assert "coopmatrix" not in str(module)
    return module


def runs_alike(text: str, arrays: Sequence[Array], outputs: int) -> list[Array]:
    """Run @f and @f on tiles, which are to agree; return the last arrays.

    Args:
        text: the program.
        arrays: its arguments, which are not changed.
        outputs: how many arrays to return.
    """
    before = [array.copy() for array in arrays]
    after = [array.copy() for array in arrays]
    simulate(module_of(text), "f", before, subgroup_size=1)
    simulate(converted(text), "f", after, subgroup_size=1)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    return after[-outputs:]


def integers(seed: int, shape: tuple[int, ...], element: str) -> Array:
    """Return numbers whose sums are exact in every order; of bf16 their bits."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-8, 9, shape)
    if element == "i8":
        return rng.integers(-128, 128, shape).astype(np.int8)
    if element == "bf16":
        return to_bf16(numbers.astype(np.float32))
    return numbers.astype({"f16": np.float16, "f32": np.float32}.get(element, np.int32))
