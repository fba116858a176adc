"""The tables of names lead to what has these names, and cost nothing before."""

import importlib.metadata
import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points

import pytest
from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE, Universe
from xdsl.utils.target import Target

from coopc.pipeline import Pipeline
from coopc.universe import (
    COOPC_UNIVERSE,
    DIALECTS,
    PASSES,
    PIPELINES,
    REPLACED_TARGETS,
    TARGETS,
    everything,
    factories,
    factory,
    installed,
)


@pytest.mark.parametrize("name", DIALECTS)
def test_dialect_has_its_name(name: str) -> None:
    assert COOPC_UNIVERSE.all_dialects[name]().name == name


@pytest.mark.parametrize("name", PASSES)
def test_pass_has_its_name(name: str) -> None:
    found = COOPC_UNIVERSE.all_passes[name]()
    assert issubclass(found, ModulePass)
    assert found.name == name
    assert issubclass(found, Pipeline) == (name in PIPELINES)


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_has_one_stem(name: str) -> None:
    found = COOPC_UNIVERSE.all_passes[name]()
    words = name.split("-")
    assert found.__name__ == "".join(map(str.capitalize, words)) + "Pass"
    if name not in PIPELINES:
        assert found.__module__.rpartition(".")[2] == "_".join(words)


@pytest.mark.parametrize("name", [*TARGETS, *REPLACED_TARGETS])
def test_target_has_its_name(name: str) -> None:
    found = everything().all_targets[name]()
    assert issubclass(found, Target)
    assert found.name == name


@pytest.mark.parametrize("name", PIPELINES)
def test_pipeline_needs_no_options(name: str) -> None:
    made = factory(PASSES[name])()
    assert made().steps()


def test_no_name_is_taken() -> None:
    # A clash stops every xDSL tool, so factories() would drop ours.
    assert not DIALECTS.keys() & XDSL_UNIVERSE.all_dialects.keys()
    assert not PASSES.keys() & XDSL_UNIVERSE.all_passes.keys()
    assert not TARGETS.keys() & XDSL_UNIVERSE.all_targets.keys()
    assert factories({"scf": "m:o", "own": "m:o"}, {"scf": None}).keys() == {"own"}


def test_xdsl_finds_it() -> None:
    (entry,) = (e for e in entry_points(group="xdsl.universe") if e.name == "coopc")
    assert entry.load() is COOPC_UNIVERSE
    assert everything().all_dialects.keys() > DIALECTS.keys()


CLASH = Universe(all_passes={"cse": lambda: ModulePass})


def test_plugins_that_cannot_be_loaded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is named, once, and what others have is there."""
    group = "xdsl.universe"
    found = [
        *entry_points(group=group),
        EntryPoint("broken", "no_such_package:U", group),
        EntryPoint("clashing", f"{__name__}:CLASH", group),
        EntryPoint("odd", "sys:path", group),
    ]

    def all_of(group: str) -> list[EntryPoint]:
        return found

    monkeypatch.setattr(importlib.metadata, "entry_points", all_of)
    installed.cache_clear()
    try:
        assert everything().all_passes.keys() > PASSES.keys() | {"cse"}
        everything()
    finally:
        installed.cache_clear()
    lines = [
        line.split(" is left out: ") for line in capsys.readouterr().err.split("\n")
    ]
    assert lines[:-1] == [
        [
            "warning: plug-in broken (no_such_package:U)",
            "ModuleNotFoundError: No module named 'no_such_package'",
        ],
        [
            f"warning: plug-in clashing ({__name__}:CLASH)",
            "ValueError: expected passes of new names, got cse",
        ],
        [
            "warning: plug-in odd (sys:path)",
            f"ValueError: expected a Universe, got {sys.path}",
        ],
    ]


def test_loading_it_imports_no_dialect() -> None:
    script = (
        "import sys; import xdsl.universe; before = set(sys.modules);"
        "import coopc.universe; print(sorted(set(sys.modules) - before))"
    )
    command = [sys.executable, "-c", script]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out.strip() == "['coopc', 'coopc.universe']"
