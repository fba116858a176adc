"""simt.compare_exchange of every width, on the simulator, drivers and processors."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import coopc

LANES = 8
TEXT = f"""
func.func @exchange(%m: memref<?xTYPE>, %x: memref<?xTYPE>, %y: memref<?xTYPE>,
                    %old: memref<?xTYPE>, %one: memref<?xi32>, %won: memref<?xi32>)
    attributes {{simt.kernel, simt.subgroup_size = {LANES} : i32,
                simt.work_group_size = array<i32: {LANES}>}} {{
  %lane = simt.local_id x : index
  %zero = arith.constant 0 : index
  %a = memref.load %x[%lane] : memref<?xTYPE>
  %b = memref.load %y[%lane] : memref<?xTYPE>
  %seen = simt.compare_exchange %a, %b, %m[%lane] : TYPE, memref<?xTYPE>
  memref.store %seen, %old[%lane] : memref<?xTYPE>
  %free = arith.constant 0 : i32
  %next = arith.constant 1 : i32
  %wide = arith.index_cast %lane : index to i32
  %name = arith.addi %wide, %next : i32
  %first = simt.compare_exchange %free, %name, %one[%zero]
      {{simt.ordering = "acquire_release"}} : i32, memref<?xi32>
  memref.store %first, %won[%lane] : memref<?xi32>
  func.return
}}
"""
TYPES = {"i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "f32": "f4", "f16": "f2"}
PLACES: dict[str, dict[str, Any]] = {
    "sim": {"on": "sim"},
    "cpu": {"on": "cpu"},
    "vulkan": {"on": "vulkan", "pipeline": "coopc-lanes{device=lavapipe}"},
    "opencl": {"on": "opencl", "pipeline": "coopc-lanes{device=intel-cpu}"},
}


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("place", PLACES)
def test_exchange(place: str, type: str) -> None:
    """Bits are compared; one of all lanes wins where all exchange one element."""
    random = np.random.default_rng(5)
    numbers: list[npt.NDArray[Any]] = [
        random.integers(0, 2, LANES).astype(TYPES[type]) for _ in range(2)
    ]
    m, x = numbers
    y = np.arange(LANES).astype(TYPES[type]) + 2
    if type[0] == "f":
        m[0], x[0] = 0.0, -0.0
        m[1] = x[1] = np.nan
    bits = f"u{m.itemsize}"
    before, same = m.copy(), m.view(bits) == x.view(bits)
    assert same.any()
    assert not same.all()
    old, one, won = np.zeros_like(m), np.zeros(1, "i4"), np.full(LANES, -1, "i4")
    text = TEXT.replace("TYPE", type)
    coopc.launch(text, m, x, y, old, one, won, grid=1, **PLACES[place])
    assert np.array_equal(old.view(bits), before.view(bits))
    expected = np.where(same, y, before)
    assert np.array_equal(m.view(bits), expected.view(bits))
    (winner,) = np.flatnonzero(won == 0)
    assert one[0] == winner + 1
    assert (np.delete(won, winner) == winner + 1).all()
