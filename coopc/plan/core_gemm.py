"""The plan of a matrix multiplication by cores: blocks for caches, tiles in registers.

A work-group is a core, which computes tiles one after the other: by tiles of AMX, or by
vectors.  A and B are packed by kernels before, except those that are read as they are
once, or few times.  What a plan is says `coopc.plan.gemm`.

Laws (test/unit/plan/test_core_gemm.py):
  threads   each has a block, where C has as many tiles, or a share of few rows
  bands     no thread reads more of A and B than with work-groups row by row

That the tiles cover C is a law of `coopc.plan.gemm`, for these plans too.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from itertools import product
from math import prod
from typing import TypeAlias

from coopc.device import AMX, ELEMENT_BITS, Device, signless
from coopc.device.cpu import SECOND_CACHE_BYTES, VECTOR_TILE
from coopc.device.model import Dpas
from coopc.plan.amx_tiles import AMX as TILES
from coopc.plan.gemm import Axis, Direct, GemmOperand, GemmPlan, Packed, Problem

# --- AMX: blocks for the caches of a core --------------------------------------------

PANEL = 2 * TILES.rows
"""Rows of A, or columns of B, that are packed together: two tiles.  Four tiles have the
sums of two panels, two have a step of either: all eight tiles."""
STEP_BYTES = TILES.row_bytes
"""Of K, in a row of a tile of A: a step of a panel has 2 KiB."""
UNROLL = 4
"""Products along K that the innermost loop is unrolled by."""
SUM_BYTES = SECOND_CACHE_BYTES // 2
"""Of the sums of a work-group, at most: half of the second cache.  They stay there, as
do the panels that they need."""
SETS, LINE_BYTES = 64, 64
"""Sets of the first cache, and bytes of a line."""
SET_LINES = 8
"""The most lines of a set in which rows of a tile may begin if A is read in place."""
FEW_COLS = 256
"""Columns of C with which one thread reads A as it is, at most: with 512 it was 4%
faster to pack A, with 256 and a K of 64 4% slower.  With 16 threads, products of 1024^3
of bf16 were 15% faster without: a thread has to fetch what others pack."""
SPLIT_COLS = 1280
"""The most columns of C for which several threads read in place an A whose rows are not
aligned to lines: a row of a tile then spans two lines.  On 16 threads it was 1.7 times
as fast for 640 x 192 x 917 of bf16, 1.25 times for 1155 x 1045 x 160, and 15% slower
for 2047 x 2049 x 513; and no faster where threads wait for each other to pack B."""
OWN_ROWS = 2048
OWN_BYTES = 1 << 20
"""Each of several threads packs the B that it needs if C has at most so many rows, or B
at most so many bytes: it does not wait for B, nor fetch it from the caches of others.
On 16 threads it was 1.8 times as fast for 512^3, 1.25 times for 1024^3, no slower for
2048^3, and 7% (bf16) to 14% (i8) slower for 4096^3, where B is packed 16 times."""
SHARED_WEIGHTS, OWN_WEIGHTS = (2, 2), (1, 3)
"""Cost of a panel of A and of B, in products of panels: where other threads packed
both, and where a thread reads A in place and packs B."""

Block: TypeAlias = tuple[int, int, int]
"""Panels of A, panels of B and products along K that a core computes at a time."""

ONE_THREAD_BLOCK: Block = (8, 8, 16)
"""The block of large matrices.  Loads of tiles from the second cache are the limit: in
machine code for 2048 x 2048 x 4096 of bf16, on an Emerald Rapids Xeon, 64 steps took as
long as their loads alone, 870 Gop/s, products alone 1,980.  With 16 steps, a panel of B
stays in the first cache.  For 2048^3, 64 steps had 1,220 Gop/s, and 16 steps 1,120;
with nontemporal loads of A 1,190, and with the next slab prefetched 1,390.  With 8
steps sums are loaded and stored more often, 1,190; 12 steps, and blocks of 8 x 12 and
12 x 8 panels, are within 10%."""
ONE_PANEL_STEPS = 64
"""Steps where A is one panel, so that B is read once: sums are loaded less often.  16
steps were 8% slower for i8, 25% for bf16 (16 x 4096 x 4096, B packed before)."""
SHARED_BLOCK: Block = (4, 4, 16)
"""The largest block where threads share packed B, by 16 of them: up to 25% faster than
4 x 8 panels, as small blocks are shared more evenly."""
OWN_BLOCK: Block = (8, 4, 16)
"""The largest block where each thread packs B: of more rows, so that it packs less."""
NARROW = 8
"""Panels of B up to which a block has whole rows of C: it writes memory without gaps,
which was 1.7 times as fast for 4096 x 256 x 64 of i8."""
SLAB_STEPS = 16
"""Products along K of which a core packs B at a time, where it packs it as it goes."""


def plan_amx_gemm(
    problem: Problem,
    threads: int = 1,
    block: Block | None = None,
    prepacked: bool = False,
) -> GemmPlan | str:
    """Return how a multiplication is blocked for tiles and caches, or why it is not.

    Args:
        problem: what is multiplied, of types that AMX multiplies.
        threads: that share the work-groups; each is to have some.
        block: what a work-group computes at a time; by the sizes without.
        prepacked: whether the caller packs B.
    """
    if reason := why_not_packed(problem):
        return reason
    (m, n), size = problem.c.shape, problem.a.element_bytes
    depth = STEP_BYTES // size
    own = packs_own_b(problem, threads)
    rows, cols, steps = block or block_of(m, n, threads, own)
    # With work-groups in one row, each panel of B is packed by who multiplies it.
    before = prepacked or m is None or (not own and m > rows * PANEL)
    if not before and block is None:
        steps = SLAB_STEPS
    # What a work-group packs is on its stack.
    before |= cols * steps * PANEL * STEP_BYTES > SUM_BYTES
    # A panel of few rows is one tile.
    few = m is not None and m <= TILES.rows and not problem.a.transposed
    panels = TILES.rows if few else PANEL, PANEL
    group = rows * panels[0], cols * panels[1]
    return GemmPlan(
        group,
        panels,
        steps * depth,
        depth,
        PANEL // 2,
        plan_of_a(problem, threads),
        Packed(4 // size, before=before),
        band=band_of(problem.c.shape, group, threads),
        streams=streams_c(problem, panels[1], threads),
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


def is_of_dpas(problem: Problem, dpas: Dpas) -> bool:
    """Return whether DPAS multiplies the element types of a problem."""
    a, b, c = problem.elements
    one_type = a == b or {a, b} <= {"s8", "u8"}
    sums = map(signless, dpas.sums(a))
    return one_type and a in DPAS_ELEMENTS and signless(c) in sums


def unit_without(problem: Problem, device: Device | None) -> str | None:
    """Return the matrix unit of a device, if it does not multiply these types.

    None without a device, and for one whose KHR matrices are lowered for any type.
    """
    if device is None:
        return None
    if device.amx is not None:
        return None if is_of_amx(problem) else "AMX"
    if device.dpas is None or is_of_dpas(problem, device.dpas):
        return None
    return "DPAS"


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
            f"expected at most {SUM_BYTES} bytes of accumulators in a block, got {size}"
        )


def packs_own_b(problem: Problem, threads: int) -> bool:
    """Return whether each of several threads packs what it needs of B."""
    (m, n), k = problem.c.shape, problem.a.size("cols")
    if threads == 1 or m is None or n is None or k is None:
        return False
    return m <= OWN_ROWS or n * k * problem.b.element_bytes <= OWN_BYTES


def block_of(
    m: int | None, n: int | None, threads: int = 1, own: bool = False
) -> Block:
    """Return the block of an M x N matrix; a size is None where it is not known.

    Of blocks up to the largest, it is the one with which the busiest thread is done
    first.  If threads have several blocks, one more is added, as a thread may take over
    a block of a slower one.

    Args:
        m: rows.
        n: columns.
        threads: that share the blocks.
        own: whether each packs the B that it needs, or the caller does.

    >>> block_of(4096, 4096), block_of(4096, 4096, threads=16)
    ((8, 8, 16), (4, 4, 16))
    >>> block_of(512, 512, 16, own=True), block_of(4096, 256, 16, own=True)
    ((8, 2, 16), (8, 8, 16))
    """
    rows, cols, steps = ONE_THREAD_BLOCK
    if threads > 1:
        rows, cols, steps = OWN_BLOCK if own else SHARED_BLOCK
    if m is None or n is None:
        return rows, cols, steps
    across, down = max(1, -(-n // PANEL)), max(1, -(-m // PANEL))
    if own and across <= NARROW and down >= rows * threads:
        return rows, across, steps
    rows, cols = min(rows, down), min(cols, across)
    if rows == 1:
        steps = ONE_PANEL_STEPS
    if threads == 1:
        return rows, cols, steps
    of_a, of_b = OWN_WEIGHTS if own else SHARED_WEIGHTS

    def last(block: tuple[int, int]) -> tuple[int, int]:
        down_, across_ = block
        count = -(-down // down_) * -(-across // across_)
        each = down_ * across_ + of_a * down_ + of_b * across_
        rounds = -(-count // threads)
        return (rounds + (rounds > 1)) * each, count

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


def plan_of_a(problem: Problem, threads: int = 1) -> Packed | Direct:
    """Return whether A is packed or read in place, and where last tiles are partial.

    It is packed if rows of the memref are not along K, if there is a batch, if rows of
    a tile begin in more than `SET_LINES` lines of a set of the first cache, and if it
    is read often: by one thread if C has more than `FEW_COLS` columns, and by several
    if rows are not aligned to lines and C has more than `SPLIT_COLS` columns or B is
    packed before.
    """
    a, n = problem.a, problem.c.shape[1]
    (m, k), row_stride, size = a.shape, a.strides[0], a.element_bytes
    if a.transposed or a.batched or m is None or k is None or row_stride is None:
        return Packed()
    row_bytes = row_stride * size
    often = n is None or n > FEW_COLS
    if threads > 1:
        wide = n is None or n > SPLIT_COLS or not packs_own_b(problem, threads)
        often = row_bytes % LINE_BYTES > 0 and wide
    if often or lines_of_set(row_bytes) > SET_LINES:
        return Packed()
    depth = STEP_BYTES // size
    panel = TILES.rows if m <= TILES.rows else PANEL
    edges: dict[Axis, bool] = {"rows": m % panel > 0, "cols": k % depth > 0}
    return Direct(tuple(axis for axis, is_edge in edges.items() if is_edge))


def stores_past_cache(problem: Problem, threads: int = 1) -> bool:
    """Return whether outputs are larger than the second caches of all threads.

    Those of unknown size count as empty.
    """
    total = 0
    for x in problem.stored:
        if None not in (known := (*x.shape, x.matrices)):
            total += prod(n or 0 for n in known) * ELEMENT_BITS[x.element] // 8
    return total > threads * SECOND_CACHE_BYTES


def streams_c(problem: Problem, cols: int, threads: int) -> bool:
    """Return whether whole tiles of C are written by nontemporal stores.

    Those write lines of 64 bytes to memory and do not read them first.  C must be known
    to be larger than the second caches, must not be read, and every row of a tile must
    be whole lines, if C begins with one: the kernel checks that.

    On one core of a Sapphire Rapids, they are 2.1 to 2.3 times as fast for
    2103 x 3456 x 64 of bf16, 3 times for i8, and 1.05 to 1.08 times for 2048^3; on one
    of a Zen 4, without tiles, 1.1 to 1.4 times for K from 64 to 128.  On 16 threads
    they were up to 20% slower if the second caches had room for C.

    Args:
        problem: what is multiplied.
        cols: columns of a tile.
        threads: that share the work.
    """
    epilogue = problem.epilogue
    if problem.fill == "nothing" or (epilogue is not None and epilogue.in_place):
        return False

    def whole_lines(memory: GemmOperand) -> bool:
        apart = memory.row_alignment or memory.size("cols") or 1
        bits = ELEMENT_BITS[memory.element]
        return all(x * bits % (8 * LINE_BYTES) == 0 for x in (apart, cols))

    return stores_past_cache(problem, threads) and all(
        x.contiguous and not x.transposed and whole_lines(x) for x in problem.stored
    )


def lines_of_set(row_bytes: int, rows: int = TILES.rows) -> int:
    """Return the most lines of one set of the first cache in which rows begin.

    >>> [lines_of_set(x) for x in (5, 1024, 2048, 4096, 5312 * 2)]
    [1, 4, 8, 16, 1]
    """
    lines = {row * row_bytes // LINE_BYTES for row in range(rows)}
    return max(Counter(line % SETS for line in lines).values())


# --- any processor: tiles of vectors -------------------------------------------------

VECTOR_ROWS = 192
VECTOR_PANELS = 32
VECTOR_STEPS = 512
"""Rows of A, panels of B and words of K that a core computes at a time: 384 KiB of A
are in the second cache.  Deeper than the first cache has room for a panel of B: sums
are loaded and stored half as often, which was 5% faster for 2048 and no slower."""
FEW_VECTOR_COLS = 512
"""The most columns of C with which vectors read A in place.  On one core of a Zen 4, in
f32, that was 2.0 times as fast for eight of 256 x 64 x 256 (2.7 times on an Emerald
Rapids), 1.5 times for 512 x 128 x 512, 1.2 times for 512^3 and 1.1 times for
1000 x 512 x 300; 1000^3 was 12% slower."""
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


def check_features(features: Collection[str]) -> None:
    """Check the option `features` of passes.

    Raises:
        ValueError: one is none of `DOT_FEATURES`.
    """
    if unknown := sorted({*features} - {*DOT_FEATURES}):
        raise ValueError(
            f"expected features of {', '.join(DOT_FEATURES)}, got {unknown[0]}"
        )


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
    down, across, step = block or (
        max(1, VECTOR_ROWS // rows),
        VECTOR_PANELS,
        VECTOR_STEPS,
    )
    if block is None:
        down, across = _shared(problem.c.shape, (rows, cols), (down, across), threads)
    group = down * rows, across * cols
    depth, band = packed.channel, band_of(problem.c.shape, group, threads)
    of_a = vectors_of_a(problem, packed, rows)
    # Without an epilogue, sums are in C between steps, and so in the caches: to stream
    # them in the last one was up to 3% slower on a Zen 4 (1024^2 of f32, K of 544 to
    # 1024).
    k = problem.a.size("cols")
    once = bool(problem.outputs) or (k is not None and k <= step * depth)
    return GemmPlan(
        group,
        (rows, cols),
        step * depth,
        depth,
        cols,
        of_a,
        packed,
        band=band,
        streams=once and streams_c(problem, cols, threads),
    )


def vectors_of_a(problem: Problem, packed: Packed, rows: int) -> Packed | Direct:
    """Return how vectors read A: in place, or packed.

    In place needs words that are single elements, rows along K, at most
    `FEW_VECTOR_COLS` columns of C, and rows of a tile that do not crowd one set of the
    first cache: if all begin in one set, 2048 x 256 x 1024 was 12% slower than packed.

    `packed` is how A would be packed; `rows` are those of a tile in registers.
    """
    a, (m, n), stride = problem.a, problem.c.shape, problem.a.strides[0]
    is_word = (packed.channel, packed.element) == (1, a.element)
    if a.transposed or not is_word or stride is None:
        return packed
    if n is None or n > FEW_VECTOR_COLS:
        return packed
    if lines_of_set(stride * a.element_bytes, rows) > SET_LINES:
        return packed
    return Direct(() if m is not None and m % rows == 0 else ("rows",))


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
        group,
        (m, cols),
        split * step,
        depth,
        cols,
        words,
        words,
        split=split,
        streams=streams_c(problem, cols, threads),
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
