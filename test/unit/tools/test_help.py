"""What `--help NAME` and `--list WHAT` print, and that there is something to print."""

import re
import sys
from collections.abc import Callable

import pytest
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from coopc.device import DEVICES
from coopc.device.factory import FACTORIES
from coopc.options import options_of
from coopc.pipeline import Pipeline, flatten, read_passes
from coopc.tools import coopc_isa, coopc_layout, coopc_opt, coopc_run
from coopc.tools.help import (
    HEADING,
    LISTS,
    Documentation,
    described,
    listed,
    members_like,
    own_text,
)
from coopc.universe import (
    DIALECTS,
    PASSES,
    PIPELINES,
    REPLACED_DIALECTS,
    REPLACED_TARGETS,
    TARGETS,
    everything,
    joined,
)

Capture = pytest.CaptureFixture[str]
UNKNOWN = "unknown pass, pipeline, target, dialect or operation"
ALL_DEVICES = {*DEVICES, *(f"{x}{{..}}" for x in FACTORIES)}
"""Those of the table, and those made from options."""
OURS = {
    **{name: everything().all_passes[name] for name in PASSES},
    **{name: everything().all_targets[name] for name in TARGETS},
}


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_says_before_after_and_fails(name: str) -> None:
    text = described(name)
    assert text is not None
    matches = filter(None, map(HEADING.match, text.splitlines()))
    found = [match[1] for match in matches if match[1]]
    assert found[:3] == ["Before", "After", "Fails"]
    assert len(found) % 3 == 0


@pytest.mark.parametrize("name", OURS)
def test_every_option_is_documented(name: str) -> None:
    made = OURS[name]()
    fields = Documentation.of(made).fields
    options = options_of(made).values()
    undocumented = [option.name for option in options if not fields.get(option.field)]
    assert not undocumented


@pytest.mark.parametrize("name", OURS)
def test_help_has_all_options(name: str) -> None:
    text = described(name)
    assert text is not None
    assert text.startswith(f"{name}: ")
    for option in options_of(OURS[name]()).values():
        assert any(f"\n  {option.usage}{end}" in text for end in " \n")


@pytest.mark.parametrize("name", PIPELINES)
def test_help_for_a_pipeline_has_its_steps(name: str) -> None:
    text = described(name)
    assert text is not None
    steps = text.split("Steps, without options:\n\n")[1].splitlines()
    made = everything().all_passes[name]()
    typed = read_passes(",".join(steps), everything().all_passes)
    assert [*map(str, typed)] == [str(step) for step in flatten([made()])]
    assert not any("_" in step for step in steps)


@pytest.mark.parametrize("name", DIALECTS)
def test_help_for_a_dialect_has_its_operations(name: str) -> None:
    text = described(name)
    assert text is not None
    assert text.startswith(f"{name}: ")
    for op in everything().all_dialects[name]().operations:
        assert any(f"\n  {op.name}{end}" in text for end in " \n")


def test_operations_are_described() -> None:
    text = described("simt")
    assert text is not None
    assert "\n  simt.barrier           Wait for every work-item of the scope" in text


@pytest.mark.parametrize("name", DIALECTS)
def test_operations_and_attributes_have_help(name: str) -> None:
    for member, made in members_like(name).items():
        text = described(member)
        assert text is not None
        assert text.startswith(member)
        for line in own_text(made).splitlines():
            assert " ".join(line.split()) in " ".join(text.split())
        prose = [x for x in text.splitlines() if not x.startswith(("    ", "|"))]
        assert not [x for x in prose if len(x) > 80]


def test_help_for_an_operation() -> None:
    text = described("coopmatrix.load")
    assert text is not None
    found = text.split("Operands:\n")
    assert "`:` type($memory) `->` type($result)" in found[0]
    assert "    %b = coopmatrix.load %memory[%i, %j] col_major" in found[0]
    assert "PlainAccessOp: A load or a store" in found[0]
    assert "\n  positions  any number of index\n" in found[1]
    assert "interleave   optional integer: Blocks in a group; 1 where" in found[1]
    assert "\n  result  coopmatrix.matrix\n" in found[1]


def test_help_for_an_attribute() -> None:
    text = described("coopmatrix.layout")
    assert text is not None
    assert "One of: row_major, col_major, packed" in text
    text = described("coopmatrix.matrix")
    assert text is not None
    assert "\n  rows          At least 1.\n" in text


def test_help_says_types_and_defaults() -> None:
    text = described("tile-matmul-khr")
    assert text is not None
    assert "group=N,.." in text
    assert "gaps=true|false" in text
    assert "stages=N" in text
    assert "(default: 2)" in text
    payload = described("convert-ttgir-to-xe")
    assert payload is not None
    assert "payload=none|prefetch|all" in payload


@pytest.mark.parametrize("columns", [70, 80, 120])
def test_prose_fits(columns: int) -> None:
    """Only code, which is indented, and the passes in steps are as long as they are."""
    for name in OURS:
        text = described(name, columns)
        assert text is not None
        prose = text.split("Steps, without")[0].splitlines()
        assert not [x for x in prose if len(x) > columns and not x.startswith("    ")]


def test_no_word_is_lost() -> None:
    """Wrapping changes nothing but spaces."""
    for name in OURS:
        narrow, wide = described(name, 60), described(name, 1000)
        assert narrow is not None
        assert wide is not None
        assert narrow.split() == wide.split()


def test_passes_of_xdsl_have_help() -> None:
    for name in everything().all_passes:
        text = described(name)
        assert text is not None
        assert text.startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("what", "tables"),
    [
        ("passes", [{*PASSES} - {*PIPELINES}]),
        ("pipelines", [PIPELINES]),
        ("dialects", [DIALECTS, REPLACED_DIALECTS]),
        ("devices", [ALL_DEVICES]),
        ("targets", [TARGETS, REPLACED_TARGETS]),
    ],
)
def test_lists_have_all_names(what: str, tables: list[set[str]]) -> None:
    assert what in LISTS
    first, *others = tables
    rows, _, more = listed(what).partition("\n\n")
    names = dict(line.split(maxsplit=1) for line in rows.splitlines())
    assert names.keys() == {*first}
    assert all(len(text) > 10 for text in names.values())
    for table in others:
        assert {*table} <= {*more.replace(",", "").split()}


class OwnPipeline(Pipeline):
    """`own-pipeline`: what another package does."""

    name = "own-pipeline"

    def steps(self) -> tuple[ModulePass, ...]:
        return ()


def absent() -> type[ModulePass]:
    raise ImportError("no module of that name")


def test_lists_have_what_other_packages_add(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what each is, and not among what xDSL has."""
    added = Universe(
        all_dialects={"own": lambda: Dialect("own")},
        all_passes={"own-pipeline": lambda: OwnPipeline, "absent": absent},
    )
    found = joined(everything(), added)
    monkeypatch.setattr("coopc.tools.help.everything", lambda: found)
    lists = {what: listed(what).partition("\n\nOf xDSL: ") for what in LISTS}
    assert "\n  own-pipeline    what another package does\n" in lists["pipelines"][0]
    assert re.search(
        "\n  absent +cannot be loaded: no module of that name", lists["passes"][0]
    )
    assert re.search("\n  own ", lists["dialects"][0])
    for _, _, more in lists.values():
        assert not {"own", "own-pipeline", "absent"} & {*more.replace(",", "").split()}


@pytest.mark.parametrize("what", LISTS)
def test_lists_are_wrapped(what: str) -> None:
    text = listed(what, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert text.split() == listed(what).split()


def prints(capsys: Capture, main: Callable[[list[str]], int], *args: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*args])
    assert ended.value.code in (0, None)
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize("what", LISTS)
def test_list(capsys: Capture, what: str) -> None:
    """In a pipe each name has one line."""
    assert prints(capsys, coopc_opt.main, "--list", what) == listed(what)


def test_list_pipelines(capsys: Capture) -> None:
    found = prints(capsys, coopc_opt.main, "--list-pipelines")
    assert found == listed("pipelines")


@pytest.mark.parametrize(
    ("main", "names"),
    [
        (coopc_run.main, ALL_DEVICES),
        (coopc_isa.main, {"dg2", "pvc", "bmg", "lnl", "ptl"}),
        (coopc_layout.main, {"pvc", "bmg", "lnl", "ptl"}),
    ],
)
def test_devices_of_a_tool(
    capsys: Capture, main: Callable[[list[str]], int], names: set[str]
) -> None:
    """Those that it can do something for."""
    lines = prints(capsys, main, "--list", "devices").partition("\n\n")[0].splitlines()
    assert {line.split()[0] for line in lines} == names
    every = [line.split() for line in listed("devices").splitlines()]
    assert all(line.split() in every for line in lines)


def test_devices_are_explained(capsys: Capture) -> None:
    _, _, legend = prints(capsys, coopc_isa.main, "--list").partition("\n\n")
    assert "largest M x N x K" in legend
    assert "were run on it (run)" in " ".join(legend.split())


def test_help_alone(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for args in (["--help"], ["-h"], ["no.mlir", "--help"], ["-h", "-p", "x"]):
        text = prints(capsys, coopc_opt.main, *args)
        assert text.startswith("usage: coopc-opt [FILE]")
        assert max(map(len, text.splitlines())) <= 80
        assert all(f"\n  {name} " in text for name in PIPELINES)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (
            ["--help", "split-coopmatrx"],
            f"{UNKNOWN} 'split-coopmatrx', did you mean 'split-coopmatrix'?",
        ),
        (
            ["--help", "add-any-entry"],
            f"{UNKNOWN} 'add-any-entry', did you mean 'add-fallback-entry' (renamed)?",
        ),
        (["--help", "zzz"], f"{UNKNOWN} 'zzz', see --list passes"),
        (
            ["--help", "coopmatrix.laod"],
            f"{UNKNOWN} 'coopmatrix.laod', did you mean 'coopmatrix.load'?",
        ),
        (["--list", "pases"], "unknown list 'pases', did you mean 'passes'?"),
        (["--list", "zzz"], f"unknown list 'zzz', expected {', '.join(LISTS)}"),
        (["--list"], "argument --list: expected one argument"),
    ],
)
def test_unknown_names(capsys: Capture, args: list[str], expected: str) -> None:
    assert coopc_opt.main(args) == 1
    assert capsys.readouterr() == ("", f"coopc-opt: error: {expected}\n")


def test_a_class_without_source_has_options() -> None:
    """As one of a plug-in that was made while it ran."""
    made = type("MadePass", (), {"__module__": "builtins"})
    assert Documentation.of(made).fields == {}
    assert sys.modules["builtins"].__doc__ is not None
