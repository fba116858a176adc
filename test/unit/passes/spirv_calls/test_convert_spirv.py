"""convert-spirv-to-coopmatrix: what upstream prints, simulated and on a driver."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.programs import module_of
from xdsl.dialects import func

import coopc
from coopc.device import device
from coopc.diagnostic import CompileError
from coopc.dialects.narrow import is_memref, is_vector
from coopc.generate.random_programs import RandomProgram, random_program
from coopc.interface_call import Call, dtype_of, pack
from coopc.run import toolchain, vulkan
from coopc.run.arguments import encode
from coopc.run.execute import on_vulkan
from coopc.sim.simulate import simulate

ROOT = Path(__file__).parents[4]
PASS = "convert-spirv-to-coopmatrix{subgroup-size=8}"
KHR = "coopc-khr{device=lavapipe}"
PROGRAMS, ON_DRIVER = 12, 3
REASONS = (
    "got SPV_NV_cooperative_matrix2 ",  # the dialect lacks it
    "expected one buffer of each binding",  # f16 is updated as words of 32 bits
)
"""Why a program does not come back."""
SECONDS = 120.0


def upstream(text: str | bytes, tool: str, *flags: str) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    printed, message = toolchain.run_filter(tool, *flags, data=data)
    assert message is None, f"{message}\n{text!r}"
    return printed


def returned(text: str) -> str:
    """What upstream makes of a text: a binary, and that the dialect again."""
    flag = "--no-implicit-module"
    binary = upstream(text, "mlir-translate", flag, "--serialize-spirv")
    return upstream(binary, "mlir-translate", flag, "--deserialize-spirv").decode()


def arguments(call: Call) -> list[Any]:
    """What a kernel that was read takes: buffers, and the members of push constants."""
    numbers = [
        np.frombuffer(call.push_constants, dtype_of(each.type), 1, each.byte_offset)[0]
        for each in call.interface.fields
    ]
    return [*(x.copy() for x in call.buffers), *map(int, numbers)]


def simulated(raised: str, call: Call, lanes: int | None) -> tuple[Any, ...]:
    """The arrays after a run of a kernel that was read."""
    module, given = module_of(raised), arguments(call)
    name = call.interface.name
    (kernel,) = (x for x in module.walk() if isinstance(x, func.FuncOp))
    shaped: list[Any] = []
    for value, type in zip(given, kernel.function_type.inputs, strict=True):
        if is_memref(type) and is_vector(type.element_type):
            value = value.reshape(-1, *type.element_type.get_shape())
        shaped.append(value)
    simulate(module, name, shaped, grid=call.groups, subgroup_size=lanes)
    return call.unpack(given[: len(call.buffers)])


@pytest.mark.parametrize("types", [("f16", "f32"), ("i8", "i32")])
@pytest.mark.parametrize("flags", [(), ("--mlir-print-op-generic",)])
def test_gemm(
    types: tuple[str, str], flags: tuple[str, ...], tool: Callable[[str], Path]
) -> None:
    tool("mlir-opt")
    text = (ROOT / "examples/gemm.mlir").read_text()
    text = text.replace("xf16", f"x{types[0]}").replace("f32", types[1])
    text = text.replace("0.0 : i32", "0 : i32")
    artifact = coopc.compile(text, KHR)
    random = np.random.default_rng(1)
    a = encode(random.integers(0, 9, (32, 32)), types[0])
    b = encode(random.integers(0, 9, (32, 16)), types[0])
    call = pack(artifact.interface[0], [a, b, encode(np.zeros((32, 16)), types[1])])
    printed = upstream(coopc.compile(text, KHR, "mlir-spirv").text, "mlir-opt", *flags)
    raised = coopc.compile(printed.decode(), PASS, "mlir").text
    found = simulated(raised, call, 8)
    np.testing.assert_array_equal(found[2], a.astype(np.int64) @ b.astype(np.int64))


@pytest.mark.parametrize(("on", "pipeline"), [("sim", ""), ("cpu", ",coopc-cpu")])
def test_launches(on: str, pipeline: str) -> None:
    """What is read has kernels only after the pass, for every engine."""
    text = (ROOT / "test/inputs/linalg/where.mlir").read_text()
    printed = coopc.compile(text, KHR, "mlir-spirv").text
    x, y = np.random.default_rng(1).permutation(48).reshape(2, 24).astype(np.float32)
    given = x, y, np.zeros(24, np.float32)
    coopc.launch(printed, *given, on=on, pipeline=f"{PASS}{pipeline}", grid=1)
    np.testing.assert_array_equal(given[2], np.maximum(x, y))


def ignore(_: str) -> None:
    pass


def there(seed: int) -> tuple[RandomProgram, Call] | None:
    """A program and its call; None if lavapipe does not take it."""
    program = random_program(seed, device("lavapipe"))
    try:
        artifact = coopc.compile(program.text, KHR, on_remark=ignore)
        return program, pack(artifact.interface[0], program.copies(), (1, 1, 1))
    except (CompileError, ValueError):
        return None  # other tests are about these


def back(program: RandomProgram) -> str | None:
    """A program after its way through upstream; None for one of the reasons."""
    try:
        printed = coopc.compile(program.text, KHR, "mlir-spirv", on_remark=ignore).text
        return coopc.compile(returned(printed), PASS, "mlir").text
    except CompileError as error:
        if not any(reason in str(error) for reason in REASONS):
            raise
        return None


def test_random_programs_come_back(tool: Callable[[str], Path]) -> None:
    """Nine of ten come back; of a few, four of five."""
    tool("mlir-translate")
    found = [each for seed in range(PROGRAMS) if (each := there(seed)) is not None]
    came = 0
    for program, call in found:
        if (raised := back(program)) is not None:
            wrong = program.difference(simulated(raised, call, 8), 8)
            assert wrong is None, f"{wrong}\n{program.text}"
            came += 1
    assert came >= 0.8 * len(found), f"{came} of {len(found)}"


def test_random_programs_run(
    lavapipe: vulkan.Session, tool: Callable[[str], Path]
) -> None:
    tool("mlir-translate")
    ran = 0
    for seed in range(PROGRAMS):
        found = there(seed)
        raised = None if found is None else back(found[0])
        if found is None or raised is None:
            continue
        program, call = found
        artifact = coopc.compile(raised, KHR, on_remark=ignore)
        again = pack(artifact.interface[0], arguments(call), (1, 1, 1))
        arrays = on_vulkan(artifact.bytes, again, lavapipe, seconds=SECONDS).arrays
        back_in_shape = call.unpack(list(arrays[: len(call.buffers)]))
        wrong = program.difference(back_in_shape, 8)
        assert wrong is None, f"{wrong}\n{program.text}"
        ran += 1
        if ran == ON_DRIVER:
            break
    assert ran == ON_DRIVER


def test_lanes_of_products() -> None:
    """What `-t mlir-spirv` prints of a product by lanes, which shuffles components."""
    text = """func.func @f(%a: tensor<8x12xf32>, %b: tensor<12x20xf32>)
        -> tensor<8x20xf32> {
      %e = tensor.empty() : tensor<8x20xf32>
      %zero = arith.constant 0.0 : f32
      %c = linalg.fill ins(%zero : f32) outs(%e : tensor<8x20xf32>) -> tensor<8x20xf32>
      %d = linalg.matmul ins(%a, %b : tensor<8x12xf32>, tensor<12x20xf32>)
        outs(%c : tensor<8x20xf32>) -> tensor<8x20xf32>
      func.return %d : tensor<8x20xf32>
    }"""
    printed = coopc.compile(text, KHR, "mlir-spirv", on_remark=ignore)
    assert "spirv.VectorShuffle" in printed.text
    raised = coopc.compile(printed.text, PASS, "mlir").text
    random = np.random.default_rng(1)
    a, b = (random.integers(-9, 10, x).astype(np.float32) for x in ((8, 12), (12, 20)))
    call = pack(printed.interface[0], [a, b, np.zeros((8, 20), np.float32)])
    np.testing.assert_array_equal(simulated(raised, call, 8)[2], a @ b)
    given = *arguments(call)[:2], np.zeros(160, np.float32)
    pipeline = f"{PASS},coopc-cpu"
    coopc.launch(printed.text, *given, on="cpu", pipeline=pipeline, grid=call.groups)
    np.testing.assert_array_equal(given[2].reshape(8, 20), a @ b)


def test_hidden_numbers() -> None:
    """Zeros that are hidden from lavapipe are zeros for all lanes."""
    text = (ROOT / "examples/gemm.mlir").read_text()
    printed = coopc.compile(text, KHR, "mlir-spirv").text
    raised = coopc.compile(printed, PASS, "mlir").text
    assert "arith.shrui" not in raised
    coopc.compile(printed, f"{PASS},coopc-cpu", "llvm-ir")


CALLS = """
!array = !spirv.ptr<!spirv.struct<(!spirv.rtarray<{t}, stride=4> [0])>, StorageBuffer>
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {{
  spirv.GlobalVariable @x bind(0, 0) : !array
  spirv.GlobalVariable @y bind(0, 1) : !array
  spirv.GlobalVariable @wg built_in("GlobalInvocationId")
    : !spirv.ptr<vector<3xi32>, Input>
  spirv.func @mod(%x: {t}, %y: {t}) -> {t} "None" {{
    %r = spirv.{mod} %x, %y : {t}
    spirv.ReturnValue %r : {t}
  }}
  spirv.func @put(%z: {t}, %i: i32) "None" {{
    %zero = spirv.Constant 0 : i32
    %x = spirv.mlir.addressof @x : !array
    %at = spirv.AccessChain %x[%zero, %i]
      : !array, i32, i32 -> !spirv.ptr<{t}, StorageBuffer>
    %one = spirv.Constant {one} : {t}
    %y = spirv.FunctionCall @mod(%one, %one) : ({t}, {t}) -> {t}
    %s = spirv.{add} %z, %y : {t}
    spirv.Store "StorageBuffer" %at, %s : {t}
    spirv.Return
  }}
  spirv.func @k() "None" {{
    %zero = spirv.Constant 0 : i32
    %wg = spirv.mlir.addressof @wg : !spirv.ptr<vector<3xi32>, Input>
    %ids = spirv.Load "Input" %wg : vector<3xi32>
    %i = spirv.CompositeExtract %ids[0 : i32] : vector<3xi32>
    %x = spirv.mlir.addressof @x : !array
    %y = spirv.mlir.addressof @y : !array
    %xi = spirv.AccessChain %x[%zero, %i]
      : !array, i32, i32 -> !spirv.ptr<{t}, StorageBuffer>
    %yi = spirv.AccessChain %y[%zero, %i]
      : !array, i32, i32 -> !spirv.ptr<{t}, StorageBuffer>
    %v = spirv.Load "StorageBuffer" %xi : {t}
    %w = spirv.Load "StorageBuffer" %yi : {t}
    %z = spirv.FunctionCall @mod(%v, %w) : ({t}, {t}) -> {t}
    spirv.FunctionCall @put(%z, %i) : ({t}, i32) -> ()
    spirv.Return
  }}
  spirv.EntryPoint "GLCompute" @k, @x, @y, @wg
  spirv.ExecutionMode @k "LocalSize", 16, 1, 1
}}
"""


@pytest.mark.parametrize(
    ("type", "mod", "add"), [("i32", "SMod", "IAdd"), ("f32", "FMod", "FAdd")]
)
def test_calls(type: str, mod: str, add: str) -> None:
    """Functions are inlined, also in each other; a modulo has the divisor's sign."""
    text = CALLS.format(t=type, mod=mod, add=add, one=1 if type == "i32" else 1.0)
    dtype = np.int32 if type == "i32" else np.float32
    x, y = (np.resize(z, 16) for z in np.meshgrid([-7, -6, 0, 5, 6], [-3, 2, 3]))
    if type == "f32":
        x, y = x / 4, y / 2
    x, y = x.astype(dtype), y.astype(dtype)
    expected = np.mod(x, y)
    pipeline = "convert-spirv-to-coopmatrix"
    coopc.launch(text, x, y, on="sim", pipeline=pipeline, grid=1)
    np.testing.assert_array_equal(x, expected)


SHUFFLED = """
!array = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  spirv.GlobalVariable @r bind(0, 0) : !array
  spirv.GlobalVariable @id built_in("GlobalInvocationId")
    : !spirv.ptr<vector<3xi32>, Input>
  spirv.func @k() "None" {
    %zero = spirv.Constant 0 : i32
    %id = spirv.mlir.addressof @id : !spirv.ptr<vector<3xi32>, Input>
    %ids = spirv.Load "Input" %id : vector<3xi32>
    %i = spirv.CompositeExtract %ids[0 : i32] : vector<3xi32>
    %a = spirv.Constant dense<[1.0, 2.0]> : vector<2xf32>
    %b = spirv.Constant dense<[3.0, 4.0, 5.0]> : vector<3xf32>
    %c = spirv.VectorShuffle [4 : i32, 1 : i32, 2 : i32, 0xFFFFFFFF : i32] %a, %b
      : vector<2xf32>, vector<3xf32> -> vector<4xf32>
    %five = spirv.CompositeExtract %c[0 : i32] : vector<4xf32>
    %two = spirv.CompositeExtract %c[1 : i32] : vector<4xf32>
    %three = spirv.CompositeExtract %c[2 : i32] : vector<4xf32>
    %product = spirv.FMul %five, %two : f32
    %x = spirv.FSub %product, %three : f32
    %r = spirv.mlir.addressof @r : !array
    %at = spirv.AccessChain %r[%zero, %i]
      : !array, i32, i32 -> !spirv.ptr<f32, StorageBuffer>
    spirv.Store "StorageBuffer" %at, %x : f32
    spirv.Return
  }
  spirv.EntryPoint "GLCompute" @k, @r, @id
  spirv.ExecutionMode @k "LocalSize", 16, 1, 1
}
"""


@pytest.mark.parametrize(("on", "pipeline"), [("sim", ""), ("cpu", ",coopc-cpu")])
def test_shuffles_of_components(on: str, pipeline: str) -> None:
    """Of vectors of different lengths; -1 is any component."""
    r = np.zeros(16, np.float32)
    pipeline = f"convert-spirv-to-coopmatrix{pipeline}"
    coopc.launch(SHUFFLED, r, on=on, pipeline=pipeline, grid=1)
    np.testing.assert_array_equal(r, np.full(16, 5 * 2 - 3))
