"""The rules of SPV_KHR_cooperative_matrix, and the page that lists them.

    PYTHONPATH=test python -m support.khr_rules

writes docs/khr_rules.md from test/rules/khr_rules.toml.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "test" / "rules" / "khr_rules.toml"
PAGE = ROOT / "docs" / "khr_rules.md"
CHECK = re.compile(r"\s*// [A-Z]+(-[A-Z]+)?: ")
"""A line that filecheck reads, of any prefix."""
STATUS = {
    "emitted": "an instruction, operand or declaration of the module that is emitted",
    "checked": "a diagnostic refuses what would break the rule",
    "run": "a program runs, on a driver or the simulator, and its results are compared",
    "not checked": "some input can break the rule without a diagnostic",
    "not expressible": "coopc has nothing to which the rule applies",
}


@dataclass(frozen=True)
class Rule:
    section: str
    text: str
    """A part of a sentence of the extension."""
    status: str
    how: str
    test: str | None = None
    """A lit file, or `path::name`."""
    shows: str | None = None
    """A part of a CHECK line of the lit file."""

    @property
    def path(self) -> Path | None:
        return None if self.test is None else ROOT / self.test.partition("::")[0]

    def why_unproven(self) -> str | None:
        """Return what of the test is not there, or None."""
        if self.test is None or self.path is None:
            return None if self.status == "not expressible" else "no test"
        if not self.path.is_file():
            return f"no file {self.test}"
        lines = self.path.read_text(encoding="utf-8").splitlines()
        _, _, name = self.test.partition("::")
        if name:
            found = any(line.startswith(f"def {name}(") for line in lines)
            return None if found else f"no test {self.test}"
        if self.shows is None:
            return "expected a part of a CHECK line"
        found = any(CHECK.match(line) and self.shows in line for line in lines)
        return None if found else f"no CHECK of {self.shows!r} in {self.test}"


def rules() -> tuple[Rule, ...]:
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    return tuple(Rule(**row) for row in data["rule"])


def page(found: Sequence[Rule]) -> str:
    """Return the page, in Markdown."""
    count = Counter(rule.status for rule in found)
    lines = [
        f"<!-- Generated from {DATA.relative_to(ROOT)} by support/khr_rules.py. -->",
        "",
        "# The rules of SPV_KHR_cooperative_matrix",
        "",
        f"{len(found)} rules, by section, each quoted in short: those of revision 6 of",
        "the extension, Copyright (c) 2020-2024 The Khronos Group Inc., and at the end",
        "what extensions of Arm (revision 1, Copyright (c) 2023 Arm Ltd.), Intel",
        "(revision 16, Copyright (c) 2023 Intel Corporation) and Qualcomm (revision 1,",
        "Copyright (c) 2025 The Khronos Group Inc.) add. Each row says what coopc",
        "does, and names the test that shows it.",
        "",
        "| status | rules | meaning |",
        "|---|---|---|",
        *(f"| {name} | {count[name]} | {text} |" for name, text in STATUS.items()),
    ]
    for section, rows in groupby(found, lambda rule: rule.section):
        lines += ["", f"## {section}", "", "| rule | status | coopc | test |"]
        lines += ["|---|---|---|---|", *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(rule: Rule) -> str:
    test = "" if rule.test is None else f"[{rule.test}](../{rule.test.split('::')[0]})"
    shows = "" if rule.shows is None else f": `{rule.shows}`"
    cells = (f"“{rule.text}”", rule.status, rule.how, test + shows)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(rules()), encoding="utf-8")
