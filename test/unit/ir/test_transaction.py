"""All of a module is rewritten, or nothing is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.ir.transaction import Refused, transaction
from coopc.xdsl_gaps import blamed, blaming


def nested() -> tuple[ModuleOp, Operation, Operation]:
    """Return a module, an operation in it, and one in a region of that."""
    inner = test.TestTermOp(attributes={"name": StringAttr("inner")})
    outer = test.TestOp(regions=[Region()], attributes={"name": StringAttr("outer")})
    module = ModuleOp([outer])
    outer.regions[0].add_block(ModuleOp([inner]).body.detach_block(0))
    return module, outer, inner


def mark(draft: ModuleOp) -> None:
    """Change all of a module."""
    for op in draft.walk():
        op.attributes["seen"] = UnitAttr()
    Rewriter.insert_op(test.TestOp(), InsertPoint.at_end(draft.body.block))


def failing(module: ModuleOp, error: Callable[[ModuleOp], Exception]) -> None:
    """Change a module, then raise something."""
    with blaming(), transaction(module) as draft:
        mark(draft)
        raise error(draft)


def test_a_module_becomes_its_draft() -> None:
    module, *_ = nested()
    with transaction(module) as draft:
        mark(draft)
        wanted = str(draft)
        assert "seen" not in str(module)
    assert str(module) == wanted
    module.verify()
    assert all(op.parent_op() is not None for op in module.body.walk())


def test_a_refusal_changes_nothing_and_names_the_operation() -> None:
    module, _, inner = nested()
    before = str(module)

    def refuse(draft: ModuleOp) -> Exception:
        outer = draft.body.block.first_op
        assert outer is not None
        op = outer.regions[0].block.first_op
        assert op is not None
        return Refused(op, "no reason")

    with pytest.raises(PassFailedException, match="no reason") as caught:
        failing(module, refuse)
    assert str(module) == before
    assert blamed(caught.value) == (inner, "no reason")


def test_what_a_rule_has_made_is_named_by_what_is_around_it() -> None:
    module, outer, _ = nested()

    def refuse(draft: ModuleOp) -> Exception:
        first = draft.body.block.first_op
        assert first is not None
        made = test.TestOp()
        Rewriter.insert_op(made, InsertPoint.at_end(first.regions[0].block))
        return Refused(made, "made")

    with pytest.raises(PassFailedException) as caught:
        failing(module, refuse)
    assert blamed(caught.value) == (outer, "made")


def test_other_exceptions_change_nothing() -> None:
    module, *_ = nested()
    before = str(module)
    with pytest.raises(ValueError, match="wrong call"):
        failing(module, lambda draft: ValueError("wrong call"))
    assert str(module) == before
