r"""Tables of layouts for a terminal: what each place holds, and where each element is.

    hardware_view     a line for each register, a coordinate for each lane, by subgroup
    tensor_view       a cell for each element, its owners as T<thread>:<register>
    work_item_table   a line for each component, a column for each lane of a matrix

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

Laws (test/unit/layout/test_draw.py checks each by its name):

    both_views   the two views of a layout say the same
    parsed_back  the work-item table says what the distribution says
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING

from coopc.layout.encoding import with_inputs

if TYPE_CHECKING:
    from coopc.layout.distribution import Distribution, IntArray
    from coopc.layout.linear import LinearLayout

FIRST_COMPONENTS = "xyzw"


def hardware_view(layout: LinearLayout, warps: Iterable[int] | None = None) -> str:
    """Return the coordinates by block, subgroup, register and lane.

    Args:
        layout: with inputs of `encoding.INPUTS`; those that it lacks are of size 1.
        warps: the subgroups to show; None is all.
    """
    registers, lanes, places, blocks = _images(layout)
    cells = _Coordinates(layout)
    shown = range(len(places)) if warps is None else tuple(warps)
    lines: list[str] = []
    for number, block in enumerate(blocks):
        if len(blocks) > 1:
            lines.append(f"Block{number}:")
        for warp in shown:
            lines.append(f"Warp{warp}:")
            for register in registers:
                first = block ^ places[warp] ^ register
                lines.append(", ".join([cells[first ^ lane] for lane in lanes]))
    return "".join(f"{line}\n" for line in lines)


def tensor_view(layout: LinearLayout) -> str:
    """Return the owners of each element, a line for each row of the tensor.

    Args:
        layout: with inputs of `encoding.INPUTS`; those that it lacks are of size 1.

    Raises:
        ValueError: some element has no owner.
    """
    if not layout.is_surjective:
        raise ValueError(
            f"expected a layout that reaches every element, got rank {layout.rank} "
            f"for {layout.out_bits} bits"
        )
    shape = list(layout.out_sizes.values())
    cells = _owners(layout)
    rank, cols = len(shape), shape[-1]
    text: list[str] = []
    for row, index in enumerate(product(*map(range, shape[:-1]))):
        opened = 1 + _trailing(index, [0] * (rank - 1))
        closed = 1 + _trailing(index, [size - 1 for size in shape[:-1]])
        line = ", ".join(cells[row * cols : (row + 1) * cols])
        text.append(f"{'[' * opened}{' ' * (rank - opened)}{line}{']' * closed}\n")
    return "".join(text)


def work_item_table(x: Distribution) -> str:
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
    head = " ".join(["p".ljust(first), *(f"{p:>{width}}" for p in range(x.lanes))])
    lines = [
        " ".join([label.ljust(first), *(cell.ljust(width) for cell in line)]).rstrip()
        for label, line in zip(labels, body, strict=True)
    ]
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


def _images(layout: LinearLayout) -> list[list[int]]:
    """Return the packed coordinates of each input's values, the others being 0."""
    found: list[list[int]] = []
    for _, bases in with_inputs(layout).ins:
        images = [0]
        for basis in bases:
            images += [image ^ basis for image in images]
        found.append(images)
    return found


class _Coordinates(dict[int, str]):
    """The text of packed coordinates, made when it is asked for."""

    def __init__(self, layout: LinearLayout):
        super().__init__()
        self.layout = layout
        self.widths = [len(str(size - 1)) for size in layout.out_sizes.values()]

    def __missing__(self, packed: int) -> str:
        values = zip(self.layout.unpack(packed), self.widths, strict=True)
        text = f"({','.join(f'{value:>{width}}' for value, width in values)})"
        self[packed] = text
        return text


def _owners(layout: LinearLayout) -> list[str]:
    """Return the text of each element's owners, in row-major order."""
    registers, lanes, warps, blocks = images = _images(layout)
    counts = (len(blocks), len(lanes) * len(warps), len(registers))
    digits = sum(len(str(count - 1)) for count in counts)
    cells: dict[int, list[str]] = {}
    for block, warp, lane in product(*(range(len(each)) for each in images[:0:-1])):
        thread = lane + warp * len(lanes)
        first = blocks[block] ^ warps[warp] ^ lanes[lane]
        prefix = f"B{block}:" if len(blocks) > 1 else ""
        for register, image in enumerate(registers):
            spare = digits - len(f"{block}{thread}{register}")
            cell = f"{' ' * spare}{prefix}T{thread}:{register}"
            cells.setdefault(first ^ image, []).append(cell)
    return ["|".join(cells[element]) for element in sorted(cells, key=layout.unpack)]


def _trailing(index: Sequence[int], edge: Sequence[int]) -> int:
    """Return how many of the last numbers are at the edge."""
    count = 0
    for value, limit in zip(reversed(index), reversed(edge), strict=True):
        if value != limit:
            break
        count += 1
    return count
