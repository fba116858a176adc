"""All of a module is rewritten, or nothing is: a rule refuses where it stands.

    with transaction(module) as draft:
        rewrite(draft)  # raises `Refused(op, reason)` wherever it finds that it cannot

`draft` is a clone, whose contents replace those of `module` at the end.  Without this a
pass that is to leave the IR as it was when it fails needs each condition twice: in a
check that runs over all operations before, and where it matters.

Laws (`test_transaction.py`): what is refused leaves the module as it was, and names the
operation of the module; what is not refused leaves the module as the draft was.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException


class Refused(Exception):
    """Why a pass cannot convert an operation."""

    def __init__(self, op: Operation, reason: str) -> None:
        super().__init__(reason)
        self.op = op
        self.reason = reason

    def report(self, op: Operation | None = None) -> NoReturn:
        """Raise a `PassFailedException` about the operation, or about another one."""
        error = PassFailedException(self.reason)
        (op or self.op).emit_error(self.reason, error)


@contextmanager
def transaction(module: ModuleOp) -> Generator[ModuleOp]:
    """Give a clone of a module, which the module becomes if nothing is refused.

    Raises:
        PassFailedException: the block raised `Refused`; the error is about the same
            operation of the module, or about what is around it if a rule has made it.
    """
    draft = module.clone()
    copies = list(draft.walk())
    try:
        yield draft
    except Refused as error:
        refused = error
    else:
        module.attributes = draft.attributes
        module.detach_region(0)
        module.add_region(draft.detach_region(0))
        return
    originals = dict(zip(copies, module.walk(), strict=True))
    op: Operation | None = refused.op
    while op is not None and op not in originals:
        op = op.parent_op()
    refused.report(module if op is None else originals[op])
