"""What ARCHITECTURE.md says of files and names is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
(TABLE,) = re.findall(r"## Where to look\n(.*?)\n## ", TEXT, re.DOTALL)
ROWS = re.findall(r"\| `(\S+)` \| `(\w+)`(?: \(`(\w+)`\))? \|", TABLE)
PATHS = sorted({*re.findall(r"`((?:\w+/)+\w+\.py)`", TEXT)})


@pytest.mark.parametrize(("file", "name", "member"), ROWS)
def test_name_is_there(file: str, name: str, member: str) -> None:
    source = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"^ *(?:def|class) {name}\b|^{name}\b.* = ", source, re.MULTILINE)
    assert not member or re.search(rf"^    {member}\b", source, re.MULTILINE)


def test_table_is_read() -> None:
    assert len(ROWS) == TABLE.count("\n|") - 2


@pytest.mark.parametrize("path", PATHS)
def test_file_is_there(path: str) -> None:
    assert (ROOT / path).is_file()
