"""Tuning files: which plans were the fastest on a machine, in TOML or JSON.

`coopc-tune` writes them, and the option `tuning` of pipelines reads them:

    version = 1
    coopc = "0.1.0"
    pipeline = "coopc-khr"
    target = "nvidia"
    device = "NVIDIA H200"
    driver = "NVIDIA 580.159.04"
    products = [
      { product = "16x4096x4096 f16 f16 f32", choice = { tile = [16, 16, 16] } },
    ]

What decides a plan, in this order: the options of a pipeline, the file, the row of the
device, the model.  A file is for one machine, one version of coopc and the products in
it: anything else is refused by name.  It says only what of a plan is free, a `Choice`;
plans check themselves.

Laws (test/unit/plan/test_tuning.py):
  written   what is written is read again as it is
  choice    the plan by the choice of a plan is that plan
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from coopc.device import ELEMENT_BITS, Device, GemmTiles, note_asked
from coopc.device.cpu import VECTOR_TILE
from coopc.device.file import read_file, record, written
from coopc.plan.core_gemm import (
    THIN_ROWS,
    Block,
    check_block,
    is_of_amx,
    is_of_dots,
    is_thin,
    plan_amx_gemm,
    plan_vector_gemm,
)
from coopc.plan.gemm import (
    GemmPlan,
    Packed,
    Panel,
    Problem,
    direct_tile,
    is_of_vector,
    plan_direct_gemm,
    plan_staged_gemm,
    staged_by,
)

PipelineName: TypeAlias = Literal["coopc-khr", "coopc-lanes", "coopc-amx", "coopc-cpu"]
"""The pipelines that take a tuning file."""

KINDS: Mapping[PipelineName, tuple[str, ...]] = {
    "coopc-khr": ("tiles", "tile"),
    "coopc-lanes": ("tile",),
    "coopc-amx": ("block",),
    "coopc-cpu": ("registers",),
}
"""What choices for them have."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is free of a plan: tiles of several subgroups, a tile of one, or a block."""

    tiles: GemmTiles | None = None
    """Of several subgroups, on coopc-khr."""
    tile: tuple[int, int, int] | None = None
    """M, N and K of one subgroup."""
    block: Block | None = None
    """Panels of A, panels of B, and K, that a core computes at a time."""
    registers: tuple[int, int] | None = None
    """Rows and columns of the sums of a block that are in vector registers at a time;
    None for tiles of AMX."""

    def __post_init__(self) -> None:
        kinds = sum(x is not None for x in (self.tiles, self.tile, self.block))
        numbers = [*(self.tile or ()), *(self.block or ()), *(self.registers or ())]
        numbers += [1 + self.tiles.band] if self.tiles else []
        is_strange = self.registers is not None and self.block is None
        if kinds != 1 or is_strange or min(numbers, default=1) < 1:
            raise ValueError(
                "expected tiles, a tile, or a block with or without registers, in "
                f"numbers of 1 or more, got {self}"
            )
        if self.block is not None and self.registers is None:
            check_block(self.block)

    def __str__(self) -> str:
        given = self.tiles or self
        values: dict[str, Any] = {
            x.name: getattr(given, x.name)
            for x in fields(given)
            if getattr(given, x.name) != x.default
        }
        return ", ".join(
            f"{name} {'x'.join(map(str, cast(Any, x))) if isinstance(x, tuple) else x}"
            for name, x in values.items()
        )


def read_choice(text: str) -> Choice:
    """Return the choice that an attribute holds, a table of JSON.

    Raises:
        ValueError: it holds none.
    """
    return record(Choice, json.loads(text), "the choice")


@dataclass(frozen=True, slots=True)
class TunedProduct:
    product: str
    """As `described` says it."""
    choice: Choice


@dataclass(frozen=True, slots=True)
class Tuning:
    """A tuning file."""

    coopc: str
    """The version that it was made with."""
    pipeline: PipelineName
    device: str
    """The processor or GPU, as its driver names it."""
    driver: str
    """Its name and version; on a processor LLVM's."""
    products: tuple[TunedProduct, ...]
    target: str = ""
    """The device of the pipeline's option; empty where it has none."""
    threads: int = 1
    """Of a processor."""
    arguments: tuple[str, ...] = ()
    """For people, as the rest: those that were given, as coopc-run reads them."""
    milliseconds: float = 0.0
    """That the program took."""
    before: float = 0.0
    """The same by the built-in plans."""

    def __post_init__(self) -> None:
        kinds, known = KINDS[self.pipeline], set[str]()
        for each in self.products:
            if each.product in known:
                raise ValueError(
                    f"products: expected {each.product} once, got it twice"
                )
            known.add(each.product)
            if not any(getattr(each.choice, x) for x in kinds):
                expected = f"{' or '.join(kinds)}, which {self.pipeline} takes"
                raise ValueError(f"products: expected {expected}, got {each.choice}")

    def choice(self, problem: Problem) -> Choice | None:
        wanted = described(problem)
        found = (x.choice for x in self.products if x.product == wanted)
        return next(found, None)

    def why_not(self, reason: str, **wanted: object) -> str | None:
        """Return which key is not as wanted for a reason, or None."""
        for key, value in wanted.items():
            if (given := getattr(self, key)) != value:
                return f"{key}: expected {value!r}, which {reason}, got {given!r}"
        return None


def read_tuning(path: str) -> Tuning:
    """Return what a tuning file says.

    Raises:
        ValueError: it cannot be read, or is wrong: where, and what was expected.
    """
    found = read_file(Path(path), lambda given: record(Tuning, given))
    note_asked("tuning", path, lambda: written(found))
    return found


def this_machine(flavour: str, target: str) -> Any:
    """Return what `coopc.run.machine` says of this one, which the core does not import.

    Raises:
        ValueError: it cannot be asked.
    """
    asked = f"{flavour} {target}"
    note_asked("machine", asked, lambda: machine_answer(asked))
    return _machine(asked)


def machine_answer(asked: str) -> str:
    """Return what a machine says, or why it cannot be asked, for a cache."""
    try:
        return str(_machine(asked))
    except ValueError as error:
        return str(error)


def _machine(asked: str) -> Any:
    return import_module("coopc.run.machine").machine_of(*asked.split(" ", 1))


# --- what is multiplied ---------------------------------------------------------------


def described(problem: Problem) -> str:
    """Return what decides a plan, as text: M x N x K, element types, and memory.

    >>> from coopc.plan.gemm import GemmOperand
    >>> f16 = GemmOperand("memref<8x?xf16>", "f16", (None, 8), (1, 9), transposed=True)
    >>> f32 = GemmOperand("memref<?x8xf32>", "f32", (None, 8), (8, 1))
    >>> described(Problem(f32, f16, f32))
    '?x8x8 f32 f16 f32, b transposed, added to c'
    """

    def text(sizes: tuple[int | None, ...], between: str) -> str:
        return between.join("?" if x is None else str(x) for x in sizes)

    named = {"a": problem.a, "b": problem.b, "c": problem.c}
    sizes = text((*problem.c.shape, problem.a.shape[1]), "x")
    words = [" ".join((sizes, *problem.elements))]
    words += ["batched"] * problem.batched
    for name, operand in named.items():
        words += [f"{name} transposed"] * operand.transposed
        if operand.row_alignment or not operand.contiguous:
            words.append(f"{name} with strides {text(operand.strides, ' ')}")
    words += ["added to c"] * (problem.fill == "nothing")
    words += [f"stores {x.memory.element}" for x in problem.outputs]
    return ", ".join(words)


# --- what multiplies ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Engine:
    """What a pipeline compiles products for."""

    pipeline: PipelineName
    device: Device | None = None
    """Of coopc-khr and coopc-lanes."""
    staged: bool = False
    """Whether several subgroups share tiles, on coopc-khr."""
    threads: int = 1
    """Of a processor, as is the tile."""
    tile: tuple[int, int] = VECTOR_TILE
    """Rows and columns of sums in vector registers, by default."""


def built_in_plan(problem: Problem, engine: Engine) -> GemmPlan | str:
    """Return the plan without a file, or why there is none that could be another."""
    device, threads = engine.device, engine.threads
    few = is_thin(problem) or is_of_dots(problem)
    if engine.pipeline in ("coopc-amx", "coopc-cpu") and few:
        return f"B is read in place for fewer than {THIN_ROWS} rows of C"
    if is_of_vector(problem, device):
        return "a product of one row or column uses no tiles"
    if engine.pipeline == "coopc-amx" and is_of_amx(problem):
        return plan_amx_gemm(problem, threads)
    if engine.pipeline in ("coopc-amx", "coopc-cpu"):
        return plan_vector_gemm(problem, threads, None, engine.tile)
    if engine.pipeline == "coopc-lanes":
        tile = direct_tile(None, problem.elements, problem.c.shape)
        return plan_direct_gemm(problem, device, tile)
    assert device is not None, engine
    if engine.staged:
        found = plan_staged_gemm(problem, device)
        if not isinstance(found, str):
            return found
    return plan_direct_gemm(problem, device)


def plan_by(choice: Choice, problem: Problem, engine: Engine) -> GemmPlan | str:
    """Return the plan by a choice, or why there is none."""
    if choice.tiles is not None:
        if engine.device is None or not engine.staged:
            return "no subgroups share tiles"
        return staged_by(choice.tiles, problem, engine.device)
    if not choice.block:
        return plan_direct_gemm(problem, engine.device, choice.tile)
    if choice.registers:
        return plan_vector_gemm(problem, engine.threads, choice.block, choice.registers)
    return plan_amx_gemm(problem, engine.threads, choice.block)


def choice_of(plan: GemmPlan, problem: Problem, engine: Engine) -> Choice:
    """Return the choice whose plan this is."""
    (m, n), (sub_m, sub_n) = plan.group, plan.subgroup
    if isinstance(plan.b, Panel):
        a, _ = plan.panels
        tiles = GemmTiles(
            plan.group,
            plan.subgroup,
            plan.step,
            a.copies,
            a.gaps,
            plan.band,
            plan.unroll,
            plan.sliced,
            plan.split,
            plan.ahead,
        )
        return Choice(tiles)
    if not isinstance(plan.b, Packed):
        return Choice(tile=(m, n, plan.depth))
    block = m // sub_m, n // sub_n, plan.step // plan.depth
    if engine.pipeline == "coopc-amx" and is_of_amx(problem):
        return Choice(block=block)
    columns = sub_n * ELEMENT_BITS[problem.c.element] // 32
    return Choice(block=block, registers=(sub_m, columns))
