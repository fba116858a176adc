"""expand-exchanges: what lanes hold afterwards, on the simulator and on devices."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.layout_attributes import attribute_of
from support.programs import module_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import coopc
from coopc.dialects import simt
from coopc.dialects.narrow import is_memref
from coopc.interface_call import Call, pack
from coopc.layout.coopmatrix import CoopmatrixLayout, Use
from coopc.layout.distribution import RowSlices
from coopc.layout.exchange import ABSENT, Layout, components, plan_exchange
from coopc.layout.linear import LinearLayout
from coopc.passes.generic.expand_exchanges import ExpandExchangesPass
from coopc.run import execute, opencl, toolchain, vulkan
from coopc.sim.simulate import simulate

TYPES: dict[str, Any] = {
    "i8": np.int8,
    "f16": np.float16,
    "bf16": np.uint16,  # its bits
    "i32": np.int32,
    "f32": np.float32,
    "i64": np.int64,
    "f64": np.float64,
}
USES: tuple[Use, ...] = ("a", "acc", "b")
BITS = {"i8": 8, "f16": 16, "bf16": 16, "i32": 32, "f32": 32, "i64": 64, "f64": 64}


def kernel(
    source: Layout, target: Layout, type: str, longest: int, subgroups: int = 1
) -> ModuleOp:
    """Vectors of each lane from %a, those by the other layout into %o."""
    sizes: list[list[int]] = []
    for x in (source, target):
        length = min(longest, 1 << (components(x) - 1).bit_length())
        sizes.append([length] * -(-components(x) // length))
    names = [
        [f"%{name}{number}" for number in range(len(each))]
        for name, each in zip("vw", sizes, strict=True)
    ]
    types = [", ".join(f"vector<{n}x{type}>" for n in each) for each in sizes]
    lanes = plan_exchange(source, target).subgroup_size
    memory = [f"memref<{lanes * subgroups}x{sum(each)}x{type}>" for each in sizes]
    positions = sorted({n for each in sizes for n in range(0, sum(each), each[0])})
    lines = [f"%c{n} = arith.constant {n} : index" for n in positions]
    for number, (name, size) in enumerate(zip(names[0], sizes[0], strict=True)):
        at = f"%a[%id, %c{number * size}] : {memory[0]}, vector<{size}x{type}>"
        lines.append(f"{name} = vector.load {at}")
    lines.append(
        f"{', '.join(names[1])} = simt.exchange {', '.join(names[0])} "
        f"from {attribute_of(source)} to {attribute_of(target)} "
        f": {types[0]} -> {types[1]}"
    )
    for number, (name, size) in enumerate(zip(names[1], sizes[1], strict=True)):
        at = f"%o[%id, %c{number * size}] : {memory[1]}, vector<{size}x{type}>"
        lines.append(f"vector.store {name}, {at}")
    body = "\n  ".join(lines)
    return module_of(
        f"""func.func @f(%a: {memory[0]}, %o: {memory[1]}) attributes {{simt.kernel,
    simt.subgroup_size = {lanes} : i32, simt.grid = affine_map<() -> (1)>,
    simt.work_group_size = array<i32: {lanes * subgroups}>}} {{
  %id = simt.local_id x : index
  {body}
  func.return
}}"""
    )


def numbers(x: Layout) -> Any:
    """The number of the element in each place, lanes x components, -1 for padding."""
    if isinstance(x, LinearLayout):
        (only,) = x.table().values()
        return only.T.reshape(-1, components(x))
    row, col = x.table()
    return np.where(row < x.rows, row * x.cols + col, ABSENT).T


def expand(module: ModuleOp) -> ModuleOp:
    new = module.clone()
    ExpandExchangesPass().apply(Context(), new)
    new.verify()
    assert not any(isinstance(op, simt.ExchangeOp) for op in new.walk())
    return new


def check(
    module: ModuleOp,
    source: Layout,
    target: Layout,
    type: str,
    run: Callable[[ModuleOp, list[Any]], object],
) -> None:
    """Run a kernel, each element a number of its own as far as the type has them."""
    widths: list[int] = []
    for argument in next(iter(module.ops)).regions[0].block.args:
        assert is_memref(argument.type)
        widths.append(argument.type.get_shape()[1])
    held, wanted = numbers(source), numbers(target)
    a = np.full((held.shape[0], widths[0]), -77).astype(TYPES[type])
    a[:, : held.shape[1]] = (held % 119).astype(TYPES[type])
    o = np.zeros((held.shape[0], widths[1]), TYPES[type])
    run(module, [a, o])
    inside = wanted != ABSENT
    found = o[:, : wanted.shape[1]][inside]
    assert np.array_equal(found, (wanted % 119).astype(TYPES[type])[inside])


def on_simulator(module: ModuleOp, arrays: list[Any]) -> None:
    simulate(module, "f", arrays, grid=(1,))


SIZES = [(1, 1), (4, 15), (5, 7), (8, 16), (32, 2), (33, 3), (6, 24)]


@pytest.mark.parametrize("lanes", [1, 8, 16, 32])
@pytest.mark.parametrize("type", TYPES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_between_uses(data: st.DataObject, type: str, lanes: int) -> None:
    """Matrices of ragged sizes, as `coopmatrix.convert` has them."""
    rows, cols = data.draw(st.sampled_from(SIZES))
    source, target = (
        CoopmatrixLayout.of(
            rows, cols, data.draw(st.sampled_from([8, 16, 32])), use, lanes
        )
        for use in data.draw(st.permutations(USES))[:2]
    )
    longest = data.draw(st.sampled_from([4, 16]))
    module = kernel(source, target, type, longest)
    check(module, source, target, type, on_simulator)
    check(expand(module), source, target, type, on_simulator)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_between_linear_layouts(data: st.DataObject) -> None:
    """As `ttg.convert_layout` has them, over one subgroup and over two."""
    lanes, warps = data.draw(st.sampled_from([(3, 0), (4, 0), (4, 1)]))
    registers = data.draw(st.integers(0, 3))
    bits = lanes + warps + registers
    places: list[LinearLayout] = []
    last = data.draw(st.permutations(range(bits)))[:warps]
    for _ in range(2):
        basis = [
            1 << x for x in data.draw(st.permutations(range(bits))) if x not in last
        ]
        for _ in range(data.draw(st.integers(0, 4))):
            if len(basis) > 1:
                one, other = data.draw(st.permutations(range(len(basis))))[:2]
                basis[one] ^= basis[other]
        warp = tuple(1 << x for x in last)
        ins = (("register", tuple(basis[lanes:])), ("lane", tuple(basis[:lanes])))
        places.append(LinearLayout((*ins, ("warp", warp)), (("x", bits),)))
    source, target = places
    type = data.draw(st.sampled_from(["i8", "f16", "f32"]))
    module = kernel(source, target, type, 16, 1 << warps)
    check(module, source, target, type, on_simulator)
    check(expand(module), source, target, type, on_simulator)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 7), st.integers(1, 9), st.sampled_from([2, 4, 8]))
def test_rounds(rows: int, cols: int, lanes: int) -> None:
    """Row slices of sizes that are no powers of two: lanes are looked up."""
    both = RowSlices(rows, cols, lanes), CoopmatrixLayout(rows, cols, lanes)
    for source, target in (both, both[::-1]):
        if plan_exchange(source, target).through_memory:
            continue
        module = kernel(source, target, "f32", 16)
        check(module, source, target, "f32", on_simulator)
        check(expand(module), source, target, "f32", on_simulator)


def test_a_wrong_condition_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: lanes choose the other way round."""
    from coopc.passes.generic.expand_exchanges import ExchangeLowering

    right = ExchangeLowering._condition  # pyright: ignore[reportPrivateUsage]

    def wrong(self: ExchangeLowering, where: tuple[bool, ...]) -> Any:
        return right(self, where[::-1])

    source, target = RowSlices(4, 4, 4), CoopmatrixLayout(4, 4, 4)
    module = kernel(source, target, "f32", 16)
    monkeypatch.setattr(ExchangeLowering, "_condition", wrong)
    with pytest.raises(AssertionError):
        check(expand(module), source, target, "f32", on_simulator)


def packed_cases() -> list[tuple[str, int]]:
    return list(product(("i8", "f16", "bf16"), (8, 16, 32)))


@pytest.mark.parametrize(("type", "lanes"), packed_cases())
def test_words_are_as_planned(type: str, lanes: int) -> None:
    """`simt.shuffle` reads as many words as the plan says."""
    bits = BITS[type]
    for cols in (64, 40):
        source = CoopmatrixLayout.of(4, cols, bits, "a", lanes)
        target = CoopmatrixLayout.of(4, cols, bits, "acc", lanes)
        plan = plan_exchange(source, target, element_bits=bits)
        words = 0
        for op in expand(kernel(source, target, type, 16)).walk():
            if isinstance(op, simt.ShuffleOp | simt.BroadcastOp):
                words += op.value.type.element_count()  # pyright: ignore
        assert words == plan.words > 0


DEVICE_SIZES = [(8, 16), (4, 64), (5, 7), (33, 6)]


def converts(type: str) -> str:
    """Matrices of several sizes that change their use there and back, an array each."""
    arguments, lines = list[str](), list[str]()
    for rows, cols in DEVICE_SIZES:
        memory = f"memref<{rows}x{cols}x{type}>"
        arguments.append(f"%m{rows}: {memory}")
        matrices = [f"!coopmatrix.matrix<{rows}x{cols}x{type}, {u}>" for u in USES]
        at = f"%m{rows}[%c0, %c0] row_major"
        lines.append(f"%x{rows} = coopmatrix.load {at} : {memory} -> {matrices[0]}")
        lines.append(
            f"%y{rows} = coopmatrix.convert %x{rows} : {matrices[0]} -> {matrices[1]}"
        )
        # Twice as much, so that something is done; and another use.
        lines.append(f"%d{rows} = coopmatrix.add %y{rows}, %y{rows} : {matrices[1]}")
        lines.append(
            f"%z{rows} = coopmatrix.convert %d{rows} : {matrices[1]} -> {matrices[2]}"
        )
        lines.append(f"coopmatrix.store %z{rows}, {at} : {matrices[2]}, {memory}")
    return f"""func.func @k({", ".join(arguments)})
    attributes {{simt.kernel, simt.grid = affine_map<() -> (1)>}} {{
  %c0 = arith.constant 0 : index
  {chr(10).join(lines)}
  func.return
}}"""


def check_on_device(
    type: str, device: str, lanes: int, run: Callable[[bytes, Call], list[Any]]
) -> None:
    pipeline = f"coopc-lanes{{device={device} subgroup-size={lanes}}}"
    artifact = coopc.compile(converts(type), pipeline)
    env = "vulkan1.3" if device == "lavapipe" else "spv1.4"
    assert toolchain.validate_spirv(artifact.bytes, env) is None
    arrays: list[Any] = []
    for rows, cols in DEVICE_SIZES:
        numbers = np.arange(rows * cols).reshape(rows, cols) % 61
        if type == "bf16":  # small integers, whose bits end in zeros
            bits = numbers.astype(np.float32).view(np.uint32) >> 16
            arrays.append(bits.astype(np.uint16))
        else:
            arrays.append(numbers.astype(TYPES[type]))
    call = pack(artifact.interface[0], [x.copy() for x in arrays], (1, 1, 1))
    for held, found in zip(arrays, run(artifact.bytes, call), strict=True):
        # Of a bf16 twice as much is one more in the exponent, but of 0.
        twice = held + (held != 0) * 128 if type == "bf16" else held + held
        assert np.array_equal(found, twice.astype(held.dtype))


@pytest.mark.parametrize("type", ["i8", "f16", "bf16", "i32", "f32"])
def test_on_vulkan(type: str, lavapipe: vulkan.Session) -> None:
    def run(binary: bytes, call: Call) -> list[Any]:
        return list(execute.on_vulkan(binary, call, session=lavapipe).arrays)

    check_on_device(type, "lavapipe", 8, run)


ON_OPENCL = [*((x, 16) for x in TYPES), ("i8", 8), ("i8", 32), ("f16", 32)]


@pytest.mark.parametrize(("type", "lanes"), ON_OPENCL)
def test_on_opencl(type: str, lanes: int, intel_cpu: opencl.Session) -> None:
    def run(binary: bytes, call: Call) -> list[Any]:
        found = execute.on_opencl(binary, call, intel_cpu, seconds=300.0)
        return list(found.arrays)

    check_on_device(type, "intel-cpu", lanes, run)
