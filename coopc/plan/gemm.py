"""The plan of a matrix multiplication: C (M x N) += A (M x K) * B (K x N), in tiles.

A work-group computes a tile of C.  It is cut into tiles of which a subgroup holds the
sums in registers.  Along K, a step is what is near the work-group at a time, and the
depth is the K of one product of matrices.

| engine                   | a work-group is   | A and B come                        |
|--------------------------|-------------------|-------------------------------------|
| any: `plan_direct_gemm`  | one subgroup      | from memory: `Direct`               |
| KHR: `plan_staged_gemm`  | several subgroups | through work-group memory: `Panel`  |
| AMX: `plan_amx_gemm`     | one core          | packed by a kernel before: `Packed` |
| CPU: `plan_vector_gemm`  | one core          | the same                            |

A subgroup is a warp on NVIDIA; which tiles its warps have by default is `gemm_tiles` of
the device.  A core computes the subgroup tiles of its work-group one after the other.

Laws (test/unit/plan/test_gemm.py):
  cover     the subgroup tiles of all work-groups have each element of C exactly once
  copy      the work-items of a work-group copy each piece of a panel exactly once
  banks     eight work-items in a row write to different banks, and eight rows of a
            matrix are read from different banks

What a work-group does in a step with panels is in `coopc.plan.gemm_schedule`.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Literal, TypeAlias

from coopc.device import AMX, ELEMENT_BITS, Device, GemmTiles, MatrixShape, signless
from coopc.device import Use as Operand
from coopc.device.model import Amx
from coopc.rounding import PRECISIONS

Axis: TypeAlias = Literal["rows", "cols"]
Source: TypeAlias = Literal["a", "b"]
"""An operand that is read along K."""
Fill: TypeAlias = Literal["nothing", "constant", "value"]
"""What C is filled with before: nothing, so that it is added to."""
AXES: tuple[Axis, Axis] = ("rows", "cols")

# --- what is multiplied --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GemmOperand:
    """A, B or C in memory, as far as it is known before the program runs."""

    type: str
    """The memref, as MLIR writes it."""
    element: str
    """The type of an element as `coopc.device` names it, with a sign."""
    shape: tuple[int | None, int | None]
    """Rows and columns of the matrix."""
    strides: tuple[int | None, int | None]
    """Elements from row to row, and from column to column."""
    row_alignment: int = 0
    """Elements that divide where each row of the memref begins, as far as its layout
    says; 0 where rows follow each other without gaps."""
    transposed: bool = False
    """Whether the last two dimensions of the memref are columns and rows."""
    batched: bool = False
    """Whether the memref has a leading dimension for the batch."""

    @property
    def element_bytes(self) -> int:
        """Bytes of an element; its type is one that a device multiplies."""
        return ELEMENT_BITS[self.element] // 8

    @property
    def contiguous(self) -> bool:
        """Whether the elements of a row of the memref follow each other."""
        return self.strides[0 if self.transposed else 1] == 1

    def size(self, axis: Axis) -> int | None:
        return self.shape[AXES.index(axis)]

    def dimension(self, axis: Axis) -> int:
        """Which dimension of the memref the rows or the columns are."""
        return self.batched + ((axis == "cols") != self.transposed)


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion of matrices: to another type of elements, of the same use."""

    operation: str
    """As `coopmatrix` writes it: convert, convert signed, or bitcast."""
    element: str


@dataclass(frozen=True, slots=True)
class Output:
    """What an epilogue stores: a function of the sums of an element, and its place.

    Matrices of the sums are cast, each element is computed from what it is then, and
    the result is cast again.
    """

    memory: GemmOperand
    before: tuple[Cast, ...] = ()
    element: str | None = None
    """The type in which the function takes and gives elements; None for the sums as
    they are."""
    after: tuple[Cast, ...] = ()

    @property
    def in_pieces(self) -> bool:
        """Whether casts go through work-group memory, as no instruction has them."""
        casts = (*self.before, *self.after)
        return any(x.operation == "bitcast" or x.element == "bf16" for x in casts)


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What is done to the sums of a product before they are stored."""

    outputs: tuple[Output, ...]
    in_place: bool = False
    """Whether it reads an output, each element where it is stored."""
    why_not_vectors: str | None = None
    """Why it is not computed for several elements of a row at a time."""


@dataclass(frozen=True, slots=True)
class Problem:
    a: GemmOperand
    b: GemmOperand
    c: GemmOperand
    """The sums: their type, and where they are or, if an epilogue alone stores them,
    where its first output is."""
    fill: Fill = "nothing"
    epilogue: Epilogue | None = None

    @property
    def batched(self) -> bool:
        return self.c.batched

    @property
    def outputs(self) -> tuple[Output, ...]:
        """What the epilogue stores, if there is one."""
        return () if self.epilogue is None else self.epilogue.outputs

    @property
    def elements(self) -> tuple[str, str, str]:
        """The element types of A, B and C, with signs."""
        return self.a.element, self.b.element, self.c.element


def in_precision(problem: Problem, precision: str) -> Problem:
    """Return a product as the engine sees it that multiplies f32 in other types."""
    if precision not in PRECISIONS or {*problem.elements} != {"f32"}:
        return problem
    element = PRECISIONS[precision].format
    a, b = (replace(x, element=element) for x in (problem.a, problem.b))
    return replace(problem, a=a, b=b)


# --- how A and B come to registers ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class Direct:
    """Matrices are loaded from where the operand is in memory."""

    checked: tuple[Axis, ...] = ()
    """The axes along which an access may leave the memref."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A kernel that runs before writes the operand in the order in which it is read."""

    channel: int = 1
    """Elements along K that are side by side: those of B fill 32 bits together."""
    element: str | None = None
    """The type that elements are packed as, with a sign; None for their own."""
    before: bool = True
    """Whether a kernel does so before; else each word is made where it is used."""


WIDTHS = (16, 8, 4)
"""Bytes that a work-item copies at a time, the most first."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A tile of A or B in work-group memory: rows of pieces, and a gap behind each row.

    The step of A that has 32 of f16, in rows of 4 + 1 pieces of 16 bytes:

        row 0   | 0..7 | 8..15 | 16..23 | 24..31 | (gap) |
        row 1   | 0..7 | ...

    With an odd number of 16 bytes a row, eight consecutive rows begin in different
    banks, and each begins where the device loads matrices.
    """

    rows: int
    """Along the dimension of memory that is not contiguous."""
    cols: int
    """Elements of a row."""
    element_bytes: int
    width: int
    """Bytes of a piece."""
    gaps: bool
    copies: int = 1
    """How many such tiles are in work-group memory."""

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
        """Pieces from row to row: with gaps, an odd number of 16 bytes."""
        if not self.gaps:
            return self.pieces
        many = WIDTHS[0] // self.width
        return (-(-self.pieces // many) | 1) * many

    @property
    def bytes(self) -> int:
        """Bytes of all copies."""
        return self.copies * self.rows * self.stride * self.width

    @property
    def interleaved(self) -> int:
        """From how many rows each eight work-items copy pieces; 1 for row after row.

        Where rows are shorter than eight pieces and their stride is odd, pieces of rows
        that are `pieces` apart are in different banks.
        """
        if self.stride % 2 == 0 or 8 % self.pieces or self.rows % 8:
            return 1
        return 8 // self.pieces

    @property
    def period(self) -> int:
        """Pieces after which the order of copies repeats in later rows."""
        return self.pieces if self.interleaved == 1 else 8 * self.pieces


Feed: TypeAlias = Direct | Packed | Panel
"""How an operand comes to registers."""


def panel(
    sizes: tuple[int, int],
    grain: int,
    element: str,
    work_items: int,
    gaps: bool,
    length: int | None = None,
) -> Panel | None:
    """Return a tile with the widest pieces of which each work-item copies equally many.

    Args:
        sizes: of the tile, that along the contiguous dimension last.
        grain: the size along that of the matrices that the tile is made of.
        element: the type of an element.
        work_items: that copy it.
        gaps: see `GemmTiles`.
        length: of a row in memory, if known: pieces divide it where they can.

    >>> panel((128, 32), 16, "f16", 256, True).stride
    5
    >>> panel((128, 32), 16, "f16", 256, True, length=500).width
    8
    """
    (rows, cols), size = sizes, ELEMENT_BITS[element] // 8
    every = (Panel(rows, cols, size, width, gaps) for width in WIDTHS)
    fitting = [
        x
        for x in every
        if 0 < size <= x.width
        and grain % x.per_piece == 0
        and rows * x.pieces % work_items == 0
    ]
    whole = (x for x in fitting if length is not None and length % x.per_piece == 0)
    return next(whole, fitting[0] if fitting else None)


# --- the plan ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GemmPlan:
    """How a multiplication is shared out; see the top of the file."""

    group: tuple[int, int]
    """M and N of a work-group."""
    subgroup: tuple[int, int]
    """M and N of a subgroup's sums; divides `group`."""
    step: int
    """K that is near a work-group at a time; a multiple of `depth`."""
    depth: int
    """K of a product."""
    width: int
    """N of a product."""
    a: Feed = Direct()
    b: Feed = Direct()
    c: Direct = Direct()
    band: int = 0
    """Rows of work-groups that follow each other column by column, so that those that
    run at one time read few rows and columns; 0 for the order of the grid."""
    unroll: bool = False
    """Whether the driver is asked to write out the loop along K, or not to."""
    work_items: int = 1
    """Of a work-group; 1 where the device says."""
    uses: tuple[Operand, ...] = ()
    """Those of the matrices that are stored, for each output of the epilogue."""
    split: int = 1
    """Subgroups that share K; each multiplies as much of a step."""

    def __post_init__(self) -> None:
        (m, n), (sub_m, sub_n) = self.group, self.subgroup
        assert min(m, n, sub_m, sub_n, self.step, self.depth, self.width) > 0, self
        chunk = self.split * self.depth
        rest = m % sub_m, n % sub_n, sub_n % self.width, self.step % chunk
        assert not any(rest), self

    @property
    def products(self) -> int:
        """Products along K of a subgroup in a step."""
        return self.step // self.depth // self.split

    @property
    def places(self) -> int:
        """Subgroup tiles of a work-group; each is that of `split` subgroups."""
        (m, n), (sub_m, sub_n) = self.group, self.subgroup
        return (m // sub_m) * (n // sub_n)

    @property
    def sums(self) -> tuple[int, int, int]:
        """Of sums in work-group memory: tiles, and their M and N."""
        tiles = (self.split - 1) * self.places
        return tiles, self.subgroup[0], self.part_cols

    @property
    def panels(self) -> tuple[Panel, Panel]:
        """A and B in work-group memory."""
        assert isinstance(self.a, Panel), self
        assert isinstance(self.b, Panel), self
        return self.a, self.b

    @property
    def sliced(self) -> bool:
        """Whether B comes in slices, the K of one product each."""
        return isinstance(self.b, Panel) and self.b.copies == SLICES

    @property
    def parts(self) -> tuple[int, int, int]:
        """How the last product of a step is cut along N: parts at three times.

        Before the next tiles are stored, before they are seen, and after that.
        """
        count = self.subgroup[1] // self.width
        if count % 4 == 0:
            return 2, 1, 1
        return (0, 0, 1) if count % 2 else (1, 0, 1)

    @property
    def part_cols(self) -> int:
        """N of the parts in which a subgroup computes."""
        return self.subgroup[1] // sum(self.parts)


# --- any engine: one subgroup --------------------------------------------------------

ANY_DEVICE_TILE = (32, 32, 16)
"""M, N and K where there is no device to ask."""
LANE_SHAPE = (8, 8, 16)
"""M, N and K of a product of types that the device does not multiply: lanes do."""
MAX_DOUBLED_SIZE = 32
"""Rows or columns of a tile of two products, at most."""


def plan_direct_gemm(
    problem: Problem,
    device: Device | None = None,
    tile: tuple[int, int, int] | None = None,
) -> GemmPlan:
    """Return how work-groups of one subgroup multiply; every problem has such a plan.

    Where the device has a matrix in no such layout of memory, its accesses are checked:
    those go through work-group memory, which has any.

    Args:
        problem: what is multiplied.
        device: by which; None for any.
        tile: M, N and K of the tile; by the device without.
    """
    if tile is None:
        tile = ANY_DEVICE_TILE
        if device is not None:
            tile = direct_tile(device, problem.elements, problem.c.shape)
    m, n, k = tile

    def feed(use: Operand, matrix: GemmOperand, tile: tuple[int, int]) -> Direct:
        if device is not None and not _has_layout(device, use, matrix):
            return Direct(AXES)
        sizes = zip(AXES, matrix.shape, tile, strict=True)
        return Direct(tuple(x for x, size, of in sizes if size is None or size % of))

    uses: tuple[Operand, ...] = ("acc",) * len(problem.outputs)
    if device is not None and (held := device.held("acc", problem.c.element)):
        uses = tuple(stored_use(x, device, held[0]) for x in problem.outputs)
    return GemmPlan(
        (m, n),
        (m, n),
        k,
        k,
        n,
        feed("a", problem.a, (m, k)),
        feed("b", problem.b, (k, n)),
        feed("acc", problem.c, (m, n)),
        uses=uses,
    )


def stored_use(output: Output, device: Device, sizes: tuple[int, int]) -> Operand:
    """Return the use of the matrices of an output, acc where the device has neither.

    Args:
        output: what is stored.
        device: what stores it.
        sizes: rows and columns of a matrix of sums.
    """
    element = output.memory.element
    is_converted = output.after and output.after[-1].operation != "bitcast"
    if not is_converted or not device.changes_use("acc", "a"):
        return "acc"
    if sizes in device.held("acc", element):
        return "acc"
    return "a" if sizes in device.held("a", element) else "acc"


def direct_tile(
    device: Device | None,
    elements: tuple[str, str, str],
    sizes: tuple[int | None, int | None] = (None, None),
) -> tuple[int, int, int]:
    """Return M, N and K of a tile: one product of the device, or two along M and N.

    It is two where that is no more than 32, and C is larger than one: then each matrix
    of A and B is used twice.

    Args:
        device: by which; None for lanes.
        elements: the types of A, B and C.
        sizes: M and N, if known.

    >>> from coopc.device import INTEL_CPU, LAVAPIPE, NVIDIA
    >>> [direct_tile(d, ("f16", "f16", "f32")) for d in (LAVAPIPE, NVIDIA, INTEL_CPU)]
    [(16, 16, 8), (32, 32, 16), (32, 32, 32)]
    >>> direct_tile(NVIDIA, ("f16", "f16", "f32"), (5, 4096))
    (16, 32, 16)
    """
    a, b, c = elements
    best, shapes = LANE_SHAPE, tuple[MatrixShape, ...]()
    if device is not None:
        shapes = device.multiplications(a, b, c, c) or tuple(
            # Matrices lack signs: a product of other signs may do.
            x
            for x in device.matrix_shapes
            if [signless(y) for y in x.elements[:3]] == [signless(y) for y in elements]
        )
    if shapes:
        largest = _largest(shapes)
        best = largest.m, largest.n, largest.k
    m, n = (
        of if 2 * of > MAX_DOUBLED_SIZE or (size is not None and size <= of) else 2 * of
        for of, size in zip(best, sizes, strict=False)
    )
    return m, n, best[2]


def _largest(shapes: tuple[MatrixShape, ...]) -> MatrixShape:
    return max(shapes, key=lambda shape: shape.m * shape.n * shape.k)


def _has_layout(device: Device, use: Operand, matrix: GemmOperand) -> bool:
    """Whether a device loads matrices as they are in memory, or can if B is packed."""
    rows, cols = matrix.strides
    if 1 not in (rows, cols):
        return True  # not known, and so not to be helped
    layout = "row_major" if cols == 1 else "col_major"
    element = signless(matrix.element)
    has = {
        each
        for sizes in device.held(use, element)
        for each in device.layouts(use, element, *sizes)
    }
    return not has or bool(has & {layout, "packed"})


# --- KHR: several subgroups, tiles in work-group memory ------------------------------

LANE_SUMS = 64
"""Elements of C that a lane holds where the tiles are derived: half of those that were
the fastest on an H200, beyond which its compiler spills."""
SLICES = 3
"""Slices of B in work-group memory: one is stored while two are read."""


def plan_staged_gemm(
    problem: Problem, device: Device, tiles: GemmTiles | None = None
) -> GemmPlan | str:
    """Return how work-groups of several subgroups multiply, or why they cannot.

    Args:
        problem: what is multiplied.
        device: by which.
        tiles: the sizes; without, the first of the device's that suit the problem, or
            derived ones for a device that has none.
    """
    for matrix in (problem.a, problem.b):
        if not matrix.contiguous:
            return (
                f"expected a memref whose last stride is 1, got {matrix.type}: "
                "convert-linalg-to-coopmatrix takes any"
            )
    if tiles is not None:
        return staged_by(tiles, problem, device)
    reason = f"expected tiles for {device.name}, which has none by default"
    suited: dict[GemmPlan, float] = {}
    for each in device.gemm_tiles:
        # The sizes along K are those of 16 bits.
        step = each.step * 16 // ELEMENT_BITS[problem.a.element]
        found = staged_by(replace(each, step=step), problem, device)
        if isinstance(found, str):
            reason = found
        elif not found.sliced or suits_slices(problem, found):
            suited[found] = estimated_cost(each, problem, device)
    if suited:
        return min(suited, key=lambda plan: suited[plan])
    if device.gemm_tiles:
        return reason
    return next(derived_tiles(problem, device), reason)


def estimated_cost(tiles: GemmTiles, problem: Problem, device: Device) -> float:
    """Return how long each element along K takes, in nanoseconds; 0 if not known.

    >>> from coopc.device import NVIDIA
    >>> f16 = GemmOperand("memref<128x128xf16>", "f16", (128, 128), (128, 1))
    >>> estimated_cost(NVIDIA.gemm_tiles[0], Problem(f16, f16, f16), NVIDIA)
    23
    """
    m, n = problem.c.shape
    if m is None or n is None or tiles.cost is None or device.compute_units is None:
        return 0
    groups = -(-m // tiles.group[0]) * -(-n // tiles.group[1])
    alone, following = tiles.cost
    turns = -(-groups // device.compute_units)
    return alone if turns == 1 else max(alone, following * turns)


def derived_tiles(problem: Problem, device: Device) -> Iterator[GemmPlan]:
    """Yield plans by tiles that follow from a device's limits, the largest first.

    They are for devices under Vulkan that nobody has measured, so they take what is
    safe: at most `LANE_SUMS` registers of sums in a lane, and half of the work-group
    memory, as matrices at an edge need some as well.

    >>> from coopc.device import DEVICES
    >>> f16 = GemmOperand("memref<?x?xf16>", "f16", (None, None), (None, 1))
    >>> f32 = replace(f16, element="f32")
    >>> plan = next(derived_tiles(Problem(f16, f16, f32), DEVICES["rdna3"]))
    >>> plan.group, plan.subgroup, plan.step
    ((64, 64), (32, 32), 32)
    """
    a, b, c = problem.elements
    shapes = device.multiplications(a, b, c, c)
    if device.family != "vulkan" or not shapes:
        return
    best, local = _largest(shapes), device.limits.local_bytes // 2
    for times, grid, steps in product((4, 2, 1), ((2, 2), (1, 2), (1, 1)), (2, 1)):
        m, n = times * best.m, times * best.n
        if times > 1 and m * n > LANE_SUMS * device.subgroup_size:
            continue
        group = grid[0] * m, grid[1] * n
        tiles = GemmTiles(group, (m, n), steps * best.k, stages=1)
        found = staged_by(tiles, problem, device)
        if not isinstance(found, str) and sum(x.bytes for x in found.panels) <= local:
            yield found


def staged_by(tiles: GemmTiles, problem: Problem, device: Device) -> GemmPlan | str:
    """Return how a device multiplies with some tiles, or why it cannot."""
    shape = _largest_product(tiles, device, problem.elements)
    if isinstance(shape, str):
        return shape
    items = tiles.subgroups * device.subgroup_size
    if items > device.limits.work_items:
        return (
            f"expected at most {device.limits.work_items} work-items in a work-group "
            f"of {device.name}, got {items}: {tiles.subgroups} subgroups of "
            f"{device.subgroup_size}"
        )
    panels = _panels(tiles, shape, problem, items)
    if isinstance(panels, str):
        return panels
    sizes = shape.m, shape.n
    uses: tuple[Operand, ...] = tuple(
        stored_use(x, device, sizes) for x in problem.outputs
    )
    for use, output in zip(uses, problem.outputs, strict=True):
        if sizes not in device.held(use, output.memory.element):
            # Work-group memory would hold them, beside the tiles.
            return (
                f"{device.name} stores no matrices of {shape.m} x {shape.n} x "
                f"{output.memory.element}"
            )
    plan = GemmPlan(
        tiles.group,
        tiles.subgroup,
        tiles.step,
        shape.k,
        shape.n,
        *panels,
        band=tiles.band,
        unroll=tiles.unroll,
        work_items=items,
        uses=uses,
        split=tiles.split,
    )
    local, size = sum(each.bytes for each in panels), ELEMENT_BITS[problem.c.element]
    local += prod(plan.sums) * size // 8
    if tiles.split > 1 and not _is_whole(problem, tiles.group):
        # Matrices at an edge are stored element by element, from there.
        local += tiles.subgroups * shape.m * shape.n * size // 8
    if local > device.limits.local_bytes:
        return (
            f"expected at most {device.limits.local_bytes} bytes of work-group memory "
            f"on {device.name}, got {local}"
        )
    return plan


def _is_whole(problem: Problem, tile: tuple[int, int]) -> bool:
    """Whether all of C is in whole tiles."""
    sizes = zip(problem.c.shape, tile, strict=True)
    return all(size is not None and size % of == 0 for size, of in sizes)


def suits_slices(problem: Problem, plan: GemmPlan) -> bool:
    """Return whether slices of B are a good default.

    They leave no room in work-group memory for what matrices at an edge need there: so
    all copies have to be whole pieces inside of memory, and so have casts of an
    epilogue.  And A is contiguous along K: else its lines are read whole without them.
    """
    if any(output.in_pieces for output in problem.outputs):
        return False
    (m, n), (a, b) = plan.group, plan.panels
    sizes = zip((*problem.c.shape, problem.a.shape[1]), (m, n, plan.step), strict=True)
    return (
        not problem.a.transposed
        and all(size is not None and size % of == 0 for size, of in sizes)
        and problem.a.row_alignment % a.per_piece == 0
        and problem.b.row_alignment % b.per_piece == 0
    )


def _largest_product(
    tiles: GemmTiles, device: Device, elements: tuple[str, str, str]
) -> MatrixShape | str:
    """Return the largest product that the tiles are made of, or why there is none."""
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
    if tiles.split < 1 or (tiles.sliced and tiles.split > 1):
        return (
            "expected 1 or more subgroups that share K, and 1 with slices of B, got "
            f"{tiles.split}"
        )
    a, b, c = elements
    shapes = device.multiplications(a, b, c, c)
    if not shapes:
        return f"{device.name} does not multiply {a} * {b} + {c} -> {c}"
    m, n = tiles.subgroup
    fitting = tuple(
        x
        for x in shapes
        if not (m % x.m or n % x.n or tiles.step < 1)
        and tiles.step % (x.k * tiles.split) == 0
    )
    if not fitting:
        sizes = ", ".join(f"{x.m}x{x.n}x{x.k}" for x in shapes)
        return (
            f"expected a subgroup's tile and a step of multiples of {sizes} (M x N x "
            f"K), got {m} x {n} and {tiles.step}"
        )
    found = _largest(fitting)
    if tiles.sliced and tiles.step < SLICES * found.k:
        least = f"{SLICES} slices of {found.k}"
        return f"expected a step of at least {least}, got {tiles.step}"
    return found


def _panels(
    tiles: GemmTiles, shape: MatrixShape, problem: Problem, items: int
) -> tuple[Panel, Panel] | str:
    """Return the tiles of A and B in work-group memory, or why not."""
    (m, n), step, (a, b) = tiles.group, tiles.step, (problem.a, problem.b)
    b_step = shape.k if tiles.sliced else step
    b_copies = SLICES if tiles.sliced else tiles.stages
    a_sizes = ((step, m), shape.m) if a.transposed else ((m, step), shape.k)
    b_sizes = ((n, b_step), shape.k) if b.transposed else ((b_step, n), shape.n)
    panels: list[Panel] = []
    for name, matrix, (sizes, grain), copies in (
        ("A", a, a_sizes, tiles.stages),
        ("B", b, b_sizes, b_copies),
    ):
        along = matrix.row_alignment or matrix.size(AXES[not matrix.transposed])
        found = panel(sizes, grain, matrix.element, items, tiles.gaps, along)
        if found is None:
            return (
                f"expected a tile of {name} that {items} work-items copy in equal "
                f"pieces of {', '.join(map(str, WIDTHS))} bytes, got "
                f"{sizes[0]} x {sizes[1]} of {matrix.element}"
            )
        panels.append(replace(found, copies=copies))
    of_a, of_b = panels
    return of_a, of_b


# --- AMX: blocks for the caches of a core --------------------------------------------

TILE = Amx()
"""The tiles of AMX."""
PANEL = 2 * TILE.rows
"""Rows of A, or columns of B, that are packed together: two tiles.  Four tiles have the
sums of two panels, two have a step of either: all eight tiles."""
STEP_BYTES = TILE.row_bytes
"""Of K, in a row of a tile of A: a step of a panel has 2 KiB."""
UNROLL = 4
"""Products along K that the innermost loop is unrolled by."""
SUM_BYTES = 1 << 20
"""Of the sums of a work-group, at most: half of the second cache.  They stay there, as
do the panels that they need."""
ROW_BYTES = 2048
"""From row to row of an A that is not packed, at most."""
WHOLE_BYTES = 512 << 10
"""Of an A that is not packed, at most: larger ones were faster packed."""
PANEL_PRODUCTS = 2
"""Products of panels that take as long as it takes to bring one panel to a core."""

Block: TypeAlias = tuple[int, int, int]
"""Panels of A, panels of B and products along K that a core computes at a time."""

ONE_THREAD_BLOCK: Block = (8, 8, 64)
"""The block of large matrices: the best of 12 on an Emerald Rapids Xeon, of 2 MiB of
second cache, for bf16 and i8 of 512 to 4096."""
THREADS_BLOCK: Block = (4, 8, 64)
"""The same where threads share them: the best of 8 with 16 threads."""


def plan_amx_gemm(
    problem: Problem, threads: int = 1, block: Block | None = None
) -> GemmPlan | str:
    """Return how a multiplication is blocked for tiles and caches, or why it is not.

    Args:
        problem: what is multiplied, of types that AMX multiplies.
        threads: that share the work-groups; each is to have some.
        block: what a work-group computes at a time; by the sizes without.
    """
    if reason := why_not_packed(problem):
        return reason
    rows, cols, steps = block or block_of(*problem.c.shape, threads)
    size, group = problem.a.element_bytes, (rows * PANEL, cols * PANEL)
    depth = STEP_BYTES // size
    return GemmPlan(
        group,
        (PANEL, PANEL),
        steps * depth,
        depth,
        PANEL // 2,
        Packed() if packs_a(problem.a) else Direct(),
        Packed(4 // size),
        band=band_of(problem.c.shape, group, threads),
    )


def why_not_packed(problem: Problem) -> str | None:
    """Return why a kernel does not pack A and B of a problem before another one."""
    outputs = [problem.c, *(x.memory for x in problem.outputs)]
    if any(x.transposed for x in outputs):
        return "an operand is transposed"
    if not all(x.contiguous for x in (problem.a, problem.b, *outputs)):
        return "elements of a row are not consecutive"
    if problem.fill == "value":
        return "C is filled with a value that is not constant"
    return None if problem.epilogue is None else problem.epilogue.why_not_vectors


DPAS_ELEMENTS = {"f16", "bf16", "tf32", "s8", "u8"}


def is_of_amx(problem: Problem) -> bool:
    """Return whether tiles multiply the element types of a problem."""
    a, b, c = problem.elements
    return bool(AMX.multiplications(a, b, c, c))


def unit_without(problem: Problem, device: Device | None) -> str | None:
    """Return the matrix unit of a device, if it does not multiply these types.

    None without a device, and for one whose KHR matrices are lowered for any type.
    """
    if device is None:
        return None
    if device.amx is not None:
        return None if is_of_amx(problem) else "AMX"
    is_dpas = device.dpas is not None and not {*problem.elements[:2]} <= DPAS_ELEMENTS
    return "DPAS" if is_dpas else None


def check_block(block: Block) -> None:
    """Check that a core has room for the sums of a block.

    Raises:
        ValueError: it has not, or there is nothing in the block.
    """
    rows, cols, steps = block
    if min(block) < 1:
        found = f"{rows} x {cols} panels and {steps} steps"
        raise ValueError(f"expected a block of 1 or more of each, got {found}")
    size = rows * cols * PANEL * PANEL * 4
    if size > SUM_BYTES:
        raise ValueError(
            f"expected at most {SUM_BYTES} bytes of sums in a block, got {size}"
        )


def block_of(m: int | None, n: int | None, threads: int = 1) -> Block:
    """Return the block of an M x N matrix; a size is None where it is not known.

    Of blocks up to the largest, it is the one with which the thread that has the most
    of them is done first.

    >>> block_of(4096, 4096), block_of(512, 512, threads=16), block_of(512, 512, 15)
    ((8, 8, 64), (4, 4, 64), (4, 6, 64))
    """
    rows, cols, steps = THREADS_BLOCK if threads > 1 else ONE_THREAD_BLOCK
    if m is None or n is None:
        return rows, cols, steps
    across, down = max(1, -(-n // PANEL)), max(1, -(-m // PANEL))
    rows, cols = min(rows, down), min(cols, across)
    if threads == 1:
        return rows, cols, steps

    def last(block: tuple[int, int]) -> tuple[int, int]:
        down_, across_ = block
        count = -(-down // down_) * -(-across // across_)
        each = down_ * across_ + PANEL_PRODUCTS * (down_ + across_)
        return -(-count // threads) * each, count

    rows, cols = min(product(range(1, rows + 1), range(1, cols + 1)), key=last)
    return rows, cols, steps


def band_of(
    shape: tuple[int | None, int | None], group: tuple[int, int], threads: int
) -> int:
    """Return a `GemmPlan.band` with which threads have shares near squares.

    A share is as many work-groups as each other one, one after the other.

    >>> band_of((4096, 4096), (128, 256), 16), band_of((512, 512), (128, 128), 16)
    (8, 0)
    """
    m, n = shape
    if m is None or n is None or threads == 1:
        return 0
    rows, cols = group
    down, across = -(-m // rows), -(-n // cols)
    share = -(-down * across // threads)

    def read(band: int) -> int:
        return band * rows + -(-share // band) * cols

    band = min(range(1, max(1, min(share, down)) + 1), key=read)
    return band if band > 1 else 0


def packs_a(a: GemmOperand) -> bool:
    """Return whether A is packed, too, and not read as it is.

    It is where rows of the memref are not along K, where there is a batch, where its
    panels and steps are not whole, where 16 rows of it would be in more than 8 lines of
    a set of the first cache, which are 4 KiB apart, and where it is read often enough.
    """
    if a.transposed or a.batched:
        return True
    (m, k), row_stride, size = a.shape, a.strides[0], a.element_bytes
    if m is None or k is None or row_stride is None:
        return True
    whole = m % PANEL == 0 and k * size % STEP_BYTES == 0
    far = row_stride * size > ROW_BYTES
    return not whole or far or m * k * size > WHOLE_BYTES


# --- any processor: tiles of vectors -------------------------------------------------

VECTOR_TILE = 6, 16
"""Rows and columns of the sums in registers: 12 of the 16 of AVX2, of 8 x f32 each."""
WIDE_VECTOR_TILE = 12, 32
"""The same with AVX-512: 24 registers of 32."""
VECTOR_ROWS = 192
VECTOR_PANELS = 32
VECTOR_STEPS = 512
"""Rows of A, panels of B and words of K that a core computes at a time: 384 KiB of A
are in the second cache.  Deeper than the first cache has room for a panel of B: sums
are loaded and stored half as often, which was 5% faster for 2048 and no slower."""
THIN_ROWS = 8
"""Rows of C from which on B is packed: with fewer, B is read once, from memory."""
DOT_ROWS = 4
"""The same of A, or of a transposed B, that the other one is read as often as."""
THIN_UNROLL = 4
"""Words along K that are read at a time, from as many rows of B as these have."""
THIN_SUM_BYTES = 128 << 10
"""Of the sums of a work-group, at most.  With long rows of B it was fastest, though
sums of several rows of C leave the first cache: of 16 to 128 KiB, for 1, 4 and 7."""
THIN_RUN_BYTES = 2048
"""Of a row of B that a work-group reads, at least; K is shared before it is less."""
THIN_DEPTH = 256
"""Elements along K for each who shares it, at least."""
CONVERTED = ("f16", "bf16")
"""Types that are packed as f32."""
BYTES = ("s8", "u8")
DOT_FEATURES = ("avx512bf16", "avx512vnni")
"""Of processors that multiply bf16 and bytes in vectors, as LLVM names them."""


def packed_for_vectors(
    elements: tuple[str, str, str], features: Collection[str]
) -> Packed | None:
    """Return how vectors have A and B to multiply them; None where they do not.

    >>> packed_for_vectors(("s8", "s8", "s32"), ["avx512vnni"])
    Packed(channel=4, element='s8', before=True)
    >>> packed_for_vectors(("s8", "u8", "s32"), ["avx512vnni"])
    Packed(channel=2, element='s16', before=True)
    """
    *factors, sum = elements
    if sum in ("s32", "u32") and {*factors} <= {*BYTES}:
        whole = factors == ["s8", "s8"] and "avx512vnni" in features
        return Packed(4, "s8") if whole else Packed(2, "s16")
    if elements == ("bf16", "bf16", "f32") and "avx512bf16" in features:
        return Packed(2, "bf16")
    known = {sum, *CONVERTED} if sum == "f32" else {sum}
    is_known = sum in ("f32", "f64") and {*factors} <= known
    return Packed(1, sum) if is_known else None


def plan_vector_gemm(
    problem: Problem,
    threads: int = 1,
    block: Block | None = None,
    tile: tuple[int, int] = VECTOR_TILE,
    features: Collection[str] = (),
    packs: bool = False,
) -> GemmPlan | str:
    """Return how a multiplication is blocked for registers and caches, or why not.

    Args:
        problem: what is multiplied.
        threads: that share the work-groups; each is to have some.
        block: what a work-group computes at a time; by the sizes without.
        tile: rows and columns of sums in registers, those of f32.
        features: of `DOT_FEATURES`, what the processor has.
        packs: whether B is packed, however few rows C has.
    """
    a, b, c = problem.elements
    features = features if tile[1] % 4 == 0 else ()
    if (packed := packed_for_vectors(problem.elements, features)) is None:
        return f"no vectors multiply {a} and {b} into {c}"
    if reason := why_not_packed(problem):
        return reason
    rows, cols = tile[0], tile[1] * 32 // ELEMENT_BITS[c]
    m, n = problem.c.shape
    if m is not None:
        rows = max(1, min(rows, m))
    if n is not None and 2 * n <= cols and tile[1] > VECTOR_TILE[1]:
        cols //= 2
    if is_thin(problem) and block is None and not packs:
        return _thin(problem, cols, replace(packed, before=False), threads)
    down, across, step = block or (VECTOR_ROWS // rows, VECTOR_PANELS, VECTOR_STEPS)
    if block is None:
        down, across = _shared(problem.c.shape, (rows, cols), (down, across), threads)
    group = down * rows, across * cols
    depth, band = packed.channel, band_of(problem.c.shape, group, threads)
    return GemmPlan(
        group, (rows, cols), step * depth, depth, cols, packed, packed, band=band
    )


def is_thin(problem: Problem) -> bool:
    """Return whether C has so few rows that B is read as it is."""
    m = problem.c.shape[0]
    plain = not (problem.a.transposed or problem.b.transposed)
    return m is not None and 0 < m < THIN_ROWS and plain


def is_of_dots(problem: Problem) -> bool:
    """Return whether elements of C are dot products of rows of A and B in memory.

    A and B are along K, and one is read as often as the other has rows: few times.
    """
    sizes = [x for x in problem.c.shape if x is not None]
    along_k = problem.b.transposed and not problem.a.transposed
    return along_k and 0 < min(sizes, default=0) <= DOT_ROWS


def _thin(problem: Problem, cols: int, words: Packed, threads: int) -> GemmPlan:
    """Return the plan of a C of few rows: shares are along N, and of what is along K.

    Args:
        problem: what is multiplied.
        cols: columns of sums in registers.
        words: what elements along K are.
        threads: each is to have a share.
    """
    (m, n), k = problem.c.shape, problem.a.size("cols")
    assert m is not None, problem
    step = THIN_UNROLL * words.channel
    sum_bytes = ELEMENT_BITS[problem.c.element] // 8
    across, split = max(1, THIN_SUM_BYTES // (m * cols * sum_bytes)), 1
    if n is not None:
        tiles = max(1, -(-n // cols))
        least = max(1, THIN_RUN_BYTES // (cols * problem.b.element_bytes))
        wanted = min(threads, max(1, tiles // least))
        shares = max(-(-tiles // across), wanted)
        across = -(-tiles // shares)
        if k is not None:
            most = max(1, k // max(step, THIN_DEPTH))
            split = min(most, -(-threads // -(-tiles // across)))
    group = m, across * cols
    depth = words.channel
    return GemmPlan(
        group, (m, cols), split * step, depth, cols, words, words, split=split
    )


def _shared(
    shape: tuple[int | None, int | None],
    tile: tuple[int, int],
    block: tuple[int, int],
    threads: int,
) -> tuple[int, int]:
    """Return a block of tiles small enough that each thread has two, where it can.

    >>> _shared((512, 512), (6, 16), (16, 32), threads=1)
    (16, 32)
    >>> _shared((96, 96), (6, 16), (16, 32), threads=4)
    (4, 2)
    """
    m, n = shape
    down, across = block
    if m is None or n is None:
        return block
    rows, cols = -(-m // tile[0]), -(-n // tile[1])
    down, across = max(1, min(down, rows)), max(1, min(across, cols))
    while down * across > 1 and -(-rows // down) * -(-cols // across) < 2 * threads:
        if across * tile[1] >= down * tile[0] and across > 1:
            across = -(-across // 2)
        else:
            down = -(-down // 2)
    return down, across
