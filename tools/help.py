"""What the tools say of themselves: `--help NAME`, `--list WHAT` and `--version`.

All of it is read where it is written: what a pass takes and gives in its docstring
(Before, After, Fails), its options in the fields of its class and their docstrings, the
operations of a dialect in their classes and docstrings, the names in the tables of
`coopc.universe` and `coopc.device`.
"""

from __future__ import annotations

import argparse
import inspect
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    IRDLOperation,
    OptionalDef,
    VariadicDef,
)

from coopc.device import DEVICES, Device, packaged_devices
from coopc.device.factory import SUMMARIES, usage
from coopc.diagnostic import near_match
from coopc.options import options_of
from coopc.tools.driver import versions, write_output
from coopc.universe import DIALECTS, PASSES, TARGETS, XDSL_UNIVERSE, everything

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

LISTS = ("passes", "pipelines", "dialects", "devices", "targets")
"""What `--list` can list."""

NAME_COLUMNS = 36
"""Columns for names, at most; what a longer one is follows in the next line."""
MIN_COLUMNS = 40
"""Text is wrapped for terminals at least so wide."""

LEGEND = (
    "Each device: its family, its subgroup size (lanes), the largest M x N x K of its "
    "matrix engine, and whether compiled kernels were run on it (run) or not (not run)."
)
"""What the line of a device says."""

NO_BREAK = "\u00a0"
"""A space that is in no line's end."""
FIELD = re.compile(
    r'^    ([a-z]\w*)(?:: .*| = \w+_def\(.*\))\n    ("""|")((?:.|\n)*?)\2', re.MULTILINE
)
"""A field of a class and its docstring."""
HEADING = re.compile(r"(Before|After|Fails): +|\d\. ")


@dataclass(frozen=True)
class Documentation:
    """What the source says of a pass, a target or a dialect."""

    text: str
    """Without the name that it may begin with."""
    fields: Mapping[str, str]
    """Of a class, the docstrings of its fields by name."""

    @classmethod
    def of(cls, made: type[Any]) -> Documentation:
        """Read that of a class; a pass that owns its module has it there."""
        fields: dict[str, str] = {}
        for each in reversed(made.__mro__):
            with suppress(OSError, TypeError):  # of Python itself, or without a source
                found = FIELD.findall(inspect.getsource(each))
                fields |= {name: " ".join(text.split()) for name, _, text in found}
        own = inspect.cleandoc(made.__doc__ or "")
        if own.startswith(f"{made.__name__}("):  # which `dataclass` wrote
            own = ""
        module = sys.modules[made.__module__].__doc__ or ""
        whole = module if is_complete(module) and not is_complete(own) else own
        return cls(without_name(whole), fields)


def is_complete(text: str) -> bool:
    """Whether a docstring says what a pass takes, what it gives, and when it fails."""
    matches = filter(None, map(HEADING.match, text.splitlines()))
    return {"Before", "After", "Fails"} <= {match[1] for match in matches}


def without_name(text: str) -> str:
    """A docstring without the name of what it documents in front.

    >>> without_name("`check-bounds`: no access is outside.")
    'no access is outside.'
    >>> without_name("The `xe` dialect: what one lane does.")
    'what one lane does.'
    """
    return re.sub(r"^(The )?`?[\w-]+`?( dialect)?: ", "", text.strip())


def described(name: str, columns: int = 80) -> str | None:
    """The help for what has a name: passes, targets, a dialect; None if nothing has."""
    from coopc.pipeline import flatten

    texts: list[str] = []
    universe = everything()
    for flag, known in (("p", universe.all_passes), ("t", universe.all_targets)):
        if name not in known:
            continue
        made: type[Any] = known[name]()
        documented, options = Documentation.of(made), options_of(made)
        text = reflowed(f"{name}: {documented.text}", columns)
        rows: list[tuple[str, str]] = []
        for option in options.values():
            doc = documented.fields.get(option.field, "")
            if default := option.default_text:
                doc = f"{doc} (default:{NO_BREAK}{default})".strip()
            rows.append((option.usage, doc))
        if rows:
            example = f"-{flag} '{name}{{{next(iter(options))}=..}}'"
            text += f"\nOptions, as in {example}:\n\n{table(rows, columns)}"
        if is_pipeline(made):
            steps = "".join(f"  {as_typed(step)}\n" for step in flatten([made()]))
            text += f"\nSteps, without options:\n\n{steps}"
        texts.append(text)
    if name in DIALECTS:
        dialect = universe.all_dialects[name]()
        text = reflowed(f"{name}: {summary_of(dialect)}.", columns)
        kinds = {"Operations": Operation, "Types and attributes": Attribute}
        for heading, kind in kinds.items():
            found = [x for x in members_like(name).values() if issubclass(x, kind)]
            rows = sorted((x.name, first_paragraph(own_text(x))) for x in found)
            text += section(heading, rows, columns)
        texts.append(text)
    if (member := members_like(name).get(name)) is not None:
        texts.append(described_member(member, columns))
    return "\n".join(texts) or None


def section(heading: str, rows: list[tuple[str, str]], columns: int) -> str:
    return f"\n{heading}:\n\n{table(rows, columns)}" if rows else ""


def members_like(name: str) -> Mapping[str, type[Any]]:
    """Return the operations and attributes of the dialect that a name begins with."""
    if (dialect := name.partition(".")[0]) not in DIALECTS:
        return {}
    found = everything().all_dialects[dialect]()
    return {x.name: x for x in (*found.operations, *found.attributes)}


def own_text(made: type[Any]) -> str:
    """Return the docstring that a class has itself; code in it is indented."""
    own = inspect.cleandoc(vars(made).get("__doc__") or "")
    if own.startswith(f"{made.__name__}("):  # which `dataclass` wrote
        return ""
    parts = re.split(r"^```\w*\n", f"{own}\n", flags=re.MULTILINE)
    parts[1::2] = [textwrap.indent(code, "    ") for code in parts[1::2]]
    return "".join(parts).strip("\n")


def described_member(member: type[Any], columns: int) -> str:
    """The help for an operation, or for a type or another attribute, of a dialect."""
    text = reflowed(f"{member.name}: {own_text(member)}".removesuffix(": "), columns)
    for base in member.__mro__[1:]:
        if base.__module__.startswith("coopc.") and own_text(base):
            text += f"\n{reflowed(f'{base.__name__}: {own_text(base)}', columns)}"
    documented = Documentation.of(member).fields
    if issubclass(member, EnumAttribute):
        values = ", ".join(str(x.value) for x in member.enum_type)
        return "\n".join([text, *wrapped(f"One of: {values}", columns), ""])
    if not issubclass(member, IRDLOperation):
        own: tuple[str, ...] = getattr(member, "__match_args__", ())
        rows = [(name, documented.get(name, "")) for name in own if name != "data"]
        return text + section("Parameters", rows, columns)
    definition = member.get_irdl_definition()
    if (form := definition.assembly_format) is not None:
        lines = wrapped(str(form), columns)
        text += "\n".join(["\nFormat, after the name:\n", *lines, ""])
    groups: Mapping[str, Iterable[tuple[str, object]]] = {
        "Operands": definition.operands,
        "Attributes": (definition.properties | definition.attributes).items(),
        "Results": definition.results,
        "Regions": definition.regions,
    }
    for heading, found in groups.items():
        rows = [
            (name, ": ".join(filter(None, (kind_of(x), documented.get(name)))))
            for name, x in found
        ]
        text += section(heading, rows, columns)
    return text


def kind_of(defined: object) -> str:
    """Say what an operand, a result or an attribute may be, as far as it has a name.

    >>> from xdsl.dialects.builtin import IndexType
    >>> from xdsl.irdl import OptOperandDef
    >>> kind_of(OptOperandDef(IndexType()))
    'optional index'
    """
    many = "optional " if isinstance(defined, OptionalDef) else ""
    if isinstance(defined, VariadicDef) and not many:
        many = "any number of "
    return many + (constraint_text(defined) or "value" + "s" * many.startswith("any"))


def constraint_text(constraint: object) -> str:
    parts: Iterable[object] = getattr(constraint, "attr_constrs", ())
    if texts := [constraint_text(each) for each in parts]:
        return " or ".join(filter(None, texts))
    names = ("attr", "base_attr", "constraint", "constr")
    inner = [x for name in names if (x := getattr(constraint, name, None)) is not None]
    match inner:
        case [Attribute() as only, *_]:
            return str(only)
        case [type() as only, *_]:
            return getattr(only, "name", only.__name__)
        case [only, *_]:
            return constraint_text(only)
        case _:
            return ""


def as_typed(step: ModulePass) -> str:
    """A pass with its options, named as in the lists of options: by hyphens."""
    return re.sub(r"(?<=[{ ])\w+(?==)", lambda x: x[0].replace("_", "-"), str(step))


def reflowed(text: str, columns: int) -> str:
    r"""Wrap what is too long; code, which is indented, stays as it is.

    >>> print(reflowed("Before:  one two\n         three\n\n    a  b", 18))
    Before:  one two
             three
    <BLANKLINE>
        a  b
    <BLANKLINE>
    >>> print(reflowed("Before:  one two\n         three\nAfter:   four", 17))
    Before:  one two
             three
    After:   four
    <BLANKLINE>
    """
    items: list[list[str]] = []
    for line in text.splitlines():
        if not (items and line and items[-1][0]) or HEADING.match(line):
            items.append([])
        items[-1].append(line)
    lines: list[str] = []
    for item in items:
        if item[0].startswith(" ") or all(len(line) <= columns for line in item):
            lines += item
            continue
        heading = HEADING.match(item[0])
        indent = " " * (heading.end() if heading else 0)
        joined = " ".join([item[0], *map(str.strip, item[1:])])
        lines += wrapped(joined, columns, indent)
    return "\n".join([*lines, ""])


def wrapped(text: str, columns: int, indent: str = "") -> list[str]:
    """The lines of `text`, all but the first indented; nothing is broken at hyphens."""
    lines = textwrap.wrap(
        text,
        max(columns, MIN_COLUMNS),
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace(NO_BREAK, " ") for line in lines]


def table(rows: Iterable[tuple[str, str]], columns: int | None) -> str:
    """Names and what they are, a line each, wrapped unless `columns` is None."""
    rows = list(rows)
    wide = max(len(name) for name, _ in rows) + 4
    if columns is not None:
        wide = min(wide, NAME_COLUMNS, max(columns - MIN_COLUMNS, 8))
    lines: list[str] = []
    for name, text in rows:
        start = f"  {name}".ljust(wide)
        if columns is None:
            lines.append(f"{start}  {text}".rstrip())
            continue
        if len(name) + 4 > wide:
            lines.append(start)
            start = " " * wide
        first, *rest = wrapped(text, columns - wide) or [""]
        lines.append(f"{start}{first}".rstrip())
        lines += (" " * wide + line for line in rest)
    return "\n".join([*lines, ""])


def listed(
    what: str, columns: int | None = None, fits: Callable[[Device], bool] | None = None
) -> str:
    """Return one of `LISTS`, a line for each name, of any length if `columns` is None.

    `fits` says which devices are listed, if not all.
    """
    if what == "devices":
        devices = (x for x in DEVICES.values() if fits is None or fits(x))
        rows = [(x.name, x.summary) for x in devices]
        rows += packaged_rows(fits)
        if fits is None:
            rows += [(f"{x}{{..}}", f"{y}: {usage(x)}") for x, y in SUMMARIES.items()]
        legend = wrapped(LEGEND, columns or 80)
        return "\n".join([table(rows, columns), *legend, ""])
    part = f"all_{what}".replace("pipelines", "passes")
    known = getattr(everything(), part)
    others = sorted(getattr(XDSL_UNIVERSE, part))
    own = {"all_passes": PASSES, "all_dialects": DIALECTS, "all_targets": TARGETS}
    rows: list[tuple[str, str]] = []
    for name in [*own[part], *(known.keys() - own[part].keys() - {*others})]:
        found = loaded(known[name])
        if part != "all_passes" or is_pipeline(found) == (what == "pipelines"):
            rows.append((name, summary_of(found)))
    text = table(rows, columns)
    if what == "pipelines":
        return text
    more = wrapped(f"Of xDSL: {', '.join(others)}", columns or 80, "  ")
    return "\n".join([text, *more, ""])


def loaded(load: Callable[[], Any]) -> Any:
    """Return what another package may have, or the text why it cannot be loaded."""
    try:
        return load()
    except Exception as error:
        return f"cannot be loaded: {error}"


def packaged_rows(fits: Callable[[Device], bool] | None) -> Iterator[tuple[str, str]]:
    """Yield the devices of other packages, by the names of their entry points."""
    for name, load in packaged_devices().items():
        try:
            found = load()
        except ValueError as error:
            yield name, str(error)
        else:
            if fits is None or fits(found):
                yield name, found.summary


def is_pipeline(found: object) -> bool:
    from coopc.pipeline import Pipeline

    return isinstance(found, type) and issubclass(found, Pipeline)


def summary_of(found: Any) -> str:
    """Return the first paragraph on a dialect, or on the class of a pass or target.

    A text is returned as it is.
    """
    if isinstance(found, str):
        return found
    if isinstance(found, type):
        text = Documentation.of(found).text
    else:
        defined = [*found.operations, *found.attributes]
        own = defined[0].__module__ if defined else __name__
        module = DIALECTS.get(found.name, own).partition(":")[0]
        text = without_name(sys.modules[module].__doc__ or "")
    return first_paragraph(text)


def first_paragraph(text: str) -> str:
    """The first paragraph of a docstring in one line, without the full stop."""
    return " ".join(text.split("\n\n")[0].split()).removesuffix(".")


def add_help(add: Callable[..., argparse.Action]) -> None:
    add(
        "-h",
        "--help",
        nargs="?",
        action=HelpAction,
        metavar="NAME",
        help="describe a pass, pipeline, target, dialect or operation, or this tool, "
        "and exit",
    )


def add_about(
    add: Callable[..., argparse.Action],
    *lists: str,
    fits: Callable[[Device], bool] | None = None,
) -> None:
    """Add `--list` and `--version`; the name of the only list may be left out."""
    what = f"list {' | '.join(lists)} and exit"
    only = lists[0] if len(lists) == 1 else None
    nargs, name = ("?", only) if only else (None, "WHAT")
    named = partial(add, "--list", nargs=nargs, const=only, metavar=name, help=what)
    named(action=ListAction, lists=lists, fits=fits)
    what = "print the versions of coopc and of the tools it uses, and exit"
    add("-v", "--version", nargs=0, action=VersionAction, help=what)


class HelpAction(argparse.Action):
    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, *_: Any
    ) -> None:
        columns = shutil.get_terminal_size().columns
        if values is None:
            pipelines = listed("pipelines", columns)
            finish(parser, f"{parser.format_help()}\npipelines:\n{pipelines}")
        text = described(values, columns)
        if text is None:
            universe = everything()
            known = {*universe.all_passes, *universe.all_targets, *DIALECTS}
            known |= members_like(values).keys()
            near = near_match(values, known) or ", see --list passes"
            what = "pass, pipeline, target, dialect or operation"
            parser.error(f"unknown {what} '{values}'{near}")
        finish(parser, text)


class ListAction(argparse.Action):
    def __init__(
        self,
        *args: Any,
        lists: tuple[str, ...],
        fits: Callable[[Device], bool] | None = None,
        **kwargs: Any,
    ):
        super().__init__(*args, **kwargs)
        self.lists = lists
        self.fits = fits

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, *_: Any
    ) -> None:
        what = values or self.const
        if what not in self.lists:
            expected = f", expected {', '.join(self.lists)}"
            near = near_match(what, self.lists) or expected
            parser.error(f"unknown list '{what}'{near}")
        terminal = sys.stdout.isatty()
        columns = shutil.get_terminal_size().columns if terminal else None
        finish(parser, listed(what, columns, self.fits))


class VersionAction(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        finish(parser, versions(parser.prog))


def finish(parser: argparse.ArgumentParser, text: str) -> NoReturn:
    write_output(None, text.encode())
    parser.exit()
