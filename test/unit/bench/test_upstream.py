"""What is measured of upstream's deserializer, and where its source refuses."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bench import upstream

TEXT = """
func.func @k(%m: memref<4xf32>) attributes {simt.kernel} {
  func.return
}"""


def test_findings_that_are_kept_are_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Callable[[str], Path]
) -> None:
    tool("mlir-translate")
    file = tmp_path / "kept.jsonl"
    monkeypatch.setattr(upstream, "programs", lambda: iter([TEXT]))
    pipelines = {"khr lavapipe": upstream.PIPELINES["khr lavapipe"]}
    monkeypatch.setattr(upstream, "PIPELINES", pipelines)
    first = list(upstream.measure(1, file))
    assert first[0].name == "upstream reads, khr lavapipe, of 1"
    assert first[0].value == 1
    monkeypatch.setattr(upstream, "measured", None)
    assert list(upstream.measure(1, file)) == first


def test_place() -> None:
    found = upstream.place("unhandled opcode 227")
    assert found == "AtomicLoad (tools/mlir-tblgen/SPIRVUtilsGen.cpp:1082)"
    assert upstream.place("unhandled opcode 1") == "unknown: unhandled opcode 1"
