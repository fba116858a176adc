"""How a matrix multiplication is shared out under SPV_KHR_cooperative_matrix: tiles.

A work-group computes a tile of C, its subgroups a part of that each.  Step by step
along K, the work-group brings a tile of A and one of B to work-group memory, from which
all subgroups load their matrices:

    tile of A in work-group memory, step = 32 of f16, rows of 4 + 1 pieces of 16 bytes

    row 0   | 0..7 | 8..15 | 16..23 | 24..31 | (gap) |
    row 1   | 0..7 | ...

An odd number of pieces a row: then eight consecutive rows begin in different banks.

With `sliced` tiles, B comes in slices, the K of one multiplication each, and three of
them are in work-group memory; A comes whole.  That leaves room for a step of 64, so
that whole lines of 128 bytes of A are read at a time.

Figures and a check of them, without any IR: `why_not` says what is wrong.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from coopc.device import ELEMENT_BITS, Device, MatrixShape

WIDTHS = (16, 8, 4)
"""Bytes that a work-item copies at a time, the most first."""

SLICES = 3
"""Slices of B in work-group memory: one is stored while two are read."""


@dataclass(frozen=True, slots=True)
class GemmTiles:
    """The sizes of a multiplication, in elements; see the top of the file."""

    group: tuple[int, int]
    """M and N of a work-group."""
    subgroup: tuple[int, int]
    """M and N of a subgroup; divides `group`."""
    step: int
    """K of what is in work-group memory at a time."""
    stages: int = 2
    """Tiles of A and of B in work-group memory: with 2, the next ones are written while
    the work-group multiplies those that are there."""
    gaps: bool = True
    """Whether rows in work-group memory have an odd number of pieces."""
    band: int = 0
    """Rows of work-groups that follow each other column by column, so that those that
    run at one time read few rows and columns; 0 for the order of the grid."""
    unroll: bool = False
    """Whether the driver is asked to write out the loop along K, or not to."""
    sliced: bool = False
    """Whether B comes in slices, with 1 stage of A; see the top of the file."""

    @property
    def subgroups(self) -> int:
        """Subgroups of a work-group."""
        (m, n), (sub_m, sub_n) = self.group, self.subgroup
        return (m // sub_m) * (n // sub_n)


@dataclass(frozen=True, slots=True)
class Panel:
    """A tile of A or B as it is in work-group memory: rows of pieces."""

    rows: int
    """Along the dimension of memory that is not contiguous."""
    cols: int
    """Elements of a row."""
    element_bytes: int
    width: int
    """Bytes of a piece."""
    gaps: bool

    @property
    def per_piece(self) -> int:
        """Elements of a piece."""
        return self.width // self.element_bytes

    @property
    def pieces(self) -> int:
        """Pieces of a row that hold elements."""
        return self.cols // self.per_piece

    @property
    def stride(self) -> int:
        """Pieces from row to row."""
        return self.pieces | 1 if self.gaps else self.pieces

    @property
    def size(self) -> int:
        """Bytes."""
        return self.rows * self.stride * self.width

    @property
    def interleaved(self) -> int:
        """From how many rows each eight work-items copy pieces; 1 for row after row.

        Where rows are shorter than eight pieces and their stride is odd, pieces of rows
        that are `pieces` apart are in different banks.
        """
        if self.stride % 2 == 0 or 8 % self.pieces or self.rows % 8:
            return 1
        return 8 // self.pieces


def panel(
    sizes: tuple[int, int], grain: int, element: str, work_items: int, gaps: bool
) -> Panel | None:
    """A tile with the widest pieces of which each work-item copies equally many.

    Args:
        sizes: of the tile, that along the contiguous dimension last.
        grain: the size along that of the matrices that the tile is made of.
        element: the type of an element.
        work_items: that copy it.
        gaps: see `GemmTiles`.

    >>> panel((128, 32), 16, "f16", 256, True).stride
    5
    """
    (rows, cols), size = sizes, ELEMENT_BITS[element] // 8
    for width in WIDTHS:
        found = Panel(rows, cols, size, width, gaps)
        if width < size or grain % found.per_piece:
            continue
        if rows * found.pieces % work_items == 0:
            return found
    return None


@dataclass(frozen=True, slots=True)
class GemmPlan:
    """Tiles that suit a multiplication on a device."""

    tiles: GemmTiles
    shape: MatrixShape
    """What the device multiplies."""
    a: Panel
    b: Panel
    work_items: int
    """Of a work-group."""

    @property
    def copies(self) -> tuple[int, int]:
        """How many panels of A, and of B, are in work-group memory."""
        return self.tiles.stages, SLICES if self.tiles.sliced else self.tiles.stages

    @property
    def slots(self) -> list[int]:
        """In which of the copies of B each slice of a step is."""
        return slots(self.tiles.step // self.shape.k)

    @property
    def parts(self) -> tuple[int, int, int]:
        """How the last multiplication of a step is cut along N: parts at three times.

        Before the next tiles are stored, before they are seen, and after that.
        """
        count = self.tiles.subgroup[1] // self.shape.n
        if count % 4 == 0:
            return 2, 1, 1
        return (0, 0, 1) if count % 2 else (1, 0, 1)


def slots(slices: int) -> list[int]:
    """In which of three copies of B each slice of a step is.

    Between two barriers, one slice is read and that after it stored; where a step
    begins, its first two are read and the third is stored; in the end, when all of the
    step are read, the second one of the next step is stored.

    >>> slots(5)
    [0, 1, 2, 1, 2]
    """
    return [0, 1, *(2 - number % 2 for number in range(2, slices))]


def plan(
    tiles: GemmTiles,
    device: Device,
    elements: tuple[str, str, str],
    transposed: tuple[bool, bool],
) -> GemmPlan | str:
    """Return how a multiplication is done with some tiles, or why it is not.

    Args:
        tiles: the sizes.
        device: by which it is done.
        elements: the types of a, b, and of c and the result, with signs.
        transposed: whether A, and whether B, is contiguous along the other dimension:
            A along M, B along K.
    """
    shape = _shape(tiles, device, elements)
    if isinstance(shape, str):
        return shape
    items = tiles.subgroups * device.subgroup_size
    if items > device.limits.work_items:
        return (
            f"expected at most {device.limits.work_items} work-items in a work-group "
            f"of {device.name}, got {items}: {tiles.subgroups} subgroups of "
            f"{device.subgroup_size}"
        )
    panels = _panels(tiles, shape, elements, transposed, items)
    if isinstance(panels, str):
        return panels
    found = GemmPlan(tiles, shape, *panels, items)
    local = sum(x.size * n for x, n in zip(panels, found.copies, strict=True))
    if local > device.limits.local_bytes:
        return (
            f"expected at most {device.limits.local_bytes} bytes of work-group memory "
            f"on {device.name}, got {local}"
        )
    return found


def _panels(
    tiles: GemmTiles,
    shape: MatrixShape,
    elements: tuple[str, str, str],
    transposed: tuple[bool, bool],
    items: int,
) -> tuple[Panel, Panel] | str:
    """Return the tiles of A and B in work-group memory, or why not."""
    (m, n), step = tiles.group, tiles.step
    b_step = shape.k if tiles.sliced else step
    a_sizes = ((step, m), shape.m) if transposed[0] else ((m, step), shape.k)
    b_sizes = ((n, b_step), shape.k) if transposed[1] else ((b_step, n), shape.n)
    a, b, _ = elements
    panels: list[Panel] = []
    for name, (sizes, grain), element in (("A", a_sizes, a), ("B", b_sizes, b)):
        found = panel(sizes, grain, element, items, tiles.gaps)
        if found is None:
            return (
                f"expected a tile of {name} that {items} work-items copy in equal "
                f"pieces of {', '.join(map(str, WIDTHS))} bytes, got "
                f"{sizes[0]} x {sizes[1]} of {element}"
            )
        panels.append(found)
    of_a, of_b = panels
    return of_a, of_b


def _shape(
    tiles: GemmTiles, device: Device, elements: tuple[str, str, str]
) -> MatrixShape | str:
    """Return the largest multiplication that the tiles are made of, or why none."""
    for whole, part, name in zip(tiles.group, tiles.subgroup, "MN", strict=True):
        if part < 1 or whole < 1 or whole % part:
            return (
                f"expected the {name} of a work-group to be a multiple of that of a "
                f"subgroup, got {whole} and {part}"
            )
    if tiles.stages not in (1, 2):
        return f"expected 1 or 2 stages, got {tiles.stages}"
    if tiles.sliced and tiles.stages != 1:
        return f"expected 1 stage of A with slices of B, got {tiles.stages}"
    a, b, c = elements
    shapes = device.multiplications(a, b, c, c)
    if not shapes:
        return f"{device.name} does not multiply {a} * {b} + {c} -> {c}"
    m, n = tiles.subgroup
    fitting = [
        x
        for x in shapes
        if not (m % x.m or n % x.n or tiles.step < 1 or tiles.step % x.k)
    ]
    if not fitting:
        sizes = ", ".join(f"{x.m}x{x.n}x{x.k}" for x in shapes)
        return (
            f"expected a subgroup's tile and a step of multiples of {sizes} (M x N x "
            f"K), got {m} x {n} and {tiles.step}"
        )
    found = max(fitting, key=lambda x: x.m * x.n * x.k)
    if tiles.sliced and tiles.step < SLICES * found.k:
        least = f"{SLICES} slices of {found.k}"
        return f"expected a step of at least {least}, got {tiles.step}"
    return found


def defaults(device: Device, elements: tuple[str, str, str]) -> Iterator[GemmTiles]:
    """Yield the tiles that are tried on a device, the best first.

    Those that are sliced are for what is known to be inside of memory: they leave no
    room in work-group memory for what matrices at an edge need there.
    """
    for tiles in DEFAULTS.get(device.name, ()):
        # The sizes along K are those of 16 bits.
        yield replace(tiles, step=tiles.step * 16 // ELEMENT_BITS[elements[0]])


FASTER = frozenset({"nvidia"})
"""Devices on which such kernels are far faster than those of one subgroup."""

DEFAULTS: dict[str, tuple[GemmTiles, ...]] = {
    "nvidia": (
        GemmTiles((128, 256), (64, 64), 64, stages=1, band=8, sliced=True),
        GemmTiles((128, 256), (64, 64), 32, stages=1, band=8),
        GemmTiles((128, 128), (64, 64), 32, stages=1, band=8),
        GemmTiles((64, 64), (32, 32), 32, stages=1),
    ),
    "lavapipe": (
        GemmTiles((32, 32), (16, 16), 16),
        GemmTiles((16, 16), (8, 8), 16),
    ),
}
"""By the name of the device; for elements of 16 bits, in the order of preference.

Those of NVIDIA were the fastest of those tried on an H200: 64 x 64 are 128 registers of
sums, and with 128 x 256 of C a work-group, the work-group memory of 48 KiB has room for
one stage of a step of 32, or for slices.  Two stages of half the step are slower, and
so is a loop that is written out: the driver then spills.

What bounds 4096^3 of f16 there, in TF/s: without slices 552 with the multiplications of
that kernel alone, 489 with its barriers, 411 with the stores to work-group memory, 367
with loads that hit the first cache, and 344 as it is.  With slices 376: one barrier a
multiplication, behind which nothing waits for work-group memory, and whole lines of A.
"""
