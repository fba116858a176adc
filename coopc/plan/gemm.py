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

What a work-group does in a step with panels is in `coopc.plan.gemm_schedule`; the plans
of cores, which are the last two, are chosen in `coopc.plan.core_gemm`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import inf, prod
from typing import Literal, TypeAlias

from coopc.device import ELEMENT_BITS, Device, GemmTiles, MatrixShape, signless
from coopc.device import Use as Operand
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
    """Whether the memref has a dimension for the batch."""
    batch_dimension: int = 0
    """Which one it is; the others are those of the matrix."""
    matrices: int | None = 1
    """How many of them there are, if known."""

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
        found = int((axis == "cols") != self.transposed)
        return found + (self.batched and found >= self.batch_dimension)


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
    def stored(self) -> tuple[GemmOperand, ...]:
        """The memory that is stored to."""
        return tuple(x.memory for x in self.outputs) or (self.c,)

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
    """Whether a kernel does so before; else it is done where it is used."""


WIDTHS = (16, 8, 4)
"""Bytes that a work-item copies at a time, the most first."""
WORD_BYTES = 4


@dataclass(frozen=True, slots=True)
class Panel:
    """A tile of A or B in work-group memory: rows of pieces, and a gap behind each row.

    The step of A that has 32 of f16, in rows of 4 + 1 pieces of 16 bytes:

        row 0   | 0..7 | 8..15 | 16..23 | 24..31 | (gap) |
        row 1   | 0..7 | ...

    With an odd number of 16 bytes a row, eight consecutive rows begin in different
    banks, and each begins where the device loads matrices.  Several copies of a tile
    are side by side, with one gap behind all of them.

    A turned panel has bytes whose rows in memory are its columns.  A work-item loads a
    word of each of some rows there, four by four bytes change places in registers, and
    a piece of each of four rows is stored.
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
    turned: bool = False
    """Whether its rows are columns in memory."""

    @property
    def rows_at_once(self) -> int:
        """Rows of which a work-item copies a piece at a time."""
        return WORD_BYTES // self.element_bytes if self.turned else 1

    @property
    def loads(self) -> int:
        """Loads from memory for these pieces."""
        return self.per_piece if self.turned else 1

    @property
    def per_load(self) -> int:
        """Elements of a load."""
        return self.rows_at_once * self.per_piece // self.loads

    @property
    def turns(self) -> int:
        """How often work-items copy that many pieces, all of them together."""
        return self.rows * self.pieces // self.rows_at_once

    @property
    def per_piece(self) -> int:
        """Elements of a piece."""
        return self.width // self.element_bytes

    @property
    def pieces(self) -> int:
        """Pieces of a row that hold elements of one copy."""
        return self.cols // self.per_piece

    @property
    def stride(self) -> int:
        """Pieces from row to row: with gaps, an odd number of 16 bytes."""
        if not self.gaps:
            return self.copies * self.pieces
        many = WIDTHS[0] // self.width
        return (-(-self.copies * self.pieces // many) | 1) * many

    @property
    def bytes(self) -> int:
        """Bytes of all copies."""
        return self.rows * self.stride * self.width

    @property
    def interleaved(self) -> int:
        """From how many rows each eight work-items copy pieces; 1 for row after row.

        Where rows are shorter than eight pieces and their stride is odd, pieces of rows
        that are `pieces` apart are in different banks.
        """
        if self.stride % 2 == 0 or 8 % self.pieces or self.rows % 8 or self.turned:
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
    turned: bool = False,
) -> Panel | None:
    """Return a tile with the widest pieces of which each work-item copies equally many.

    Args:
        sizes: of the tile, that along the contiguous dimension last.
        grain: the size along that of the matrices that the tile is made of.
        element: the type of an element.
        work_items: that copy it.
        gaps: see `GemmTiles`.
        length: of a row in memory, if known: what is loaded divides it where it can.
        turned: whether rows in memory are columns of the tile.

    >>> panel((128, 32), 16, "f16", 256, True).stride
    5
    >>> panel((128, 32), 16, "f16", 256, True, length=500).width
    8
    """
    (rows, cols), size = sizes, ELEMENT_BITS[element] // 8
    every = (Panel(rows, cols, size, x, gaps, turned=turned) for x in WIDTHS)
    fitting = [
        x
        for x in every
        if 0 < size <= x.width
        and grain % x.per_piece == 0
        and rows % x.rows_at_once == 0
        and x.turns % work_items == 0
    ]
    whole = (x for x in fitting if length is not None and length % x.per_load == 0)
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
    ahead: int = 1
    """Steps whose tiles are on their way from memory to registers."""
    late: bool = False
    """Whether A and the first slices of B of a step are stored in the last product of
    the step before; only with slices."""
    streams: bool = False
    """Whether stores of C are nontemporal, if C begins with a cache line."""

    def __post_init__(self) -> None:
        (m, n), (sub_m, sub_n) = self.group, self.subgroup
        assert min(m, n, sub_m, sub_n, self.step, self.depth, self.width) > 0, self
        chunk = self.split * self.depth
        rest = m % sub_m, n % sub_n, sub_n % self.width, self.step % chunk
        assert not any(rest), self
        assert self.sliced or not self.late, self

    @property
    def iteration(self) -> int:
        """K of an iteration of the loop inside of memory."""
        return self.step * self.ahead

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
    def panel_of(self) -> dict[Source, Panel]:
        """The same by operand."""
        a, b = self.panels
        return {"a": a, "b": b}

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

    Without a tile, M, N and K, it is the device's.
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

    The sizes are those of a matrix of sums.
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
            return f"expected a memref whose last stride is 1, got {matrix.type}"
    if (reason := why_not_multiplied(problem.elements, device)) is not None:
        return reason
    if tiles is not None:
        return staged_by(tiles, problem, device)
    suited, reason = _suited(problem, device)
    if suited:
        return min(suited, key=lambda plan: (suited[plan], turned_share(plan)))
    if device.gemm_tiles:
        return reason
    return next(derived_tiles(problem, device), reason)


def _suited(problem: Problem, device: Device) -> tuple[dict[GemmPlan, float], str]:
    """Return the plans by a device's tiles with their costs, and why there are none."""
    reason = f"expected tiles for {device.name}, which has none by default"
    suited: dict[GemmPlan, float] = {}
    for each in device.gemm_tiles:
        found = staged_by(_by_bytes(each, problem), problem, device)
        if isinstance(found, str):
            reason = found
        elif not found.sliced or suits_slices(problem, found):
            suited[found] = estimated_cost(each, problem, device)
    return suited, reason


def is_of_vector(problem: Problem, device: Device | None) -> bool:
    """Return whether a product of one row or column is computed without matrices.

    It reads the other operand once: lanes do that as fast as memory allows.  DPAS has
    products of one row, and processors have kernels of few rows.
    """
    vulkan = device is not None and device.family == "vulkan"
    return vulkan and 1 in problem.c.shape


MOST_PARTS = 16
LEAST_PART = 256
"""Elements along K of a part, at least."""
SUM_NANOSECONDS = 3200.0
"""What sums of parts take besides their memory, on an H200: a kernel behind another."""
PART_BYTES = 2540.0
"""Bytes of parts that are written and read there in a nanosecond: 2, 4 and 8 parts of
128 x 4096 x 4096 took what these numbers say within 6%, in tiles of three kinds."""
READ_BYTES = 2400.0
"""Bytes of A and B that products of 16 rows read there in a nanosecond."""
GAIN = 0.95
"""Of the time of one product, the most that parts of it may take."""


def parts_along_k(problem: Problem, device: Device) -> int:
    """Return in how many parts of K a product is faster, with their sums; 1 for none.

    >>> from coopc.device import NVIDIA
    >>> f16 = GemmOperand("memref<128x4096xf16>", "f16", (128, 4096), (4096, 1))
    >>> c = replace(f16, type="memref<128x4096xf32>", element="f32")
    >>> parts_along_k(Problem(f16, replace(f16, shape=(4096, 4096)), c), NVIDIA)
    4
    """
    (m, n), k = problem.c.shape, problem.a.shape[1]
    if m is None or n is None or k is None or problem.batched:
        return 1
    if is_of_vector(problem, device):
        return 1

    def time(parts: int) -> float:
        a = replace(problem.a, shape=(m, k // parts))
        b = replace(problem.b, shape=(k // parts, n))
        c = replace(problem.c, matrices=parts)
        suited, _ = _suited(replace(problem, a=a, b=b, c=c), device)
        least = min(suited.values(), default=0) * (k // parts)
        if least:
            read = m * k * problem.a.element_bytes + k * n * problem.b.element_bytes
            least = max(least, read / READ_BYTES)
        if parts == 1 or not least:
            return GAIN * least or inf
        moved = (2 * parts + 1) * m * n * problem.c.element_bytes
        return least + SUM_NANOSECONDS + moved / PART_BYTES

    most = min(MOST_PARTS, k // LEAST_PART)
    piece = WIDTHS[0] // problem.a.element_bytes
    whole = k // piece if k % piece == 0 else k  # parts begin where pieces may
    known = (parts for parts in range(1, most + 1) if whole % parts == 0)
    return min(known, key=time, default=1)


COPY_NANOSECONDS = 3000.0
"""What a transpose takes there besides its memory: a kernel before another."""
COPY_BYTES = 3300.0
"""Bytes that a transpose reads and writes there in a nanosecond: 4096 x 4096 of f16
took 23.3 us, 8192 x 8192 of them 84.1 us."""
ALONG_K = 1.08
"""How much longer tiles take with B along K, of 16 bits: 2048, 4096 and 8192 x 4096 x
4096 took what this says within 2%.  With A along M they do not: 4096^3 took 396 us, and
406 us by its cost."""


def transposes_b(problem: Problem, device: Device) -> bool:
    """Return whether a product is faster with B, which is along K, transposed before.

    >>> from coopc.device import NVIDIA
    >>> f16 = GemmOperand("memref<4096x4096xf16>", "f16", (4096, 4096), (4096, 1))
    >>> b = replace(f16, strides=(1, 4096), transposed=True)
    >>> transposes_b(Problem(f16, b, replace(f16, element="f32")), NVIDIA)
    True
    """
    b, count = problem.b, problem.c.matrices
    (k, n), piece = b.shape, WIDTHS[0] // 2
    if None in problem.c.shape or k is None or not n or count is None:
        return False
    if not b.transposed or b.element_bytes != 2 or n % piece:
        return False  # bytes are faster along K; and rows of the copy are aligned
    if parts_along_k(problem, device) > 1:
        return False  # not measured
    plain = replace(problem, b=replace(b, strides=(n, 1), transposed=False))
    after, _ = _suited(plain, device)
    before, _ = _suited(problem, device)
    best = min(after, key=lambda plan: after[plan], default=None)
    if best is None or not best.sliced:
        return False  # other tiles read columns almost as fast
    copy = COPY_NANOSECONDS + 4 * count * k * n / COPY_BYTES
    time = min(before.values(), default=inf) * k
    return after[best] * k + copy < GAIN * ALONG_K * time


def plan_whole_gemm(problem: Problem, device: Device) -> GemmPlan | None:
    """Return the plan for sizes that are not known, but multiples of those of tiles.

    None where all are known, and where no tiles of the device suit the rest.
    """
    if None not in (*problem.c.shape, problem.a.shape[1]):
        return None
    every = (
        staged_by(_by_bytes(x, problem), problem, device) for x in device.gemm_tiles
    )
    suited = (
        x
        for x in every
        if isinstance(x, GemmPlan)
        and (suits_slices if x.sliced else has_whole_tiles)(problem, x, unknown=True)
    )
    best = min(suited, key=turned_share, default=None)
    # On an H200, 4096^3 of f16 takes 409 us with late stores and 422 us without; if
    # sizes are known, 386 us and 377 us.
    return best and replace(best, late=best.sliced)


def turned_share(plan: GemmPlan) -> float:
    """Return how many elements are turned for each multiplication."""
    (m, n), (a, b) = plan.group, plan.panels
    return a.turned / n + b.turned / m


def _by_bytes(tiles: GemmTiles, problem: Problem) -> GemmTiles:
    """Return tiles of as many bytes along K, where those of a device are of 16 bits."""
    return replace(tiles, step=tiles.step * 16 // ELEMENT_BITS[problem.a.element])


def estimated_cost(tiles: GemmTiles, problem: Problem, device: Device) -> float:
    """Return how long each element along K takes, in nanoseconds; 0 if not known.

    >>> from coopc.device import NVIDIA
    >>> f16 = GemmOperand("memref<128x128xf16>", "f16", (128, 128), (128, 1))
    >>> estimated_cost(NVIDIA.gemm_tiles[0], Problem(f16, f16, f16), NVIDIA)
    23.0
    """
    (m, n), count = problem.c.shape, problem.c.matrices
    if m is None or n is None or tiles.cost is None or device.compute_units is None:
        return 0
    groups = (count or 1) * -(-m // tiles.group[0]) * -(-n // tiles.group[1])
    alone, following = tiles.cost
    turns, k = -(-groups // device.compute_units), problem.a.shape[1]
    steps = 1 if not k else -(-k // tiles.step) * tiles.step / k
    return steps * (alone if turns == 1 else max(alone, following * turns))


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
    panels = _panels(tiles, shape, problem, items, device.turns_bytes)
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
        ahead=tiles.ahead,
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


def suits_slices(problem: Problem, plan: GemmPlan, unknown: bool = False) -> bool:
    """Return whether slices of B are a good default; perhaps for `unknown` sizes.

    They leave no room in work-group memory for what matrices at an edge need there: so
    all copies have to be whole pieces inside of memory, and so have casts of an
    epilogue.  And A alone is contiguous along K: else lines are read whole without
    slices, of A, or in the other case of B.  Nor is B turned, which takes more steps.
    """
    if any(output.in_pieces for output in problem.outputs):
        return False
    if problem.a.transposed or problem.b.transposed or plan.panels[1].turned:
        return False
    return has_whole_tiles(problem, plan, unknown)


def has_whole_tiles(problem: Problem, plan: GemmPlan, unknown: bool = False) -> bool:
    """Return whether all copies are whole pieces inside of memory."""
    (m, n), (a, b) = plan.group, plan.panels
    sizes = zip(
        (*problem.c.shape, problem.a.shape[1]), (m, n, plan.iteration), strict=True
    )
    return (
        all(unknown if x is None else x % of == 0 for x, of in sizes)
        and problem.a.row_alignment % a.per_load == 0
        and problem.b.row_alignment % b.per_load == 0
    )


def why_not_multiplied(elements: tuple[str, str, str], device: Device) -> str | None:
    """Return which product of element types the device lacks, or None."""
    a, b, c = elements
    if device.multiplications(a, b, c, c):
        return None
    return f"{device.name} does not multiply {a} * {b} + {c} -> {c}"


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
    if (reason := _why_no_schedule(tiles)) is not None:
        return reason
    if (reason := why_not_multiplied(elements, device)) is not None:
        return reason
    a, b, c = elements
    shapes = device.multiplications(a, b, c, c)
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


def _why_no_schedule(tiles: GemmTiles) -> str | None:
    """Return why steps along K cannot follow each other so, or None."""
    if tiles.stages not in (1, 2):
        return f"expected 1 or 2 stages, got {tiles.stages}"
    if tiles.sliced and tiles.stages != 1:
        return f"expected 1 stage of A with slices of B, got {tiles.stages}"
    if tiles.split < 1 or (tiles.sliced and tiles.split > 1):
        return (
            "expected 1 or more subgroups that share K, and 1 with slices of B, got "
            f"{tiles.split}"
        )
    if tiles.ahead < 1 or (tiles.ahead > 1 and tiles.sliced):
        return (
            f"expected 1 or more steps ahead, and 1 with slices of B, got {tiles.ahead}"
        )
    if tiles.ahead > 1 and tiles.ahead % tiles.stages:
        return (
            "expected 1 or an even number of steps ahead with 2 stages, got "
            f"{tiles.ahead}"
        )
    return None


def _panels(
    tiles: GemmTiles,
    shape: MatrixShape,
    problem: Problem,
    items: int,
    turns_bytes: bool,
) -> tuple[Panel, Panel] | str:
    """Return the tiles of A and B in work-group memory, or why not."""
    (m, n), step = tiles.group, tiles.step
    b_step = shape.k if tiles.sliced else step
    b_copies = SLICES if tiles.sliced else tiles.stages
    panels: list[Panel] = []
    for name, matrix, sizes, grain, copies in (
        ("A", problem.a, (m, step), shape.m, tiles.stages),
        ("B", problem.b, (n, b_step), shape.n, b_copies),
    ):
        is_along_k = (name == "A") != matrix.transposed
        found = partial(
            panel,
            element=matrix.element,
            work_items=items,
            gaps=tiles.gaps,
            length=matrix.row_alignment or matrix.size(AXES[not matrix.transposed]),
        )
        best = None
        if turns_bytes and matrix.element_bytes == 1 and not is_along_k:
            best = found(sizes, shape.k, turned=True)
        if best is None and is_along_k:
            best = found(sizes, shape.k)
        elif best is None:
            best = found((sizes[1], sizes[0]), grain)
        if best is None:
            rows, cols = sizes if is_along_k else sizes[::-1]
            return (
                f"expected a tile of {name} that {items} work-items copy in equal "
                f"pieces of {', '.join(map(str, WIDTHS))} bytes, got "
                f"{rows} x {cols} of {matrix.element}"
            )
        panels.append(replace(best, copies=copies))
    of_a, of_b = panels
    return of_a, of_b
