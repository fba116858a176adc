"""Simulation of tiles: the same bits as the emulator, which are a processor's."""

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import bf16, f16

from coopc.run.tiles import FLAGS, LIBRARIES, SOURCE, c_compiler
from coopc.sim.amx import multiplied_bytes, multiplied_floats
from coopc.sim.numerics import from_bf16

Array = np.ndarray[Any, Any]

# Prefixes and opcodes of tdpbf16ps, tdpfp16ps and the four products of bytes.
F3, F2, P66, NP = 2, 3, 1, 0
FLOATS, BYTES = 0x5C, 0x5E
SIGNS = {(True, True): F2, (True, False): F3, (False, True): P66, (False, False): NP}

PROGRAM = f"""
#include "{SOURCE}"
#include <stdlib.h>
void product(int opcode, int prefix, int m, int k, int n, const void *a,
             const void *b, void *c) {{
  tiles.palette = 1;
  const int rows[3] = {{m, m, k}}, bytes[3] = {{4 * n, 4 * k, 4 * n}};
  const char *data[3] = {{c, a, b}};
  for (int t = 0; t < 3; t++) {{
    tiles.rows[t] = rows[t];
    tiles.colsb[t] = bytes[t];
    for (int r = 0; r < rows[t]; r++)
      memcpy(tiles.data[t][r], data[t] + r * bytes[t], bytes[t]);
  }}
  instruction_t x = {{.opcode = opcode, .prefix = prefix, .mod = 3, .reg = 0, .rm = 1,
                     .vvvv = 2}};
  if (!multiply(&x)) abort();
  for (int r = 0; r < m; r++)
    memcpy((char *)c + r * 4 * n, tiles.data[0][r], 4 * n);
}}
"""


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The multiplications of the emulator's source, without its traps."""
    folder: Path = tmp_path_factory.mktemp("amx")
    (folder / "product.c").write_text(PROGRAM)
    library = folder / "product.so"
    command = [*c_compiler(), *FLAGS, str(folder / "product.c"), "-o", str(library)]
    subprocess.run([*command, *LIBRARIES], check=True, capture_output=True)
    return ctypes.CDLL(str(library))


def emulated(
    library: ctypes.CDLL,
    instruction: tuple[int, int],
    sizes: tuple[int, int, int],
    operands: tuple[Array, Array, Array],
) -> Array:
    a, b, c = (np.ascontiguousarray(x).copy() for x in operands)
    library.product(*instruction, *sizes, a.ctypes, b.ctypes, c.ctypes)
    return c


SIZES = st.tuples(st.integers(1, 16), st.integers(1, 16), st.integers(1, 16))


def bits(seed: int, shape: tuple[int, int], special: bool) -> Array:
    """Bits of halves: any at all, or numbers of similar size."""
    rng = np.random.default_rng(seed)
    if special:
        return rng.integers(0, 1 << 16, shape).astype(np.uint16)
    return (
        rng.integers(0x3F00, 0x4100, shape) + rng.integers(0, 2, shape) * 0x8000
    ).astype(np.uint16)


@pytest.mark.usefixtures("c_compiler")
@given(SIZES, st.integers(0, 1 << 30), st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_floats_are_those_of_the_emulator(
    emulator: ctypes.CDLL,
    sizes: tuple[int, int, int],
    seed: int,
    special: bool,
    half: bool,
):
    m, k, n = sizes
    a, b = bits(seed, (m, 2 * k), special), bits(seed + 1, (k, 2 * n), special)
    rng = np.random.default_rng(seed + 2)
    c: Array = rng.integers(0, 1 << 32, (m, n), np.uint32).view(np.float32)
    if not special:
        c = rng.standard_normal((m, n)).astype(np.float32)
    expected = emulated(emulator, (FLOATS, F2 if half else F3), sizes, (a, b, c))
    values = (a.view(np.float16), b.view(np.float16))
    if not half:
        values = (from_bf16(a), from_bf16(b))
    with np.errstate(all="ignore"):
        found = multiplied_floats(*values, c, f16 if half else bf16).view(np.uint32)
    nans = np.isnan(found.view(np.float32))
    np.testing.assert_array_equal(nans, np.isnan(expected))
    np.testing.assert_array_equal(found[~nans], expected.view(np.uint32)[~nans])


@pytest.mark.usefixtures("c_compiler")
@given(SIZES, st.integers(0, 1 << 30), st.booleans(), st.booleans())
@settings(max_examples=50, deadline=None)
def test_bytes_are_those_of_the_emulator(
    emulator: ctypes.CDLL,
    sizes: tuple[int, int, int],
    seed: int,
    a_signed: bool,
    b_signed: bool,
):
    m, k, n = sizes
    rng = np.random.default_rng(seed)
    a, b = (
        rng.integers(-128, 128, x).astype(np.int8) for x in ((m, 4 * k), (k, 4 * n))
    )
    c = rng.integers(-(1 << 31), 1 << 31, (m, n)).astype(np.int32)
    instruction = (BYTES, SIGNS[a_signed, b_signed])
    expected = emulated(emulator, instruction, sizes, (a, b, c))
    found = multiplied_bytes(a, b, c, a_signed, b_signed)
    np.testing.assert_array_equal(found, expected)
