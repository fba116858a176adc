"""Emission of what a target has no instruction for: what it is in terms of others.

`coopc.passes.generic` has the expansions.  Emission leaves the IR as it is: an
expansion is built beside it, emitted where its operation stands, and dropped.  So a
refusal names the operation that the user wrote, and a limit counts only these.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from coopc.emit.walker import Walker
from coopc.passes.generic.expansion import Code, Target, expansion_of, results_of


def expanded(
    walker: Walker[Any, Any],
    op: Operation,
    target: Target,
    set: Callable[[SSAValue, Any], None],
) -> bool:
    """Emit the expansion of an operation, if it needs one.

    Args:
        walker: which emits what the expansion inserts.
        op: the operation.
        target: that may lack it.
        set: says what a result became.

    Raises:
        Refusal: the operation, or what it is expanded to, has no form.
    """
    if (make := expansion_of(op, target)) is None:
        return False
    with beside(walker) as code:
        found = walker.given(results_of(make(code, op)))
    for result, became in zip(op.results, found, strict=True):
        set(result, became)
    return True


@contextmanager
def beside(walker: Walker[Any, Any]) -> Generator[Code]:
    block = Block()

    def insert(op: Operation) -> None:
        block.add_op(op)
        walker.emit(op)

    try:
        yield Code(insert)
    finally:
        block.drop_all_references()
