"""The IR in an op's docstring parses, verifies and contains the op."""

import re
from inspect import cleandoc, getdoc

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


def example(op: type[Operation]) -> str | None:
    """Return that of the operation, or that of a class of such operations."""
    for each in op.__mro__:
        if found := re.search(r"```mlir\n(.*?)```", cleandoc(each.__doc__ or ""), re.S):
            named = re.compile(rf"= {op.dialect_name()}\.\w+")
            return found[1] if each is op else named.sub(f"= {op.name}", found[1])
    return None


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_docstring_example(op: type[Operation]) -> None:
    text = example(op)
    assert text, f"{op.name} has no example"

    module = parse(new_context(everything()), Source(text, f"doc of {op.name}"))
    verify(module)
    assert any(isinstance(found, op) for found in module.walk())
