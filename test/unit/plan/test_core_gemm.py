"""Blocks of cores: each thread has some, and what is packed."""

from dataclasses import replace

import pytest
from support.gemm_problems import problem

from coopc.device import BMG, DG2, LAVAPIPE
from coopc.device.cpu import WIDE_VECTOR_TILE
from coopc.plan.core_gemm import (
    SUM_BYTES,
    THIN_DEPTH,
    band_of,
    block_of,
    check_block,
    packs_own_b,
    plan_amx_gemm,
    plan_vector_gemm,
    stores_past_cache,
    streams_c,
    unit_without,
)
from coopc.plan.gemm import (
    Axis,
    Direct,
    Epilogue,
    GemmOperand,
    GemmPlan,
    Output,
    Packed,
)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 16, 64])
@pytest.mark.parametrize("size", [0, 1, 31, 512, 1024, 2048, 4096])
def test_blocks_are_enough_for_the_threads(size: int, threads: int, own: bool) -> None:
    rows, cols, _ = block_of(size, size, threads, own)
    panels = -(-size // 32)
    blocks = -(-panels // rows) * -(-panels // cols)
    assert blocks >= min(threads, panels * panels)
    assert rows * cols * 4096 <= SUM_BYTES


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("threads", [2, 15, 16, 24])
@pytest.mark.parametrize("sizes", [(512, 512), (2048, 2048), (128, 4096), (4096, 256)])
def test_shares_of_threads_are_near_squares(
    sizes: tuple[int, int], threads: int, own: bool
) -> None:
    """No thread reads more rows and columns than with rows of work-groups."""
    rows, cols, _ = block_of(*sizes, threads, own)
    group = 32 * rows, 32 * cols
    down, across = (-(-x // y) for x, y in zip(sizes, group, strict=True))
    share = -(-down * across // threads)
    band = band_of(sizes, group, threads) or 1
    assert band <= down
    plain = -(-share // across) * group[0] + min(share, across) * group[1]
    assert band * group[0] + -(-share // band) * group[1] <= plain


def test_a_block_that_is_too_large() -> None:
    with pytest.raises(
        ValueError, match="at most 1048576 bytes of accumulators in a block"
    ):
        check_block((32, 32, 4))


@pytest.mark.parametrize(
    ("sizes", "element", "threads", "packs"),
    [
        ((512, 64, 512), "f16", 1, False),
        ((512, 512, 512), "f16", 1, True),  # read too often
        ((512, 512, 512), "f16", 2, False),
        ((1024, 1024, 1024), "f16", 2, False),
        ((500, 64, 512), "f16", 2, False),
        ((128, 64, 2048), "f16", 2, True),  # rows are in few sets of the first cache
        ((128, 64, 2080), "f16", 2, False),
        ((96, 64, 96), "bf16", 1, False),
        ((96, 64, 96), "s8", 1, False),
        ((96, 512, 96), "s8", 1, True),
        ((96, 1280, 96), "s8", 2, False),
        ((96, 2048, 96), "s8", 2, True),  # read often, rows begin within lines
        ((96, 2048, 128), "s8", 2, False),
        ((4096, 1024, 1025), "s8", 2, True),  # threads wait for B anyway
        ((4096, 512, 1025), "s8", 2, False),
        ((None, 64, 512), "f16", 1, True),
        ((512, None, 512), "f16", 1, True),
        ((512, None, 512), "f16", 2, False),
    ],
)
def test_an_a_that_is_packed(
    sizes: tuple[int | None, int | None, int], element: str, threads: int, packs: bool
) -> None:
    kinds = ("s8", "s8", "s32") if element == "s8" else (element, element, "f32")
    asked = problem(sizes, kinds)
    found = plan_amx_gemm(asked, threads)
    assert isinstance(found, GemmPlan)
    assert isinstance(found.a, Packed) == packs
    if not packs:
        edges: dict[Axis, int] = {
            "rows": (sizes[0] or 0) % 32,
            "cols": sizes[2] % found.depth,
        }
        assert found.a == Direct(tuple(x for x, beyond in edges.items() if beyond))
    is_one_row = sizes[0] is not None and sizes[0] <= found.group[0]
    own = packs_own_b(asked, threads)
    channel = 4 // asked.a.element_bytes
    assert found.b == Packed(channel, before=not (is_one_row or own))


@pytest.mark.parametrize(
    ("sizes", "threads", "own"),
    [
        ((512, 512, 512), 1, False),
        ((512, 512, 512), 2, True),
        ((2048, 8192, 8192), 2, True),
        ((2049, 8192, 8192), 2, False),  # B is packed too often
        ((8192, 64, 1024), 2, True),  # but is small
        ((None, 64, 1024), 2, False),
        ((512, None, 512), 2, False),
    ],
)
def test_each_thread_packs_b(
    sizes: tuple[int | None, int | None, int], threads: int, own: bool
) -> None:
    asked = problem(sizes, ("bf16", "bf16", "f32"))
    assert packs_own_b(asked, threads) == own
    found = plan_amx_gemm(asked, threads)
    assert isinstance(found, GemmPlan)
    assert isinstance(found.b, Packed)
    assert found.b.before != own
    given = plan_amx_gemm(asked, threads, prepacked=True)
    assert isinstance(given, GemmPlan)
    assert given.b == replace(found.b, before=True)


def test_what_a_work_group_packs_is_on_its_stack() -> None:
    asked = problem((512, 512, 65536), ("bf16", "bf16", "f32"))
    for block, before in (
        ((8, 8, 64), False),
        ((8, 8, 65), True),
        ((1, 256, 16), True),
    ):
        check_block(block)
        found = plan_amx_gemm(asked, 2, block)
        assert isinstance(found, GemmPlan)
        assert found.b == Packed(2, before=before)


@pytest.mark.parametrize(
    ("m", "rows"), [(1, 16), (16, 16), (17, 32), (64, 32), (None, 32)]
)
def test_few_rows_are_one_tile(m: int | None, rows: int) -> None:
    asked = problem((m, 128, 64), ("s8", "s8", "s32"))
    found = plan_amx_gemm(asked)
    assert isinstance(found, GemmPlan)
    assert found.subgroup == (rows, 32)
    assert found.group[0] % rows == 0
    a = replace(asked.a, transposed=True, strides=(1, m or 64))
    turned = plan_amx_gemm(replace(asked, a=a))
    assert isinstance(turned, GemmPlan)
    assert turned.subgroup == (32, 32)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"fill": "value"}, ("C is filled with a value that is not constant")),
        ({"c": replace(problem().c, transposed=True)}, "an operand is transposed"),
        (
            {"a": GemmOperand("memref", "f16", (64, 64), (1, 64))},
            "elements of a row are not consecutive",
        ),
    ],
)
def test_refused_by_amx(change: dict[str, object], reason: str) -> None:
    assert plan_amx_gemm(replace(problem(), **change)) == reason


@pytest.mark.parametrize("threads", [1, 3, 16])
@pytest.mark.parametrize(
    "sizes", [(1, 4096, 4096), (7, 4096, 4096), (3, 64, 65536), (5, 100, 40), (2, 0, 0)]
)
def test_few_rows_are_shared_among_threads(
    sizes: tuple[int, int, int], threads: int
) -> None:
    """B is read as it is; each thread has a share where there are enough elements."""
    m, n, k = sizes
    elements = ("bf16", "bf16", "f32")
    found = plan_vector_gemm(problem(sizes, elements), threads, tile=WIDE_VECTOR_TILE)
    assert isinstance(found, GemmPlan)
    assert isinstance(found.b, Packed)
    assert not found.b.before
    assert found.subgroup[0] == found.group[0] == m
    shares = -(-n // found.group[1]) * found.split
    if n * k >= 1 << 20:
        assert threads <= shares < 2 * threads
    assert found.split == 1 or k // found.split >= THIN_DEPTH
    asked = plan_vector_gemm(problem(sizes, elements), threads, (1, 2, 8))
    assert isinstance(asked, GemmPlan)
    assert asked.b == Packed(1, "f32")


def test_vectors_are_as_many_as_c_has() -> None:
    """Rows of a small C, and half of the columns where that is enough."""
    elements = ("f32", "f32", "f32")
    for sizes, tile in (((4, 16), (4, 16)), ((40, 17), (12, 32)), ((1, 3), (1, 16))):
        m, n = sizes
        found = plan_vector_gemm(problem((m, n, 8), elements), tile=WIDE_VECTOR_TILE)
        assert isinstance(found, GemmPlan)
        assert found.subgroup == tile


@pytest.mark.parametrize(
    ("elements", "features", "packed"),
    [
        (("bf16", "bf16", "f32"), (), Packed(1, "f32")),
        (("bf16", "bf16", "f32"), ("avx512bf16",), Packed(2, "bf16")),
        (("f16", "bf16", "f32"), ("avx512bf16",), Packed(1, "f32")),
        (("s8", "s8", "s32"), ("avx512bf16",), Packed(2, "s16")),
        (("s8", "s8", "s32"), ("avx512vnni",), Packed(4, "s8")),
        (("u8", "s8", "s32"), ("avx512vnni",), Packed(2, "s16")),
    ],
)
def test_words_of_vectors(
    elements: tuple[str, str, str], features: tuple[str, ...], packed: Packed
) -> None:
    """By what the processor has; whole registers of products, or none."""
    found = plan_vector_gemm(problem((64, 64, 64), elements), features=features)
    assert isinstance(found, GemmPlan)
    assert found.a == found.b == packed
    assert found.step % found.depth == 0
    odd = plan_vector_gemm(problem(elements=elements), tile=(6, 6), features=features)
    assert isinstance(odd, GemmPlan)
    assert odd.b == (Packed(2, "s16") if elements[2] == "s32" else Packed(1, "f32"))


@pytest.mark.parametrize(
    ("elements", "bmg", "dg2"),
    [
        (("f16", "f16", "f32"), True, True),
        (("f16", "f16", "f16"), True, False),
        (("bf16", "bf16", "bf16"), True, False),
        (("tf32", "tf32", "f32"), True, True),
        (("s8", "u8", "s32"), True, True),
        (("s8", "s8", "s8"), False, False),
        (("s8", "s8", "s64"), False, False),
        (("f16", "f16", "f64"), False, False),
        (("f16", "bf16", "f32"), False, False),
        (("f16", "s8", "f32"), False, False),
        (("f8E8M0FNU", "f8E8M0FNU", "f32"), False, False),
    ],
)
def test_what_dpas_multiplies(
    elements: tuple[str, str, str], bmg: bool, dg2: bool
) -> None:
    asked = problem(elements=elements)
    assert (unit_without(asked, BMG) is None) == bmg
    assert (unit_without(asked, DG2) is None) == dg2
    assert unit_without(asked, LAVAPIPE) is None


@pytest.mark.parametrize(
    ("sizes", "past"),
    [
        ((1024, 512, 64), False),  # of f32, as many bytes as the second cache has
        ((1024, 513, 64), True),
        ((1024, None, 64), False),
    ],
)
def test_what_is_stored_past_the_cache(
    sizes: tuple[int, int | None, int], past: bool
) -> None:
    assert stores_past_cache(problem(sizes)) is past


def test_whole_lines_pass_the_caches() -> None:
    """Where nothing of C is read before, and rows begin whole lines apart."""
    whole = replace(problem((1024, 1040, 64)), fill="constant")
    assert streams_c(whole, 32, 1)
    assert not streams_c(whole, 32, 16)  # the caches of all have room for it
    assert not streams_c(replace(whole, fill="nothing"), 32, 1)
    assert not streams_c(replace(problem((512, 1024, 64)), fill="constant"), 32, 1)
    assert not streams_c(replace(problem((1024, 1044, 64)), fill="constant"), 32, 1)
    c, bytes = whole.c, replace(whole.c, element="s8", strides=(4096, 1))
    for other, taken in (
        (replace(c, strides=(1056, 1), row_alignment=1056), True),
        (replace(c, strides=(1056, 1), row_alignment=8), False),  # or where it begins
        (replace(c, strides=(1, 1024), transposed=True), False),
        (replace(c, strides=(None, None), row_alignment=1), False),
        (replace(bytes, shape=(1024, 4096)), False),  # a tile has half lines
    ):
        assert streams_c(replace(whole, c=other), 32, 1) is taken, other
        of_output = Epilogue((Output(other),))
        assert streams_c(replace(whole, epilogue=of_output), 32, 1) is taken, other
        in_place = replace(of_output, in_place=True)
        assert not streams_c(replace(whole, epilogue=in_place), 32, 1)


@pytest.mark.parametrize(("k", "streams"), [(512, True), (513, False), (None, False)])
def test_vectors_stream_what_they_store_once(k: int | None, streams: bool) -> None:
    """Not sums that are in C, and so in the caches, between steps along K."""
    asked = replace(problem((1024, 1024, k), ("f32", "f32", "f32")), fill="constant")
    found = plan_vector_gemm(asked)
    assert isinstance(found, GemmPlan)
    assert found.streams is streams
    finished = replace(asked, epilogue=Epilogue((Output(asked.c),)))
    found = plan_vector_gemm(finished)
    assert isinstance(found, GemmPlan)
    assert found.streams
