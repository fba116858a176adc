"""Mistakes of placement that are planted in the planner: running finds each of them.

A plan proves itself when it is built, so no such mistake gets that far.  Here the proof
is taken away, the kernel is compiled and runs on Intel's CPU run-time, emulated: what
is placed wrongly gives wrong numbers there, which shows that the run is a test of its
own, and that what the proof says is true.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.ir import SSAValue

import coopc
from coopc.diagnostic import CompileError
from coopc.dialects import tt
from coopc.interface_call import pack
from coopc.ir.split_values import Splitter
from coopc.passes.xe.convert_to_xe import tensor_memory
from coopc.passes.xe.convert_to_xe.layout_to_arith import plus
from coopc.plan import search
from coopc.plan.block2d import BlockPlan
from coopc.plan.block_message import BlockMode, BlockShape
from coopc.run import opencl
from coopc.run.execute import on_opencl

Array: TypeAlias = npt.NDArray[Any]

INPUTS = Path(__file__).parents[3] / "inputs" / "ttgir"
SIZES = (72, 208, 80)
"""M, N and K, which end within tiles; each subgroup along N has columns of its own."""
MOST_ROWS = 256
"""Of a tile, so that nothing outside of memory is touched, whatever the mistake."""
UNTOUCHED = 77


@dataclass(frozen=True)
class Mistake:
    """A wrong plan in place of a right one."""

    name: str
    plant: Callable[[BlockPlan], BlockPlan | None]
    """Gives None where the mistake makes no difference."""
    kernel: str = "gemm_axb_32x32"

    def __str__(self) -> str:
        """For pytest."""
        return self.name


def exchanged(plan: BlockPlan) -> BlockPlan:
    """x where y belongs, and y where x belongs."""
    return replace(plan, rows=plan.cols, cols=plan.rows)


def too_near(plan: BlockPlan) -> BlockPlan | None:
    """The second message 16 columns after the first, as if that had one block."""
    if len(plan.firsts) < 2 or plan.shape.count < 2:
        return None
    wrong = replace(plan)
    wrong.__dict__["sources"] = plan.sources
    wrong.__dict__["firsts"] = (plan.firsts[0], 1 << plan.bits[-1])
    wrong.__post_init__()  # the proof
    return wrong


def swapped(plan: BlockPlan) -> BlockPlan:
    """Two pieces of a message, each where the other belongs."""
    *others, last_but_one, last = plan.bits
    return replace(plan, bits=(*others, last, last_but_one))


def untransposed(plan: BlockPlan) -> BlockPlan | None:
    """A row of memory in the slots of all lanes, where each lane should get one."""
    x = plan.shape
    if x.mode is not BlockMode.TRANSPOSE:
        return None
    return replace(plan, shape=BlockShape(x.bits, x.width, x.height, x.count))


def exchanging(plan: BlockPlan) -> BlockPlan:
    """Neighbouring lanes that exchange half of what each has rightly."""
    return replace(plan, swaps=((0, 0),))


MISTAKES = [
    Mistake("x and y exchanged", exchanged),
    Mistake("x of the second message", too_near, "gemm_axb"),
    Mistake("pieces swapped", swapped),
    Mistake("no transposition", untransposed, "gemm_axbt_32x32"),
    Mistake("order of lanes", exchanging),
]


@pytest.fixture(autouse=True)
def no_plans_are_kept() -> Iterator[None]:
    """Plans are made anew in each test, and right ones after it."""
    search.plan.cache_clear()
    yield
    search.plan.cache_clear()


@pytest.fixture
def unproven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans do not prove themselves."""

    def nothing(_: BlockPlan) -> None:
        """Prove nothing."""

    monkeypatch.setattr(BlockPlan, "__post_init__", nothing)


def plant(mistake: Mistake, monkeypatch: pytest.MonkeyPatch) -> list[BlockPlan]:
    """Let the planner make a mistake in loads; return the list of wrong plans."""
    right, wrong = search.built, list[BlockPlan]()

    def built(request: search.Request, found: search.Fit) -> BlockPlan:
        plan = right(request, found)
        if request.store or (mistaken := mistake.plant(plan)) is None:
            return plan
        wrong.append(mistaken)
        return mistaken

    monkeypatch.setattr(search, "built", built)
    return wrong


def compiled(kernel: str) -> coopc.Artifact:
    """Compile a kernel that is emulated."""
    text = (INPUTS / f"{kernel}.ttgir").read_text()
    pipeline = "coopc-xe{device=bmg emulate=true}"
    return coopc.compile(text, pipeline, "spirv-binary")


def is_right(kernel: str, artifact: coopc.Artifact, session: opencl.Session) -> bool:
    """Run a GEMM, and return whether it writes the product, and nothing else."""
    m, n, k = SIZES
    random = np.random.default_rng(m)
    columns = k, k if "axbt" in kernel else n
    a, b = (random.integers(-8, 8, (MOST_ROWS, size)).astype("f2") for size in columns)
    c = np.full((MOST_ROWS, n), UNTOUCHED, "f4")
    (interface,) = artifact.interface
    groups = (1, 2 if "32x32" in kernel else 1, 1)
    call = pack(interface, [a, b, c, m, n, k], groups)
    after = on_opencl(artifact.bytes, call, session, seconds=300).arrays[2]
    right = b[:n].T if "axbt" in kernel else b[:k]
    product = a[:m].astype("f4") @ right.astype("f4")
    return np.array_equal(after[:m], product) and bool((after[m:] == UNTOUCHED).all())


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_the_proof_finds(mistake: Mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(mistake, monkeypatch)
    with pytest.raises(CompileError, match="does not give"):
        compiled(mistake.kernel)


@pytest.mark.usefixtures("unproven")
@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_running_finds(
    mistake: Mistake, monkeypatch: pytest.MonkeyPatch, intel_cpu: opencl.Session
) -> None:
    wrong = plant(mistake, monkeypatch)
    artifact = compiled(mistake.kernel)
    assert wrong
    assert not is_right(mistake.kernel, artifact, intel_cpu)


@pytest.mark.parametrize("kernel", sorted({each.kernel for each in MISTAKES}))
def test_right_plans_give_right_numbers(kernel: str, intel_cpu: opencl.Session) -> None:
    assert is_right(kernel, compiled(kernel), intel_cpu)


@pytest.mark.parametrize(
    "bound", [pytest.param(1, id="width"), pytest.param(2, id="height")]
)
def test_running_finds_wrong_bounds(
    bound: int, monkeypatch: pytest.MonkeyPatch, intel_cpu: opencl.Session
) -> None:
    # Bounds are no part of a plan, so no proof has to be taken away.
    right = tensor_memory.make_descriptor

    def make(
        op: tt.MakeTensorDescriptorOp, b: Splitter
    ) -> Sequence[Sequence[SSAValue]]:
        ((*surface,),) = right(op, b)
        surface[bound] = plus(b, surface[bound], 16)
        return [surface]

    monkeypatch.setattr(tensor_memory, "make_descriptor", make)
    artifact = compiled("gemm_axb_32x32")
    assert not is_right("gemm_axb_32x32", artifact, intel_cpu)
