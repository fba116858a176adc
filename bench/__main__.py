"""`python -m bench [module ...]`: measure, and print a table."""

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.harness import Row


def main() -> None:
    found = sorted(x.stem for x in Path(__file__).parent.glob("*.py"))
    known = [x for x in found if x != "harness" and not x.startswith("_")]
    parser = ArgumentParser(prog="bench", description="Measure, and print a table.")
    parser.add_argument("module", nargs="*", help=f"of {', '.join(known)}; else all")
    names = parser.parse_args().module or known
    if unknown := sorted({*names} - {*known}):
        parser.error(f"expected {', '.join(known)}, got {', '.join(unknown)}")
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
