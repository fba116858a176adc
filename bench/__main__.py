"""`python -m bench [module ...]`: measure, and print a table."""

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.harness import Row


def main() -> None:
    here = Path(__file__).parent
    found = sorted(x.stem for x in here.glob("*.py"))
    names = sys.argv[1:] or [
        name for name in found if name != "harness" and not name.startswith("_")
    ]
    show(row for name in names for row in _measured(name))


def _measured(module: str) -> Iterator[Row]:
    yield from import_module(f"bench.{module}").measure()


def show(rows: Iterable[Row]) -> None:
    """Print a table."""
    table = Table("measurement", "median", "wanted", "", title="coopc")
    for row in rows:
        value = f"{row.value:.4g} {row.unit}"
        table.add_row(row.name, value, row.wanted, row.verdict)
    Console().print(table)


if __name__ == "__main__":
    main()
