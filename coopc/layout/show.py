r"""Layouts and comparisons of layouts as text, and the places of a layout as one array.

    hardware_view     a line for each register, a coordinate for each lane, by subgroup
    tensor_view       a cell for each element, its owners as T<thread>:<register>
    work_item_table   a line for each component, a column for each lane of a matrix
    comparison_text   where two layouts differ, and the exchange between them

The first two are character for character what Triton's `triton-tensor-layout` prints,
with and without `-use-hw-view`; the third is the table of the coopmatrix layout's
document.  For example 2 x 4 elements with register -> (0,1) and lane -> (0,2) (1,0):

    hardware_view                        tensor_view
    Warp0:                               [[T0:0, T0:1, T1:0, T1:1]
    (0,0), (0,2), (1,0), (1,2)           [ T2:0, T2:1, T3:0, T3:1]]
    (0,1), (0,3), (1,1), (1,3)

A coordinate is as wide as the largest of its dimension; in the tensor view the padding
of thread and register stands before the cell, several owners are joined by "|", and
threads count through the subgroups of a block.  The first two do without numpy, whose
import would take most of the time that `coopc-layout` has.

A `Comparison` compares the canonical owners of each element; an element is

    kept      in the same register of the same lane
    renamed   in the same lane, in another register
    moved     in another lane

For example 2 x 2 elements by rows (A) and by columns (B) over two lanes:

               lanes of A   lanes of B
    (0,0)      0:0          0:0           kept
    (0,1)      0:1          1:0           moved
    (1,0)      1:0          0:1           moved
    (1,1)      1:1          1:1           kept

How to get from A to B is a plan of `exchange`, the one that `expand-exchanges` follows.

Laws (test/unit/layout/test_show.py checks each by its name):

    linear         the coordinates of a placement are those of the linear layout
    distribution   they are those of the distribution, padding beyond it
    both_views     the two views of a layout say the same
    parsed_back    the work-item table says what the distribution says
    counts         every element is kept, renamed or moved
    itself         a layout compared with itself keeps everything, without an exchange
    back           what moves from A to B moves from B to A
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

from coopc.layout.encodings import INPUTS, with_inputs
from coopc.layout.exchange import (
    ABSENT,
    WORD_BITS,
    ExchangePlan,
    Select,
    Shuffle,
    Step,
    candidates,
)

if TYPE_CHECKING:
    from coopc.layout.distribution import BoolArray, Distribution, IntArray
    from coopc.layout.linear import LinearLayout

FIRST_COMPONENTS = "xyzw"
Paint: TypeAlias = Callable[[str, int], str]
"""From a text about a lane, and its number, to the same text as it is shown."""


def plain(text: str, lane: int) -> str:
    return text


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """The coordinates of all places of a layout of any kind.

    For example 2 x 3 elements as row slices over 4 lanes, one block, one subgroup and
    two registers:

        coordinates[0, 0]    lane 0    lane 1    lane 2    lane 3
        register 0           (0,0)     (0,1)     (0,2)     (1,0)
        register 1           (1,1)     (1,2)     (2,0)     (2,1)

    (2,0) and (2,1) are padding: they lie beyond the tensor, and say where the formula
    would go on.

    >>> from coopc.layout.distribution import RowSlices
    >>> x = Placement.of_distribution(RowSlices(2, 3, lanes=4))
    >>> x.sizes
    {'register': 2, 'lane': 4, 'warp': 1, 'block': 1}
    >>> x.lists()[0][0][1]
    [[1, 1], [1, 2], None, None]
    """

    shape: tuple[int, ...]
    """The sizes of the tensor."""
    coordinates: IntArray
    """By block, subgroup, register, lane and dimension; beyond `shape` is padding."""

    @classmethod
    def of_linear(cls, layout: LinearLayout) -> Placement:
        """Return the placement of a layout with inputs of `encodings.INPUTS`."""
        import numpy as np

        layout = with_inputs(layout)
        tables = [table.transpose(3, 2, 0, 1) for table in layout.table().values()]
        return cls(tuple(layout.out_sizes.values()), np.stack(tables, axis=-1))

    @classmethod
    def of_distribution(cls, x: Distribution) -> Placement:
        """Return the placement of a matrix over the lanes of one subgroup."""
        import numpy as np

        return cls(x.shape, np.stack(x.unclipped_table(), axis=-1)[None, None])

    @property
    def sizes(self) -> dict[str, int]:
        """How many registers, lanes, subgroups and blocks there are."""
        blocks, warps, registers, lanes = self.coordinates.shape[:4]
        return dict(zip(INPUTS, (registers, lanes, warps, blocks), strict=True))

    @property
    def inside(self) -> BoolArray:
        """Which places hold an element, by block, subgroup, register and lane."""
        import numpy as np

        return np.all(self.coordinates < np.array(self.shape), axis=-1)

    @property
    def extent(self) -> tuple[int, ...]:
        """The sizes of the tensor with its padding."""
        import numpy as np

        far = self.coordinates.reshape(-1, len(self.shape)).max(axis=0) + 1
        return tuple(np.maximum(far, self.shape).tolist())

    def elements(self, extent: tuple[int, ...]) -> IntArray:
        """Return the row-major numbers in a tensor of a size of what places hold.

        They are in one row, by block, subgroup, lane and register.
        """
        import numpy as np

        by_lane = self.coordinates.transpose(4, 0, 1, 3, 2).reshape(len(extent), -1)
        return np.ravel_multi_index(tuple(by_lane), extent)

    def lists(self) -> list[Any]:
        """Return the coordinates as lists in lists, with None for padding."""
        import numpy as np

        inside = self.inside
        cells = np.empty(inside.shape, dtype=np.object_)
        cells[inside] = np.fromiter(self.coordinates[inside].tolist(), np.object_)
        return cells.tolist()


def hardware_view(
    layout: LinearLayout, warps: Iterable[int] | None = None, paint: Paint = plain
) -> str:
    """Return the coordinates by block, subgroup, register and lane.

    Inputs of `encodings.INPUTS` that the layout lacks are of size 1; `warps` are the
    subgroups to show, None is all.
    """
    x = Placement.of_linear(layout)
    cell = ",".join(f"{{:>{len(str(size - 1))}}}" for size in x.shape)
    shown = range(x.sizes["warp"]) if warps is None else tuple(warps)
    lines: list[str] = []
    for number, block in enumerate(x.coordinates):
        if x.sizes["block"] > 1:
            lines.append(f"Block{number}:")
        for warp in shown:
            lines.append(f"Warp{warp}:")
            for lanes in block[warp].tolist():
                places = (paint(f"({cell.format(*x)})", p) for p, x in enumerate(lanes))
                lines.append(", ".join(places))
    return "".join(f"{line}\n" for line in lines)


def tensor_view(layout: LinearLayout, paint: Paint = plain) -> str:
    """Return the owners of each element, a line for each row of the tensor.

    Inputs of `encodings.INPUTS` that the layout lacks are of size 1.

    Raises:
        ValueError: some element has no owner.
    """
    if not layout.is_surjective:
        raise ValueError(
            f"expected a layout that reaches every element, got rank {layout.rank} "
            f"for {layout.out_bits} bits"
        )
    x = Placement.of_linear(layout)
    cells, shape = _owner_texts(x, paint), x.shape
    rank, cols = len(shape), shape[-1]
    text: list[str] = []
    for row, index in enumerate(product(*map(range, shape[:-1]))):
        opened = 1 + _trailing(index, [0] * (rank - 1))
        closed = 1 + _trailing(index, [size - 1 for size in shape[:-1]])
        line = ", ".join(cells[row * cols : (row + 1) * cols])
        text.append(f"{'[' * opened}{' ' * (rank - opened)}{line}{']' * closed}\n")
    return "".join(text)


def work_item_table(x: Distribution, paint: Paint = plain) -> str:
    """Return which element each lane holds in each component, `-` for padding."""
    rows, cols = x.table()
    body = [
        [_cell(x, int(r), int(c), width) for r, c in zip(rows[v], cols[v], strict=True)]
        for v, width in enumerate(_dash_widths(x, rows, cols))
    ]
    names = FIRST_COMPONENTS if x.components <= 4 else [*map(str, range(x.components))]
    labels = [f".{name}" for name in names[: x.components]]
    first = max(map(len, labels))
    width = max(len(cell) for line in body for cell in line)
    rule = " ".join(["=" * first] + ["=" * width] * x.lanes)
    numbers = (" " * (width - len(str(p))) + paint(str(p), p) for p in range(x.lanes))
    head = " ".join(["p".ljust(first), *numbers])
    lines: list[str] = []
    for label, line in zip(labels, body, strict=True):
        cells = [
            (cell if "-" in cell else paint(cell, p)) + " " * (width - len(cell))
            for p, cell in enumerate(line)
        ]
        lines.append(" ".join([label.ljust(first), *cells]).rstrip())
    return "".join(f"{line}\n" for line in [rule, head, rule, *lines, rule])


def _cell(x: Distribution, row: int, col: int, dash: int) -> str:
    return f"{row},{col}" if row < x.rows else f"-,{'-':>{dash}}"


def _dash_widths(x: Distribution, rows: IntArray, cols: IntArray) -> Iterator[int]:
    """Yield, for each component, how wide the `-` of a column is.

    In both tables of the source it is as wide as the narrowest column number that
    stands above padding of the line.
    """
    for v in range(x.components):
        above = [
            len(str(cols[v - 1, p]))
            for p in range(x.lanes)
            if v and rows[v, p] == x.rows and rows[v - 1, p] < x.rows
        ]
        yield min(above, default=1)


def _owner_texts(x: Placement, paint: Paint) -> list[str]:
    """Return the text of each element's owners, in row-major order."""
    registers, lanes, warps, blocks = x.sizes.values()
    digits = sum(len(str(count - 1)) for count in (blocks, warps * lanes, registers))
    cells: dict[int, list[str]] = {}
    places = product(range(blocks), range(warps * lanes), range(registers))
    numbers = x.elements(x.shape).tolist()
    for element, (block, thread, register) in zip(numbers, places, strict=True):
        spare = digits - len(f"{block}{thread}{register}")
        prefix = f"B{block}:" if blocks > 1 else ""
        cell = paint(f"{prefix}T{thread}:{register}", thread % lanes)
        cells.setdefault(element, []).append(" " * spare + cell)
    return ["|".join(cells[element]) for element in sorted(cells)]


def _trailing(index: Sequence[int], edge: Sequence[int]) -> int:
    """Return how many of the last numbers are at the edge."""
    count = 0
    for value, limit in zip(reversed(index), reversed(edge), strict=True):
        if value != limit:
            break
        count += 1
    return count


class Fate(Enum):
    """What becomes of an element."""

    KEPT = "kept"
    RENAMED = "renamed"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two layouts of the same matrix over the same lanes."""

    source: Distribution
    target: Distribution
    plans: tuple[ExchangePlan, ...]
    """The ways from one to the other, the cheapest first."""

    @classmethod
    def of(
        cls,
        source: Distribution,
        target: Distribution,
        subgroup_size: int | None = None,
        element_bits: int = WORD_BITS,
    ) -> Comparison:
        """Compare two layouts.

        `subgroup_size` is the lanes that shuffles reach; None is all lanes.

        Raises:
            ValueError: shapes or lanes differ, or the subgroup size does not divide
                them.
        """
        found = candidates(source, target, subgroup_size, element_bits)
        return cls(source, target, tuple(sorted(found, key=lambda x: x.cost)))

    def owners(self) -> tuple[IntArray, IntArray]:
        """Return lane and register of each element: each 2 x M x N, source first."""
        import numpy as np

        rows = np.arange(self.source.rows, dtype=np.int64)[:, None]
        cols = np.arange(self.source.cols, dtype=np.int64)
        both = (self.source.owners(rows, cols), self.target.owners(rows, cols))
        return np.stack([lane for lane, _ in both]), np.stack([r for _, r in both])

    def fates(self) -> list[list[Fate]]:
        """Return what becomes of each element, row by row."""
        import numpy as np

        lanes, registers = self.owners()
        number = np.where(lanes[0] != lanes[1], 2, registers[0] != registers[1])
        fates = (Fate.KEPT, Fate.RENAMED, Fate.MOVED)
        return [[fates[x] for x in row] for row in number.tolist()]

    def counts(self) -> dict[Fate, int]:
        """Return how many elements are kept, renamed and moved."""
        fates = [fate for row in self.fates() for fate in row]
        return {fate: fates.count(fate) for fate in Fate}


def comparison_text(x: Comparison) -> str:
    """Return the counts, a cell for each element, and the exchanges.

    A cell is `=` for an element that is kept, else `lane:register>lane:register`.
    """
    a, b, counts = x.source, x.target, x.counts()
    lines = [
        f"{a.rows} x {a.cols} elements over {a.lanes} lanes, "
        f"{a.components} registers in A, {b.components} in B",
        ", ".join(f"{count} {fate.value}" for fate, count in counts.items())
        + "; a cell is lane:register in A > in B, = if kept",
        "",
        *_comparison_cells(x),
        "",
        *_plan_lines(x.plans),
    ]
    return "".join(f"{line}\n" for line in lines)


def _comparison_cells(x: Comparison) -> Iterator[str]:
    import numpy as np

    places: list[list[list[list[int]]]] = np.stack(x.owners(), axis=-1).tolist()
    body = [
        [
            "=" if old == new else "{}:{}>{}:{}".format(*old, *new)
            for old, new in zip(*both, strict=True)
        ]
        for both in zip(*places, strict=True)
    ]
    width = max(len(cell) for row in body for cell in row)
    for row in body:
        yield " ".join(cell.ljust(width) for cell in row).rstrip()


def _plan_lines(plans: Sequence[ExchangePlan]) -> Iterator[str]:
    best, *others = plans
    yield f"exchange: {_plan_text(best)}"
    for other in others:
        yield f"    also: {_plan_text(other)}"
    for number, step in enumerate(best.steps):
        yield f"step {number}: {'select' if isinstance(step, Select) else 'shuffle'}"
        for line in _step_lines(step, best.subgroup_size):
            yield f"  {line}"
    if best.kind in ("rename", "shuffle"):
        yield f"registers of B: {_numbers(best.places)}"


def _plan_text(x: ExchangePlan) -> str:
    counts = ((x.words, "word"), (x.selects, "select"))
    parts = [f"{count} {name}{'s' * (count > 1)}" for count, name in counts if count]
    return ", ".join((x.kind, *parts, f"cost {x.cost}"))


def _step_lines(step: Step, size: int) -> Iterator[str]:
    """Yield what is done alike, a line each: the new values, and what they are."""
    if isinstance(step, Shuffle):
        kept = [x for x, origins in enumerate(step.origins) if origins is None]
        for origins, new in step.groups().items():
            old = [step.values[x] for x in new]
            yield f"{_numbers(new)} <- {_numbers(old)} of {_origin(origins, size)}"
        if kept:
            yield f"{_numbers(kept)} <- {_numbers([step.values[x] for x in kept])}"
        return
    alike: dict[tuple[bool, ...] | None, list[int]] = {}
    for new, where in enumerate(step.where):
        is_copy = step.taken[new] == step.other[new]
        alike.setdefault(None if is_copy else where, []).append(new)
    for where, new in alike.items():
        taken, other = ([x[n] for n in new] for x in (step.taken, step.other))
        line = f"{_numbers(new)} <- {_numbers(taken)}"
        if where is not None:
            line += f" if {_lanes(where, size)}, else {_numbers(other)}"
        yield line


def _lanes(where: Sequence[bool], size: int) -> str:
    """Return a condition on the number of the lane, or the lanes for which it holds."""
    for bit in range((len(where) - 1).bit_length()):
        if all(x == bool(lane >> bit & 1) for lane, x in enumerate(where)):
            mask = 1 << bit
            return f"lane & {mask}" if mask < size else f"subgroup & {mask // size}"
    return f"lane in {_numbers([lane for lane, x in enumerate(where) if x])}"


def _origin(origins: Sequence[int], size: int) -> str:
    masks = {lane % size ^ origin for lane, origin in enumerate(origins)}
    if len(masks) == 1:
        return f"lane xor {masks.pop()}"
    lanes = dict.fromkeys(origins)
    return f"lane {_numbers(lanes if len(lanes) == 1 else origins)}"


def _numbers(numbers: Iterable[int]) -> str:
    """Return numbers in a row, `-` for padding."""
    return " ".join("-" if n == ABSENT else str(n) for n in numbers)
