"""Which operations are emitted at all, and how the targets are reached."""

import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.dialects import func
from xdsl.ir import Dialect, Operation

import coopc
from coopc.diagnostic import CompileError
from coopc.dialects import simt
from coopc.dialects.math_forms import Math
from coopc.dialects.shaped_arith import Arith
from coopc.emit.spirv.emission import MODULES, Emission

REFUSED = {"simt.exchange"}
"""What expand-exchanges expands."""

STRUCTURE = {
    *("func.func", "func.return"),
    *("simt.launch", "simt.result", "simt.sequence"),
}
"""What the emission of kernels and the walker take themselves, and what hosts do."""


def has_handler(operation: type[Operation]) -> bool:
    emitter = Emission.emitter
    return emitter.handler_of(operation.create(result_types=[])) != emitter.refuse


@pytest.mark.parametrize("dialect", [Arith, func.Func, Math, simt.Simt])
def test_every_operation_has_a_handler_or_an_expansion(dialect: Dialect):
    missing = {each.name for each in dialect.operations if not has_handler(each)}
    assert missing - STRUCTURE <= REFUSED


def test_refused_operations_have_none():
    assert not has_handler(simt.ExchangeOp)


@pytest.mark.parametrize("dialect", sorted(MODULES))
def test_modules_are_dialects(dialect: str):
    """Each module named in the table has handlers of that dialect."""
    from importlib import import_module

    for module in MODULES[dialect]:
        table = import_module(f"coopc.emit.spirv.{module}").handlers.table
        named = {name for name, some in MODULES.items() if module in some}
        assert {op.dialect_name() for op in table} == named


def test_xdsl_opt_has_the_targets(root: Path):
    """Through the entry point; it writes text and no bytes."""
    tool = Path(sys.executable).with_name("xdsl-opt")
    file = str(root / "examples" / "gemm.mlir")

    def run(target: str) -> subprocess.CompletedProcess[bytes]:
        command = [tool, file, "-t", f"{target}{{device=nvidia}}"]
        return subprocess.run(command, check=False, capture_output=True)

    text = coopc.compile(Path(file).read_text(), "", "spirv{device=nvidia}")
    assert run("spirv").stdout == text.bytes
    assert b"expected a tool that writes bytes" in run("spirv-binary").stderr


def test_no_device():
    text = "func.func @k() attributes {simt.kernel} { func.return }"
    with pytest.raises(CompileError, match=r"expected simt\.target on the module"):
        coopc.compile(text, "", "spirv")
