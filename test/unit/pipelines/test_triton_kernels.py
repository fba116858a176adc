"""Kernels written in Triton, from their IR to results.

Each kernel of test/inputs/triton is compared with a reference in numpy, on sizes that
its blocks do not divide, after it was made a kernel of one subgroup, and as compiled.
`COOPC_TRITON_KERNELS=all` runs all.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.native import tiles_of
from support.triton_cases import (
    DOCUMENT,
    arrays_of,
    cases,
    compiled,
    given_in_files,
    row,
    source_of,
    wrong,
)
from xdsl.dialects.func import FuncOp

from coopc.compiler import compile
from coopc.interface_call import FIELD
from coopc.sim.simulate import Options, simulate
from coopc.sim.triton import simulated_form
from coopc.tools.coopc_run import main

HUB = "inline-calls,expand-tt-math,convert-tt-to-coopmatrix"
REFUSED = ("assembly",)
"""What no engine runs: the table says why."""
QUICK = (
    "argmax",
    "atomic_extremes",
    "chosen_pointer",
    "cross_entropy",
    "cumsum",
    "descriptor_sum",
    "descriptor_updates",
    "dropout",
    "embedding",
    "cas_max",
    "gather_rows",
    "gcd",
    "grouped_gemm",
    "histogram",
    "linear_recurrence",
    "mapped",
    "matmul_batched",
    "matmul_fp8",
    "matmul_mxfp",
    "moved_pointer",
    "relay",
    "rms_norm_rope",
    "softmax",
    "spin_lock",
    "toward_zero",
)
ALL = os.environ.get("COOPC_TRITON_KERNELS") == "all"
KERNELS = [x for x in cases() if (ALL or x in QUICK) and x not in REFUSED]


def simulated(kernel: str, passes: str) -> list[str]:
    """Simulate what passes make of a kernel; return where it is wrong."""
    case, source = cases()[kernel](), source_of(kernel)
    assert source is not None
    module = simulated_form(compiled(source, passes))
    (func,) = (x for x in module.ops if isinstance(x, FuncOp))
    given, values = arrays_of(case), list[Any]()
    names = [x.name_hint or "" for x in func.args]
    named = dict(zip(names, [given.get(x) for x in names], strict=True))
    if not set(given) <= set(names):  # 3.3 does not print names
        named = given
    for name, value in named.items():
        if value is None:
            field = FIELD.fullmatch(name)
            assert field is not None, name
            array = given[field[1]]
            steps = [x // array.itemsize for x in array.strides]
            sizes = array.shape if field[2] == "shape" else steps
            value = sizes[int(field[3])]
        values.append(value)
    options = Options(grid=case.grid)
    simulate(module, func.sym_name.data, values, options)
    return wrong(case, dict(zip(named, values, strict=True)))


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_subgroup(kernel: str) -> None:
    """What stands for a program computes what the program does, without races."""
    assert simulated(kernel, f"{HUB}{{subgroup-size=16}}") == []


@pytest.mark.parametrize(
    "kernel",
    ["flash_attention_descriptor", "matmul_batched", "matmul_int4", "matmul_mxfp"],
)
def test_with_layouts(kernel: str) -> None:
    """Layouts change nothing: values are converted where they meet another one."""
    passes = "inline-calls,expand-tt-math,set-target{device=bmg},assign-tt-layouts"
    assert simulated(kernel, passes) == []


@pytest.mark.parametrize("lanes", [1, 4, 32])
def test_any_number_of_lanes(lanes: int) -> None:
    for kernel in ("softmax", "argmax", "cumsum", "embedding"):
        assert simulated(kernel, f"{HUB}{{subgroup-size={lanes}}}") == []


def run(kernel: str, folder: Path, *options: str, layouts: bool = False) -> list[str]:
    """Run a kernel by coopc-run; return where it is wrong."""
    case, source = cases()[kernel](), source_of(kernel, layouts)
    assert source is not None
    path = DOCUMENT.parents[1] / "test" / "inputs" / "triton" / source.name
    words = [str(path), "--grid", ",".join(map(str, case.grid)), *options]
    given = arrays_of(case)
    known = {name: f"arg{n}" if layouts else name for n, name in enumerate(given)}
    for name, value in given.items():
        words += ["--arg", f"{known[name]}={given_in_files(name, value, folder)}"]
    for name in case.expected:
        base, bracket, rest = name.partition("[")
        saved = f"{known[base]}{bracket}{rest}"
        words += ["--save", f"{saved}={folder / name}.out.npy"]
    assert main(words) == 0
    after = {x: np.load(folder / f"{x}.out.npy") for x in case.expected}
    return wrong(case, after)


@pytest.mark.parametrize("kernel", [x for x in KERNELS if x != "matmul_block_pointer"])
def test_on_this_processor(kernel: str, tmp_path: Path) -> None:
    assert run(kernel, tmp_path, "--on", "cpu", "--tiles", "none") == []


ON_TILES = {
    "matmul_bf16": "bf16",
    "matmul_int8": "i8",
    "matmul_device_descriptor": "bf16",
    "flash_attention_pointer": "bf16",
    "matmul_mxfp": "bf16",
    "matmul": "f16",
    "flash_attention_f16_causal": "f16",
}
"""Kernels with products that tiles of AMX do, and the types of these."""


@pytest.mark.parametrize("kernel", ON_TILES)
def test_on_tiles(
    kernel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiles = tiles_of(ON_TILES[kernel])
    assert run(kernel, tmp_path, "--on", "cpu", "--tiles", tiles) == []
    assert ", tiles " in capsys.readouterr().out


@pytest.mark.parametrize("kernel", ["softmax", "matmul_host_descriptor"])
def test_as_it_was_written(kernel: str, tmp_path: Path) -> None:
    """The simulator runs Triton's IR, too; what the host says of arrays is known."""
    assert run(kernel, tmp_path, "--on", "sim") == []


BLOCKS = HUB.replace(
    "convert-tt",
    "unwrap-tt-offsets,convert-tt-pointers-to-descriptors{known=true},convert-tt",
)


@pytest.mark.parametrize("kernel", ["matmul_abt", "matmul_device_descriptor"])
def test_in_rounds(kernel: str) -> None:
    """Sums that matrices keep, and factors that are loaded from where they are."""
    for device in ("lavapipe", "nvidia") if ALL else ("lavapipe",):
        passes = f"{BLOCKS}{{rounds=true device={device}}},share-workgroup-memory"
        assert simulated(kernel, passes) == []


@pytest.mark.parametrize(
    ("kernel", "device"),
    [
        ("flash_attention_descriptor", "nvidia"),
        ("flash_attention_pointer", "nvidia"),
        ("flash_attention_f16", "nvidia"),
        ("flash_attention_f16_causal", "nvidia"),
        ("flash_attention_descriptor", "rdna3"),
        ("flash_attention_pointer", "rdna3"),
    ],
)
def test_in_parts(kernel: str, device: str) -> None:
    """Each subgroup has rows of Q, and of sums that stay in matrices.

    So do scores, on a device that reduces rows of matrices.
    """
    options = f"rounds=true shared=true device={device}"
    passes = f"{BLOCKS}{{{options}}},share-workgroup-memory"
    assert simulated(kernel, passes) == []


LARGE = (
    "flash_attention_descriptor",
    "layer_norm_backward_sum",
    "matmul",
    "matmul_abt",
    "matmul_bf16",
    "matmul_block_pointer",
    "matmul_device_descriptor",
    "matmul_host_descriptor",
)
"""Kernels whose tensors do not fit into work-group memory all at once."""
NOT_RUN = {
    "flash_attention_descriptor": "lavapipe takes more than ten minutes",
    "matmul_block_pointer": "its arguments have no names in the IR of Triton 3.3",
}
"""What drivers are not given, and why."""
RUN = [x for x in KERNELS if x not in NOT_RUN]


@pytest.mark.parametrize("pipeline", ["coopc-lanes", "coopc-khr"])
@pytest.mark.parametrize(
    "kernel",
    RUN
    if ALL
    else [
        *("softmax", "chosen_pointer", "matmul_abt", "matmul_bf16"),
        "atomic_extremes",
    ],
)
def test_on_a_driver(kernel: str, pipeline: str, tmp_path: Path) -> None:
    passes = f"{pipeline}{{device=lavapipe}}"
    assert run(kernel, tmp_path, "--on", "vulkan", "-p", passes) == []


@pytest.mark.parametrize(
    "kernel", RUN if ALL else ["matmul_batched", "grouped_gemm", "matmul_abt"]
)
def test_on_opencl(kernel: str, tmp_path: Path) -> None:
    """On plain lanes of Intel's run-time for processors."""
    passes = "coopc-lanes{device=intel-cpu}"
    assert run(kernel, tmp_path, "--on", "opencl", "-p", passes) == []


@pytest.mark.parametrize(
    "kernel",
    [
        *("cumsum", "layer_norm_backward", "linear_recurrence", "embedding"),
        *("matmul", "matmul_abt", "matmul_int8"),
    ],
)
def test_on_xe(kernel: str, tmp_path: Path) -> None:
    """A lock of all subgroups, a scan, vectors of a gather, and factors as blocks."""
    assert run(kernel, tmp_path, "--on", "opencl", layouts=True) == []


@pytest.mark.parametrize(
    "kernel",
    RUN
    if ALL
    else [
        *("matmul_batched", "gather", "gather_rows", "chosen_pointer"),
        "atomic_extremes",
    ],
)
def test_without_layouts_on_xe(kernel: str, tmp_path: Path) -> None:
    """Kernels get layouts; what these do not do is for one subgroup."""
    passes = "coopc-xe{device=bmg emulate=true fallback=true}"
    assert run(kernel, tmp_path, "--on", "opencl", "-p", passes) == []


@pytest.mark.parametrize("device", ["nvidia", "lavapipe"])
@pytest.mark.parametrize("kernel", LARGE if ALL else ["matmul_device_descriptor"])
def test_fits_into_memory(kernel: str, device: str) -> None:
    source = source_of(kernel)
    assert source is not None
    compile(source.text, f"coopc-khr{{device={device}}}", "spirv")


@pytest.mark.parametrize(
    "kernel", [*KERNELS, *REFUSED] if ALL else ["softmax", "gcd", *REFUSED]
)
def test_table(kernel: str) -> None:
    """The documentation says what is made of each kernel."""
    assert row(kernel) in DOCUMENT.read_text()


def test_table_is_whole() -> None:
    """Each kernel has a line, and no cell is empty."""
    lines = DOCUMENT.read_text().splitlines()
    rows = [x.split("|")[1:-1] for x in lines if x.startswith("|")][2:]
    assert [x[0].strip() for x in rows] == [*cases()]
    assert all(cell.strip() for line in rows for cell in line)
