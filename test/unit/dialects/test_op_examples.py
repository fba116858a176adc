"""The IR in an op's docstring parses, verifies and contains the op."""

import re
from inspect import getdoc

import pytest
from xdsl.ir import Operation

from coopc.compiler import new_context
from coopc.dialects import spirv
from coopc.parsing import parse
from coopc.pipeline import verify
from coopc.source import Source
from coopc.universe import COOPC_UNIVERSE, everything

OPS = [
    op
    for load in COOPC_UNIVERSE.all_dialects.values()
    for op in load().operations
    if not issubclass(op, spirv.SpirvOp)  # those are upstream's, a class by its name
]


@pytest.mark.parametrize("name", ["spirv.Load", "spirv.FAdd"])
def test_docstring_of_upstream_operations(name: str) -> None:
    example = re.search(r"```mlir\n(.*?)```", getdoc(spirv) or "", re.DOTALL)
    assert example
    context = new_context(everything())
    context.allow_unregistered = True
    module = parse(context, Source(example[1], "doc of spirv"))
    assert name in [found.name for found in module.walk()]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_docstring_example(op: type[Operation]) -> None:
    example = re.search(r"```mlir\n(.*?)```", getdoc(op) or "", re.DOTALL)
    assert example, f"{op.name} has no example"

    module = parse(new_context(everything()), Source(example[1], f"doc of {op.name}"))
    verify(module)
    assert any(isinstance(found, op) for found in module.walk())
