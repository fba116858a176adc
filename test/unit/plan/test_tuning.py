"""Tuning files: what is written is read, what is wrong is refused, and why."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from support.gemm_problems import problem

from coopc.device import NVIDIA
from coopc.device.file import written
from coopc.plan.tuning import Choice, TunedProduct, Tuning, described, read_tuning

TUNING = Tuning(
    "0.1.0",
    "coopc-khr",
    "a GPU",
    "a driver",
    (
        TunedProduct("1x2x3 f16 f16 f32", Choice(tile=(16, 16, 16))),
        TunedProduct("?x2x3 f16 f16 f32", Choice(NVIDIA.gemm_tiles[0])),
    ),
    "nvidia",
    milliseconds=0.5,
)


def test_written(tmp_path: Path) -> None:
    """What is written is read again as it is, also as JSON."""
    file = tmp_path / "tuning.toml"
    file.write_text(written(TUNING))
    assert read_tuning(str(file)) == TUNING
    file = tmp_path / "tuning.json"
    file.write_text(json.dumps({"version": 1, **asdict(TUNING)}))
    assert read_tuning(str(file)) == TUNING


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version = 1", "version = 2", "expected version = 1, got 2"),
        ("version = 1", "version = true", "expected version = 1, got True"),
        ("?x2x3", "1x2x3", "products: expected 1x2x3 f16 f16 f32 once, got it twice"),
        ('driver = "a driver"\n', "", "expected driver"),
        ("driver", "drivr", "drivr: unknown key, did you mean 'driver'?"),
        ("tile =", "tyle =", "products[0].choice.tyle: unknown key, did you mean 'ti"),
        (
            "[16, 16, 16]",
            "[16, 16]",
            "products[0].choice.tile: expected 3 items, got 2",
        ),
        (
            "[16, 16, 16]",
            "[16, 16, 0]",
            "products[0].choice: expected tiles, a tile, or",
        ),
        (
            "tile =",
            "block =",
            "products: expected tiles or tile, which coopc-khr takes",
        ),
        ("coopc-khr", "coopc-kh", "pipeline: expected coopc-khr or coopc-lanes or"),
        ("target =", "target", "at line"),
        ("band = 8", "band = -1", "products[1].choice: expected tiles, a"),
    ],
)
def test_mistakes(old: str, new: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "tuning.toml"
    text = written(TUNING)
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(ValueError, match=r"tuning\.toml: ") as error:
        read_tuning(str(file))
    assert message in str(error.value)


def test_described() -> None:
    """All that decides a plan is in the name of a product."""
    given = replace(problem((None, 8, 9)), fill="constant")
    assert described(given) == "?x8x9 f16 f16 f32"
    others = [
        *(
            replace(x, fill="constant")
            for x in (
                problem((None, 8, 9), transposed=(True, False)),
                problem((None, 8, 9), transposed=(False, True)),
                problem((None, 8, 9), ("bf16", "bf16", "f32")),
                problem((4, 8, 9)),
            )
        ),
        replace(given, fill="nothing"),
        replace(given, a=replace(given.a, row_alignment=16, strides=(16, 1))),
        replace(given, c=replace(given.c, batched=True)),
    ]
    assert len({described(given), *map(described, others)}) == len(others) + 1
