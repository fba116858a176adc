"""What a tuning file has for a product does what the options of passes do."""

from pathlib import Path

import pytest

import coopc
from coopc.device import GemmTiles
from coopc.device.file import written
from coopc.generate.gemms import Gemm
from coopc.plan.tuning import Choice, PipelineName, TunedProduct, Tuning
from coopc.run import machine
from coopc.versions import installed

HERE = machine.HostMachine("a device", "a driver")
TILES = GemmTiles((64, 32), (32, 16), 32, 1, band=4)
CASES: tuple[tuple[PipelineName, str, str, Choice, tuple[str, str]], ...] = (
    ("coopc-amx", "", "block=1,2,3", Choice(block=(1, 2, 3)), ("bf16", "f32")),
    (
        "coopc-cpu",
        "",
        "block=2,3,32 tile=4,16",
        Choice(block=(2, 3, 32), registers=(4, 16)),
        ("f32", "f32"),
    ),
    (
        "coopc-khr",
        "device=nvidia",
        "tile=16,16,32",
        Choice(tile=(16, 16, 32)),
        ("f16", "f32"),
    ),
    ("coopc-khr", "device=nvidia", "", Choice(TILES), ("f16", "f32")),
)


@pytest.mark.parametrize(("pipeline", "given", "option", "choice", "types"), CASES)
def test_as_options(
    pipeline: PipelineName,
    given: str,
    option: str,
    choice: Choice,
    types: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "machine_of", lambda *_: HERE)  # pyright: ignore
    gemm, ab, c = Gemm((70, 50, 90), types=types), *types
    tuning = Tuning(
        installed("coopc"),
        pipeline,
        HERE.device,
        HERE.driver,
        (TunedProduct(f"70x50x90 {ab} {ab} {c}", choice),),
        "nvidia" if given else "",
    )
    file = tmp_path / "tuning.toml"
    file.write_text(written(tuning))

    def compiled(passes: str) -> tuple[str, tuple[str, ...]]:
        target = "spirv" if given else "llvm-ir"
        found = coopc.compile(gemm.text, passes, target)
        return found.text, found.remarks

    by_file, remarks = compiled(f'{pipeline}{{{given} tuning="{file}"}}')
    assert any(f"planned by {file}: {choice}" in x for x in remarks)
    without, _ = compiled(f"{pipeline}{{{given}}}")
    assert by_file != without
    if not option:  # which the pipeline does not have: passes do
        options = "group=64,32 subgroup=32,16 step=32 stages=1 band=4"
        apply = f'apply-tuning{{tuning="{file}" pipeline=coopc-khr}},tile-matmul-khr'
        pair = apply, f"tile-matmul-khr{{{options}}}"
        first, second = (f"set-target{{device=nvidia}},{x},coopc-khr" for x in pair)
        assert compiled(first)[0] == compiled(second)[0]
        return
    by_option, _ = compiled(f"{pipeline}{{{given} {option}}}")
    assert by_file == by_option
    both, remarks = compiled(f'{pipeline}{{{given} {option} tuning="{file}"}}')
    assert both == by_option
    assert any(f", not by {file}" in x for x in remarks)
