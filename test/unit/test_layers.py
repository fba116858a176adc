"""Imports go one way: a module needs its own layer and those above it in LAYERS."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

LAYERS = (
    ("coopc",),  # the core: whatever in coopc no later layer names
    ("coopc.dialects",),
    ("coopc.ir", "coopc.passes", "coopc.emit", "coopc.sim"),
    ("coopc.run", "coopc.validate", "coopc.generate"),
    (
        *("coopc.pipeline", "coopc.pipelines", "coopc.universe", "coopc.compiler"),
        *("coopc.cache", "coopc.launcher", "coopc.tuner"),
    ),
    ("coopc.triton",),
    ("coopc.tools", "coopc.__init__"),  # the latter imports on first use
)

FOLDERS = {
    "coopc": "coopc",
    "dialects": "coopc.dialects",
    "passes": "coopc.passes",
    "tools": "coopc.tools",
}


def layer(module: str) -> int:
    """The last layer with a name that begins `module`; -1 outside coopc."""
    begins = [
        number
        for number, names in enumerate(LAYERS)
        if any(f"{module}.".startswith(f"{name}.") for name in names)
    ]
    return max(begins, default=-1)


def imports(file: Path) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Import(names):
                found += [alias.name for alias in names]
            case ast.ImportFrom(module=str(module), names=names):
                found += [f"{module}.{alias.name}" for alias in names]
            case _:
                pass
    return found


FILES = [
    (".".join((package, *file.relative_to(ROOT / folder).with_suffix("").parts)), file)
    for folder, package in FOLDERS.items()
    for file in sorted((ROOT / folder).rglob("*.py"))  # does not enter the links
]


@pytest.mark.parametrize(("module", "file"), FILES, ids=[name for name, _ in FILES])
def test_imports_go_down(module: str, file: Path) -> None:
    upward = [name for name in imports(file) if layer(name) > layer(module)]
    assert not upward


def test_every_layer_has_modules() -> None:
    names = {name for names in LAYERS for name in names}
    found = {name for name in names for module, _ in FILES if module.startswith(name)}
    assert found == names


@pytest.mark.parametrize(
    ("emitter", "other"),
    [("coopc.emit.llvm", "coopc.emit.spirv"), ("coopc.emit.spirv", "coopc.emit.llvm")],
)
def test_emitters_are_apart(emitter: str, other: str) -> None:
    """What both use is in coopc.emit itself."""
    mine = [(module, file) for module, file in FILES if module.startswith(emitter)]
    assert mine
    crossing = [
        (module, name)
        for module, file in mine
        for name in imports(file)
        if name.startswith(other)
    ]
    assert not crossing
