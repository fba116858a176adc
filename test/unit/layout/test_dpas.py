"""The laws that coopc/layout/dpas.py states, and the goldens of its source."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.dpas import DpasEncoding
from coopc.layout.encodings import Bases, Operand

SEED = DpasEncoding(8, 8, 16, 2, 16, (8, 4), (4, 2))
OPERANDS: tuple[Operand, ...] = ("a", "b", "c")

# N, S, o and rc of every DPAS that has a layout: all of the hardware, exhaustively.
INSTRUCTIONS = [
    DpasEncoding(rc, 8, n, ops, lanes, (1, 1), (1, 1))
    for n, lanes, ops, rc in product((8, 16), (8, 16, 32), (1, 2, 4), (1, 2, 4, 8))
    if n <= lanes and lanes // min(n, 8 * ops) <= rc
]


@st.composite
def encodings(draw: st.DrawFn) -> tuple[DpasEncoding, tuple[int, int, int, int]]:
    """Any encoding, and (batch, M, N, K), smaller and larger than its tile."""
    one = draw(st.sampled_from(INSTRUCTIONS))
    rank = draw(st.sampled_from([2, 3]))
    sizes = st.tuples(*[st.sampled_from([1, 2, 4])] * rank)
    encoding = DpasEncoding(
        one.repeat_count,
        8,
        one.execution_size,
        one.ops_per_chan,
        one.threads_per_warp,
        draw(sizes),
        draw(sizes),
    )
    size = st.sampled_from([1, 4, 16, 32, 64])
    batch = draw(st.sampled_from([1, 2, 8])) if rank == 3 else 1
    return encoding, (batch, draw(size), draw(size), draw(size))


def shape_of(
    operand: Operand, encoding: DpasEncoding, sizes: tuple[int, int, int, int]
) -> tuple[int, ...]:
    batch, m, n, k = sizes
    shapes: dict[Operand, tuple[int, int]] = {"a": (m, k), "b": (k, n), "c": (m, n)}
    return ((batch,) if encoding.rank == 3 else ()) + shapes[operand]


@given(encodings(), st.sampled_from(OPERANDS))
def test_covers(
    drawn: tuple[DpasEncoding, tuple[int, int, int, int]], operand: Operand
) -> None:
    encoding, sizes = drawn
    shape = shape_of(operand, encoding, sizes)
    x = encoding.operand_linear(operand, shape)
    assert tuple(x.out_sizes.values()) == shape
    assert x.is_surjective
    tile = encoding.tile(operand)
    assert tile.is_surjective
    assert tile.in_bits == tile.out_bits


@pytest.mark.parametrize("x", INSTRUCTIONS, ids=str)
def test_row_of_a(x: DpasEncoding) -> None:
    """Every DPAS: which lane and register holds each element of A, B and C."""
    s, n, ops = x.threads_per_warp, x.execution_size, x.ops_per_chan
    k = 8 * ops
    packed = max(1, k // n)
    a, b, c = (x.tile(operand).table() for operand in OPERANDS)
    lane, r = np.arange(s), np.arange(x.tile("a").in_sizes["register"])[:, None]
    held = max(1, s * packed // k)
    assert np.array_equal(a["dim1"], lane * packed % k + r % packed)
    assert np.array_equal(a["dim0"], r // packed * held + lane * packed // k)
    assert np.all(b["dim1"] == lane % n)
    assert np.all(c["dim1"] == lane % n)
    r = np.arange(x.tile("b").in_sizes["register"])[:, None]
    assert np.array_equal(b["dim0"], (r // ops * (s // n) + lane // n) * ops + r % ops)


@given(encodings())
def test_shared(drawn: tuple[DpasEncoding, tuple[int, int, int, int]]) -> None:
    encoding, sizes = drawn
    along_m, along_n = encoding.warps_per_cta[-2:]
    a = encoding.operand_linear("a", shape_of("a", encoding, sizes))
    b = encoding.operand_linear("b", shape_of("b", encoding, sizes))
    for warp in range(a.in_sizes["warp"]):
        rest = warp // along_n
        assert a.at(warp=warp) == a.at(warp=rest * along_n)
        first_row = warp - warp // along_n % along_m * along_n
        assert b.at(warp=warp) == b.at(warp=first_row)


@pytest.mark.parametrize("x", INSTRUCTIONS, ids=str)
def test_channel(x: DpasEncoding) -> None:
    ops = x.ops_per_chan
    rows = x.tile("b").table()["dim0"].reshape(-1, ops, x.threads_per_warp)
    assert np.all(rows[:, 0] % ops == 0)
    assert np.array_equal(rows, rows[:, :1] + np.arange(ops)[None, :, None])


@given(encodings(), st.integers(0, 2**32 - 1))
def test_multiplies(
    drawn: tuple[DpasEncoding, tuple[int, int, int, int]], seed: int
) -> None:
    """Each subgroup's C needs no element of A or B that the subgroup does not hold."""
    encoding, sizes = drawn
    batch, m, n, k = sizes
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-4, 5, (batch, m, k)), rng.integers(-4, 5, (batch, k, n))
    tables = {
        operand: [
            coordinates[..., 0]
            for coordinates in encoding.operand_linear(
                operand, shape_of(operand, encoding, sizes)
            )
            .table()
            .values()
        ]
        for operand in OPERANDS
    }
    result = np.zeros((batch, m, n), dtype=np.int64)
    for warp in range(tables["c"][0].shape[2]):
        parts = {"a": np.zeros_like(a), "b": np.zeros_like(b)}
        for operand, whole in (("a", a), ("b", b)):
            index = [t[:, :, warp] for t in tables[operand]]
            index = index if encoding.rank == 3 else [np.zeros_like(index[0]), *index]
            parts[operand][tuple(index)] = whole[tuple(index)]
        own = parts["a"] @ parts["b"]
        index = [t[:, :, warp] for t in tables["c"]]
        index = index if encoding.rank == 3 else [np.zeros_like(index[0]), *index]
        result[tuple(index)] = own[tuple(index)]
    assert np.array_equal(result, a @ b)


GOLDENS: list[tuple[DpasEncoding, Operand, tuple[int, ...], Bases, Bases, Bases]] = [
    # The document's example: rc 8, o 2, 16 lanes, 8 x 4 subgroups, clusters of 4 x 2.
    (
        SEED,
        "a",
        (256, 32),
        ((1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (0, 16)),
        ((0, 1), (0, 2), (0, 4), (0, 8)),
        ((0, 0), (0, 0), (32, 0), (64, 0), (128, 0)),
    ),
    (
        SEED,
        "b",
        (32, 256),
        ((1, 0), (2, 0), (4, 0), (8, 0), (0, 16), (16, 0), (0, 128)),
        ((0, 1), (0, 2), (0, 4), (0, 8)),
        ((0, 32), (0, 64), (0, 0), (0, 0), (0, 0)),
    ),
    (
        SEED,
        "c",
        (256, 256),
        ((1, 0), (2, 0), (4, 0), (0, 16), (8, 0), (16, 0), (0, 128)),
        ((0, 1), (0, 2), (0, 4), (0, 8)),
        ((0, 32), (0, 64), (32, 0), (64, 0), (128, 0)),
    ),
    # DPAStoLinearLayoutTest.cpp, 32 lanes.
    (
        DpasEncoding.of(8, 32),
        "a",
        (8, 32),
        ((0, 1), (2, 0), (4, 0)),
        ((0, 2), (0, 4), (0, 8), (0, 16), (1, 0)),
        (),
    ),
    (
        DpasEncoding.of(32, 32),
        "a",
        (8, 8),
        ((4, 0),),
        ((0, 1), (0, 2), (0, 4), (1, 0), (2, 0)),
        (),
    ),
    (
        DpasEncoding.of(8, 32),
        "b",
        (32, 16),
        ((1, 0), (2, 0), (8, 0), (16, 0)),
        ((0, 1), (0, 2), (0, 4), (0, 8), (4, 0)),
        (),
    ),
    (
        DpasEncoding.of(16, 32),
        "b",
        (16, 16),
        ((1, 0), (4, 0), (8, 0)),
        ((0, 1), (0, 2), (0, 4), (0, 8), (2, 0)),
        (),
    ),
    (
        DpasEncoding.of(16, 32),
        "c",
        (8, 16),
        ((2, 0), (4, 0)),
        ((0, 1), (0, 2), (0, 4), (0, 8), (1, 0)),
        (),
    ),
    (
        DpasEncoding(8, 8, 16, 2, 32, (2, 2), (4, 2)),
        "a",
        (64, 64),
        ((2, 0), (4, 0), (8, 0), (16, 0), (0, 16), (0, 32)),
        ((0, 1), (0, 2), (0, 4), (0, 8), (1, 0)),
        ((0, 0), (32, 0)),
    ),
    (
        DpasEncoding(8, 8, 16, 2, 32, (2, 2), (4, 2)),
        "b",
        (64, 64),
        ((1, 0), (4, 0), (8, 0), (0, 16), (16, 0), (32, 0)),
        ((0, 1), (0, 2), (0, 4), (0, 8), (2, 0)),
        ((0, 32), (0, 0)),
    ),
    (
        DpasEncoding(8, 8, 16, 2, 32, (2, 2), (2, 2)),
        "c",
        (128, 128),
        ((2, 0), (4, 0), (0, 16), (8, 0), (0, 64), (32, 0), (64, 0)),
        ((0, 1), (0, 2), (0, 4), (0, 8), (1, 0)),
        ((0, 32), (16, 0)),
    ),
]


@pytest.mark.parametrize(
    ("encoding", "operand", "shape", "register", "lane", "warp"), GOLDENS
)
def test_golden_bases(
    encoding: DpasEncoding,
    operand: Operand,
    shape: tuple[int, ...],
    register: Bases,
    lane: Bases,
    warp: Bases,
) -> None:
    x = encoding.operand_linear(operand, shape)
    found = [x.bases(name) for name in ("register", "lane", "warp", "block")]
    assert found == [register, lane, warp, ()]


def test_split_example_u8_i8() -> None:
    """`int2 ..u8_i8..k32(uint a, int8 b, int2 acc)` over 8 lanes, its one row of A."""
    x = DpasEncoding.of(8, lanes=8, repeat_count=1)
    a, b, c = (x.distribution(o, *x.tile_shape(o)) for o in OPERANDS)
    assert (a.components, b.components, c.components) == (4, 32, 1)
    for lane in range(8):
        assert [a.element(lane, v) for v in range(4)] == [
            (0, 4 * lane + v) for v in range(4)
        ]
        assert [b.element(lane, v) for v in range(32)] == [(v, lane) for v in range(32)]
        assert c.element(lane, 0) == (0, lane)


def test_printed_shapes() -> None:
    """A = [32, 16], B = [16, 32], C = [32, 32] in the document."""
    shapes = [SEED.cluster_shape(operand) for operand in OPERANDS]
    assert shapes == [(32, 16), (16, 32), (32, 32)]
    batched = DpasEncoding(8, 8, 16, 2, 16, (2, 2, 2), (1, 4, 2))
    assert batched.cluster_shape("a") == (1, 32, 16)
    assert batched.repetitions("b", (4, 64, 64)) == (2, 4, 1)


def test_cluster_larger_than_the_tensor_broadcasts() -> None:
    x = SEED.operand_linear("a", (16, 16))
    assert x.bases("register") == ((1, 0), (2, 0), (4, 0), (8, 0), (0, 0))
    assert x.free_masks() == {"register": 16, "lane": 0, "warp": 31, "block": 0}


def test_distribution_pads_to_one_dpas() -> None:
    x = DpasEncoding.of(16, lanes=16).distribution("a", 5, 13)
    assert x.shape == (5, 13)
    assert x.components == 8
    assert x.element(13, 0) == (5, 13)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"repeat_count": 9}, "repeatCount 1 to 8, got 9"),
        ({"systolic_depth": 4}, "systolicDepth 8, got 4"),
        ({"execution_size": 32}, "executionSize 8 or 16, got 32"),
        ({"ops_per_chan": 3}, "opsPerChan 1, 2 or 4, got 3"),
        ({"threads_per_warp": 8}, r"threadsPerWarp 16 .* to 128, got 8"),
        ({"threads_per_warp": 24}, "threadsPerWarp to be a power of two, got 24"),
        ({"warps_per_cta": (4,)}, r"rank 2 or 3, got \[4\]"),
        ({"warps_per_cta": (4, 3)}, "warpsPerCTA to be a power of two, got 3"),
        ({"rep_cluster": (1, 1, 1)}, r"repCluster of rank 2, got \[1, 1, 1\]"),
        ({"fp4_k_pack": 2}, "fp4KPack 2 with opsPerChan 4, got 2 with 2"),
    ],
)
def test_wrong_parameters(change: dict[str, int], message: str) -> None:
    parameters: dict[str, object] = {
        "repeat_count": 8,
        "systolic_depth": 8,
        "execution_size": 16,
        "ops_per_chan": 2,
        "threads_per_warp": 16,
        "warps_per_cta": (8, 4),
        "rep_cluster": (4, 2),
    }
    with pytest.raises(ValueError, match=message):
        DpasEncoding(**{**parameters, **change})  # pyright: ignore[reportArgumentType]


def test_layouts_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match=r"at least 2, the rows of A that 16 .* got 1"):
        DpasEncoding.of(32, lanes=16, repeat_count=1).operand_linear("a", (8, 8))
    with pytest.raises(ValueError, match="repeatCount to be a power of two, got 3"):
        DpasEncoding.of(16, lanes=16, repeat_count=3).linear((8, 16))
    with pytest.raises(ValueError, match="rank 2, got 3 in 1x8x16"):
        SEED.linear((1, 8, 16))
    with pytest.raises(ValueError, match="dim0 to be a power of two, got 24"):
        SEED.linear((24, 16))
