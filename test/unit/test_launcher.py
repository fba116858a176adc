"""`coopc.launch` and `Artifact.run`: arrays in and out, on every place."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.tensors import Tensor
from xdsl.dialects.builtin import ModuleOp

import coopc
from coopc.compiler import new_context
from coopc.interface import Buffer, Condition, Interface, Scalar, fields_of
from coopc.interface_call import Call, pack
from coopc.launcher import computes_f16
from coopc.parsing import parse
from coopc.remarks import remarks_to
from coopc.run.arrays import Outcome, start_of, to_argument, write_back
from coopc.run.executable import Executable
from coopc.source import Source
from coopc.triton.tensor import array
from coopc.universe import everything

Array = np.ndarray[Any, Any]
SCALE = """
func.func @scale(%a: memref<?xf32, strided<[?], offset: 0>>, %by: f32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %group = simt.workgroup_id x : index
  %lane = simt.lane_id : index
  %lanes = arith.constant 8 : index
  %first = arith.muli %group, %lanes : index
  %at = arith.addi %first, %lane : index
  %x = memref.load %a[%at] : memref<?xf32, strided<[?], offset: 0>>
  %y = arith.mulf %x, %by : f32
  memref.store %y, %a[%at] : memref<?xf32, strided<[?], offset: 0>>
  func.return
}
"""
MATMUL = """
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf16>, memref<?x?xf16>)
                outs(%c : memref<?x?xf32>)
  func.return
}
"""


def numbers(*shape: int) -> Array:
    """Small integers, whose products and sums are exact."""
    return np.random.default_rng(0).integers(-2, 3, shape).astype(np.float16)


@pytest.mark.parametrize("on", ["sim", "cpu", "vulkan"])
def test_linalg(on: str, request: pytest.FixtureRequest) -> None:
    """Sizes that no tile divides; operands that are not in row-major order."""
    if on == "cpu":
        pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    if on == "vulkan":
        request.getfixturevalue("lavapipe")
    a, b, c = numbers(21, 17), numbers(19, 17).T, np.ones((21, 19), np.float32)
    outcome = coopc.launch(MATMUL, a, b, c, on=on)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32) + 1)
    assert outcome.arrays[2] is c


@pytest.mark.parametrize("device", ["lavapipe", "nvidia", "bmg"])
def test_linalg_is_simulated_as_it_is(device: str) -> None:
    """Whatever lanes the device has."""
    a, b, c = numbers(21, 17), numbers(17, 19), np.ones((21, 19), np.float32)
    coopc.launch(MATMUL, a, b, c, on="sim", device=device)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32) + 1)


@pytest.mark.parametrize("form", ["text", "path", "module"])
def test_strided_arrays_are_changed_in_place(form: str, tmp_path: Path) -> None:
    given: str | Path | ModuleOp = SCALE
    if form == "path":
        given = tmp_path / "k.mlir"
        given.write_text(SCALE)
    elif form == "module":
        given = parse(new_context(everything()), Source(SCALE))
    memory = np.arange(64, dtype=np.float32)
    coopc.launch(given, memory[1::4], 3.0, grid=(2, 1))
    wanted = np.arange(64, dtype=np.float32)
    wanted[1::4] *= 3
    assert np.array_equal(memory, wanted)


class Dlpack:
    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("rows", ["9", "?"])
def test_rows_with_gaps_on_tiles(rows: str) -> None:
    """The kernel has one more argument, packed B, of which no caller knows."""
    c = f"memref<{rows}x64xf32, strided<[?, 2]>>"
    text = f"""
func.func @f(%a: memref<{rows}x64xf16>, %b: memref<64x64xf16>, %c: {c}) {{
  linalg.matmul ins(%a, %b : memref<{rows}x64xf16>, memref<64x64xf16>) outs(%c : {c})
  return
}}"""
    a, b = np.ones((9, 64), np.float16), np.ones((64, 64), np.float16)
    found = np.zeros((9, 128), np.float32)
    coopc.launch(text, a, b, found[:, ::2], on="cpu", tiles="emulated")
    assert (found == np.tile(np.array([64, 0], np.float32), (9, 64))).all()


@pytest.mark.parametrize("wrap", [Tensor, Dlpack])
def test_memory_is_shared(wrap: Callable[[Array], object]) -> None:
    memory = np.arange(32, dtype=np.float32)
    view = memory[::2]
    coopc.launch(SCALE, wrap(view), 2.0, grid=2)
    assert np.array_equal(view, 2 * np.arange(0, 32, 2))
    assert np.array_equal(memory[1::2], np.arange(1, 32, 2))


@pytest.mark.parametrize("on", ["sim", "cpu"])
def test_bytes_that_are_truth_values(on: str) -> None:
    """As Triton has them."""
    text = """
func.func @f(%a: memref<2xi8>, %c: memref<2xi8>)
    attributes {simt.kernel, simt.grid = affine_map<() -> (1)>} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %x = memref.load %a[%0] : memref<2xi8>
  memref.store %x, %c[%1] : memref<2xi8>
  func.return
}"""
    found = np.array([False, False])
    coopc.launch(text, np.array([True, False]), found, on=on)
    assert found.tolist() == [False, True]


def test_read_only_arrays() -> None:
    """Of arrays of Triton, which have an address, too."""
    memory = np.zeros(2, np.float32)
    memory.flags.writeable = False
    found = to_argument(array(memory))
    assert isinstance(found, np.ndarray)
    assert not found.flags.writeable
    given = memory.reshape(1, 2)
    call = pack(replace(ROWS, conditions=()), [given], (1, 1, 1))
    assert call.buffers[0].flags.writeable
    assert start_of(call.buffers[0]) != start_of(given)


def test_tensors_elsewhere_are_refused() -> None:
    with pytest.raises(ValueError, match="memory, got cuda:0"):
        to_argument(Tensor(np.zeros(2), "float64", "cuda:0"))
    with pytest.raises(ValueError, match=r"expected a tensor of .*, got qint8"):
        to_argument(Tensor(np.zeros(2), "qint8"))
    found = to_argument(Tensor(np.zeros(2, np.uint16), "bfloat16"))
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.uint16


@pytest.mark.parametrize("shape", [(3, 4), (0, 4)])
def test_tensors_with_negative_strides(shape: tuple[int, int]) -> None:
    """Their memory begins before the first element."""
    memory = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
    view = memory[::-1, ::-2]
    found = to_argument(Tensor(view))
    assert isinstance(found, np.ndarray)
    assert np.array_equal(found, view)
    if found.size:
        assert start_of(found) == start_of(view)
        found[0, 0] = 7
        assert memory[-1, -1] == 7


def test_what_a_kernel_left_alone_is_not_written() -> None:
    """So that an array may be two arguments."""
    before = np.arange(4, dtype=np.float32)
    seen = before.copy()
    before[1] = 9
    with pytest.raises(ValueError, match="expected x to be an array that can be wr"):
        write_back("x", np.broadcast_to(before[:1], (4,)), seen)
    after = seen.copy()
    after[2] = np.nan
    write_back("x", seen, after)
    assert np.array_equal(seen, [0, 1, np.nan, 3], equal_nan=True)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "expected 2 arguments of scale (a, by), got 0"),
        ((np.zeros(8), 2.0), {}, "expected a to hold f32 (float32), got float64"),
        (
            ((1.0,), 2.0),
            {},
            "expected a number, or an array of numpy, DLPack or PyTorch, or a list of "
            "arrays, got tuple",
        ),
        (
            ([np.zeros(8, "f4"), 1.0], 2.0),
            {},
            "expected a number, or an array of numpy, DLPack or PyTorch, or a list of "
            "arrays, got a list with float",
        ),
        (([1.0], 2.0), {}, "PyTorch, or a list of arrays, got a list with float"),
        ((list[float](), 2.0), {}, "PyTorch, or a list of arrays, got an empty list"),
        ((np.zeros(8, "f4"), "x"), {}, "got str"),
        ((np.zeros(8, "f4"), 2.0), {"grid": (1, 2, 3, 4)}, "one to three integers"),
        ((np.zeros(8, "f4"), 2.0), {"grid": (1.5,)}, "one to three integers"),
        ((np.zeros(8, "f4"), 2.0), {"grid": ("a",)}, "one to three integers"),
        ((np.zeros(8, "f4"), 2.0), {"grid": (-1,)}, "0 to 2147483647, got (-1,)"),
        ((np.zeros(8, "f4"), 2.0), {"grid": 1 << 31}, "2147483647, got 2147483648"),
        ((np.zeros(8, "f4"), 2.0), {"seconds": -1}, "seconds greater than 0, got -1"),
        ((np.zeros(8, "f4"), 2.0), {"seconds": "x"}, "seconds to be a number, got 'x'"),
        ((np.float32(1), 2.0), {}, "expected a to have shape ?, got a number"),
        ((1.0, 2.0), {}, "expected a to have shape ?, got a number"),
        ((), {"kernel": 3}, "expected kernel to be text, got 3"),
        ((), {"pipeline": 1}, "expected pipeline to be text, got 1"),
        ((), {"device": 1}, "expected device to be text, got 1"),
        ((), {"on": ["cpu"]}, "expected on to be text, got ['cpu']"),
        ((), {"threads": "2"}, "threads to be a number, 1 to 1024, got '2'"),
        ((), {"threads": 0, "on": "vulkan"}, "a number, 1 to 1024, got 0"),
        ((), {"threads": True, "on": "cpu"}, "a number, 1 to 1024, got True"),
        ((), {"spec": {"X": "a"}}, "spec to be numbers by name, got {'X': 'a'}"),
        ((), {"tiles": "x", "on": "cpu"}, "tiles=auto|amx|emulated|none, got 'x'"),
        ((), {"tiles": "x"}, "tiles=auto|amx|emulated|none, got 'x'"),
        ((), {"tiles": "none"}, "--on cpu, which --tiles is for, got --on sim"),
        ((), {"threads": 2}, "--on cpu, which --threads is for, got --on sim"),
        ((), {"spec": {"X": 1}, "on": "cpu"}, "which --spec is for, got --on cpu"),
        ((np.zeros(8, "f4"), 2.0), {"on": "gpu"}, "expected on=sim|vulkan|opencl|cpu"),
        (
            (np.zeros(8, "f4"), 2.0),
            {"on": "cpu", "device": "bmg"},
            "expected no device with on='cpu', which compiles for this CPU, got ",
        ),
        (
            (np.zeros(8, "f4"), 2.0),
            {"on": "opencl", "device": "lavapipe"},
            "expected passes and a device for opencl, got some for vulkan: the device ",
        ),
        (
            (np.zeros(8, "f4"), 2.0),
            {"kernel": "scal"},
            "expected a kernel, one of scale, got scal, did you mean 'scale'?",
        ),
        ((np.zeros(8, "f4"), 2.0), {"device": "bgm"}, "did you mean 'bmg'?"),
        ((np.zeros(8, "f4"), 2.0), {"grid": 2}, "8 elements to be inside, got 8"),
    ],
)
def test_one_diagnostic(
    arguments: tuple[object, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(coopc.CompileError) as error:
        coopc.launch(SCALE, *arguments, **options)
    assert message in str(error.value)


@pytest.mark.parametrize("on", ["sim", "cpu"])
def test_a_number_in_an_array_of_rank_0(on: str) -> None:
    text = """
func.func @store(%a: memref<4xi32>, %n: i32)
    attributes {simt.kernel, simt.grid = affine_map<() -> (1)>} {
  %c = arith.constant 1 : index
  memref.store %n, %a[%c] : memref<4xi32>
  return
}
func.func private @missing() -> i32
func.func private @unused() -> i32 {
  %n = func.call @missing() : () -> i32
  return %n : i32
}"""
    a = np.zeros(4, np.int32)
    coopc.launch(text, a, np.array(7, np.int32), on=on)
    assert a.tolist() == [0, 7, 0, 0]


def test_an_access_outside_an_array() -> None:
    """What says more is an option of coopc-run, not of a launch."""
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    message = "beyond the end of .*; coopc-run --bounds says which operation"
    with pytest.raises(coopc.CompileError, match=message):
        coopc.launch(SCALE, np.zeros(8, "f4"), 2.0, grid=2, on="cpu")


@pytest.mark.parametrize("module", [None, b"func.func"])
def test_no_program(module: Any) -> None:
    with pytest.raises(coopc.CompileError, match="expected a module: text, the path"):
        coopc.launch(module)


def test_no_file() -> None:
    with pytest.raises(coopc.CompileError, match="cannot read the file"):
        coopc.launch("missing.mlir")


@pytest.mark.usefixtures("lavapipe")
def test_artifact_runs() -> None:
    artifact = coopc.compile(MATMUL, "coopc-khr{device=lavapipe}")
    a, b, c = numbers(16, 16), numbers(16, 16), np.zeros((16, 16), np.float32)
    for _ in range(2):
        artifact.run(a, b, c)
    assert np.array_equal(c, 2 * (a.astype(np.float32) @ b.astype(np.float32)))
    with pytest.raises(coopc.CompileError, match="expected what spirv-binary gave"):
        coopc.compile(MATMUL, "coopc-cpu", "llvm-ir").run(a, b, c)
    with pytest.raises(coopc.CompileError, match=r"Artifact\.run: .* 3 arguments"):
        coopc.compile(MATMUL, "coopc-khr{device=lavapipe}").run(a)


def executable(*kernels: Interface) -> tuple[Executable, list[Call]]:
    """What notes its calls, and leaves arrays as they are."""
    calls: list[Call] = []

    def execute(call: Call, **how: Any) -> Outcome:
        calls.append(call)
        return Outcome(call.unpack(call.buffers), (0.0,), "nowhere")

    return Executable(kernels, execute), calls


ROWS = Interface(
    *("rows", "opencl", (Buffer("a", "f32", (None, None)),)),
    *(fields_of((Buffer("a", "f32", (None, None)),), "opencl"), (16, 1, 1), 16, None),
    conditions=(Condition("size", 0, 1, multiple_of=4, why="pitch"),),
)


def test_fallback() -> None:
    """It runs where a condition is violated, with a remark; without it that fails."""
    found, calls = executable(ROWS, replace(ROWS, name="rows.fallback", conditions=()))
    said: list[str] = []
    with remarks_to(said.append):
        found.run(np.zeros((3, 8), np.float32))
        found.run(np.zeros((3, 7), np.float32))
    assert [x.interface.name for x in calls] == ["rows", "rows.fallback"]
    assert said == [
        "remark: rows: size 1 of a: expected a multiple of 4 (pitch), got 7: runs "
        "rows.fallback"
    ]
    with pytest.raises(coopc.CompileError, match="expected a to have shape"):
        found.run(3)
    found, _ = executable(ROWS)
    with pytest.raises(coopc.CompileError, match="expected a multiple of 4"):
        found.run(np.zeros((3, 7), np.float32))


def test_sizes_of_descriptors() -> None:
    """They are those of arrays, and may be given, too."""
    pointer, number = Buffer("d", "f32", ()), Scalar("n", "i32")
    names = ("d.shape.0", "d.shape.1", "d.stride.0", "d.stride.1")
    known = (pointer, *(Scalar(x, "i64") for x in names), number)
    interface = replace(ROWS, arguments=known, fields=fields_of(known, "opencl"))
    found, calls = executable(replace(interface, conditions=()))
    array = np.arange(12, dtype=np.float32).reshape(3, 4)[:, :3]
    for fields in ((), (3, 3, 4, 1)):
        found.run(array, *fields, 5)
    for call in calls:
        assert list(call.given[1:]) == [3, 3, 4, 1, 5]
        assert np.array_equal(call.buffers[0], np.arange(11)), "with what is between"
    with pytest.raises(coopc.CompileError, match="expected 6 arguments"):
        found.run(array)


def test_passes_before_a_pipeline() -> None:
    """A function of linalg is one of the text, whatever passes make of it."""
    text = """
    func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
      linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>)
        outs(%c : memref<?x?xf32>)
      return
    }"""
    a, b = np.eye(16, dtype="f4"), np.arange(256, dtype="f4").reshape(16, 16)
    c = np.zeros_like(a)
    pipeline = "tile-matmul-cpu,coopc-cpu"
    coopc.launch(text, a, b, c, on="cpu", pipeline=pipeline, tiles="none")
    np.testing.assert_array_equal(c, b)


MATRIX, SUM = "!coopmatrix.matrix<16x16xf16, a>", "!coopmatrix.matrix<16x16xf32, acc>"
RESULT = MATRIX.replace("a>", "acc>")
PRODUCT = f"""%n = arith.constant 1.0 : f16
  %x = coopmatrix.fill %n : f16 -> {MATRIX}
  %y = coopmatrix.fill %n : f16 -> {MATRIX.replace("a>", "b>")}
  %b = coopmatrix.mul_add %x, %y, %a : {MATRIX}, {MATRIX.replace("a>", "b>")}, {{0}}"""


@pytest.mark.parametrize(
    ("type", "line", "computes"),
    [
        ("f16", "%b = arith.addf %a, %a : f16", True),
        ("f16", "%b = arith.extf %a : f16 to f32", True),
        ("f16", "%b = arith.select %c, %a, %a : f16", False),
        ("bf16", "%b = arith.addf %a, %a : bf16", False),
        ("f8E5M2", "%b = arith.select %c, %a, %a : f8E5M2", True),
        ("tensor<8xf16>", "%b = arith.addf %a, %a : tensor<8xf16>", True),
        ("tensor<8xf16>", "%b = tt.fp_to_fp %a : tensor<8xf16> -> tensor<8xf32>", True),
        (MATRIX, f"%b = coopmatrix.add %a, %a : {MATRIX}", True),
        (MATRIX, f"%b = coopmatrix.convert %a : {MATRIX} -> {SUM}", True),
        (SUM, PRODUCT.format(SUM), False),
        (RESULT, PRODUCT.format(RESULT), True),
    ],
)
def test_computes_f16(type: str, line: str, computes: bool) -> None:
    text = f"func.func @f(%a: {type}, %c: i1) {{\n  {line}\n  func.return\n}}"
    module = parse(new_context(everything()), Source(text, "f16.mlir"))
    assert computes_f16(module) == computes
