"""Each rule of SPV_KHR_cooperative_matrix is shown by a test, and the page lists it."""

from collections import Counter
from dataclasses import replace

import pytest
from support.khr_rules import PAGE, STATUS, Rule, page, rules

RULES = rules()
MAX_NOT_EXPRESSIBLE = 5


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.section}: {rule.text}")
def test_rule(rule: Rule) -> None:
    assert rule.status in STATUS
    assert rule.how.endswith(".")
    assert rule.why_unproven() is None


def test_each_rule_is_listed_once() -> None:
    count = Counter((rule.section, rule.text) for rule in RULES)
    assert [name for name, times in count.items() if times > 1] == []


def test_few_rules_are_not_expressible() -> None:
    found = [rule for rule in RULES if rule.status == "not expressible"]
    assert len(found) <= MAX_NOT_EXPRESSIBLE


def test_page_is_generated() -> None:
    """`PYTHONPATH=test python -m support.khr_rules` writes it."""
    assert PAGE.read_text(encoding="utf-8") == page(RULES)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"test": "test/emit/nothing.mlir"}, "no file"),
        ({"test": "test/unit/test_khr_rules.py::test_nothing"}, "no test"),
        ({"shows": "OpNothing"}, "no CHECK of"),
        ({"shows": None}, "expected a part"),
        ({"test": None}, "no test"),
    ],
)
def test_a_rule_without_a_test_is_found(
    change: dict[str, str | None], reason: str
) -> None:
    rule = Rule("", "", "emitted", ".", "test/emit/khr_rules.mlir", "OpFConvert")
    assert rule.why_unproven() is None
    assert (replace(rule, **change).why_unproven() or "").startswith(reason)
