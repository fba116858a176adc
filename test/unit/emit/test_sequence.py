"""How a host runs a launch sequence: by its interface, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import coopc
from coopc.compiler import compile
from coopc.interface import Interface, View, evaluate
from coopc.interface_call import dtype_of, pack, sizes_of
from coopc.run.arrays import Array
from coopc.run.vulkan import Session

SCALE = """
func.func @scale(%x: memref<?x4xf32>, %y: memref<?x4xf32>)
    attributes {simt.kernel, simt.grid = affine_map<(d0, d1) -> (d0)>} {
  %i = simt.workgroup_id x : index
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%i, %c0] : memref<?x4xf32>
  %w = arith.addf %v, %v : f32
  memref.store %w, %y[%i, %c0] : memref<?x4xf32>
  return
}
simt.sequence @fourfold(%x: memref<?x4xf32>, %y: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  simt.result %y[%n] : memref<?x4xf32>
  %t = memref.alloc(%n) : memref<?x4xf32>
  simt.launch @scale(%x, %t) : (memref<?x4xf32>, memref<?x4xf32>)
  simt.launch @scale(%t, %y) : (memref<?x4xf32>, memref<?x4xf32>)
}
"""
X = np.arange(20, dtype=np.float32).reshape(5, 4)


GRAPH = """
#mn = affine_map<(m, n) -> (m, n)>
#m = affine_map<(m, n) -> (m)>
func.func @graph(%x: tensor<?x24xf16>, %w: tensor<24x20xf16>, %v: tensor<20x12xf16>)
    -> tensor<?x12xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFC00 : f16
  %rows = tensor.dim %x, %c0 : tensor<?x24xf16>
  %e0 = tensor.empty(%rows) : tensor<?x20xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x20xf32>) -> tensor<?x20xf32>
  %p = linalg.matmul ins(%x, %w : tensor<?x24xf16>, tensor<24x20xf16>)
    outs(%f0 : tensor<?x20xf32>) -> tensor<?x20xf32>
  %e1 = tensor.empty(%rows) : tensor<?x20xf16>
  %y = linalg.generic {indexing_maps = [#mn, #mn],
      iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<?x20xf32>) outs(%e1 : tensor<?x20xf16>) {
  ^bb0(%s: f32, %old: f16):
    %r = arith.maximumf %s, %zero : f32
    %t = arith.truncf %r : f32 to f16
    linalg.yield %t : f16
  } -> tensor<?x20xf16>
  %e2 = tensor.empty(%rows) : tensor<?xf16>
  %f2 = linalg.fill ins(%low : f16) outs(%e2 : tensor<?xf16>) -> tensor<?xf16>
  %most = linalg.reduce { arith.maximumf } ins(%y : tensor<?x20xf16>)
    outs(%f2 : tensor<?xf16>) dimensions = [1]
  %z = linalg.generic {indexing_maps = [#mn, #m, #mn],
      iterator_types = ["parallel", "parallel"]}
      ins(%y, %most : tensor<?x20xf16>, tensor<?xf16>) outs(%e1 : tensor<?x20xf16>) {
  ^bb0(%s: f16, %t: f16, %old: f16):
    %r = arith.subf %t, %s : f16
    linalg.yield %r : f16
  } -> tensor<?x20xf16>
  %e3 = tensor.empty(%rows) : tensor<?x12xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<?x12xf32>) -> tensor<?x12xf32>
  %q = linalg.matmul ins(%z, %v : tensor<?x20xf16>, tensor<20x12xf16>)
    outs(%f3 : tensor<?x12xf32>) -> tensor<?x12xf32>
  return %q : tensor<?x12xf32>
}
"""
"""Two products, and between them rows that subtract what they have from their most."""


def sequence(
    text: str = SCALE, pipeline: str = ""
) -> tuple[bytes, list[Interface], Interface]:
    """Return a module, the interfaces of its kernels, and that of its sequence."""
    target = "abi-json{flavour=vulkan device=lavapipe}"
    found = json.loads(compile(text, pipeline, target).text)
    kernels = [Interface.from_json(each) for each in found["kernels"]]
    (steps,) = (Interface.from_json(each) for each in found["sequences"])
    target = target.replace("abi-json", "spirv-binary")
    return compile(text, pipeline, target).bytes, kernels, steps


def test_json() -> None:
    _, _, found = sequence()
    assert json.loads(json.dumps(found.to_json())) == json.loads(
        json.dumps(Interface.from_json(found.to_json()).to_json())
    )
    assert [step.kernel for step in found.steps] == ["scale", "scale"]
    assert found.results == ((("size", 0), 4),)
    (temporary,) = found.temporaries
    assert temporary.steps == (0, 1)
    assert evaluate(temporary.elements, [5]) == 20


def host(
    binary: bytes, kernels: Sequence[Interface], steps: Interface, *inputs: Array
) -> Array:
    """Return the result of a sequence, run by what its interface says, and no more."""
    result = steps.buffers[-1]
    # Its shape follows from sizes of the inputs.
    empty = np.zeros([size or 0 for size in result.shape], dtype_of(result.element))
    known, (shape,) = sizes_of(steps, [*inputs, empty]), steps.results
    arguments = [*inputs, np.zeros([evaluate(x, known) for x in shape], empty.dtype)]
    sizes = sizes_of(steps, arguments)
    temporaries = [
        np.zeros(evaluate(each.elements, sizes), dtype_of(each.element))
        for each in steps.temporaries
    ]
    with Session.start(driver="lavapipe") as session:
        for step in steps.steps:
            (kernel,) = (each for each in kernels if each.name == step.kernel)
            given = [memory(x, arguments, temporaries, sizes) for x in step.arguments]
            call = pack(kernel, given)
            outcome = session.run(
                binary,
                kernel.name,
                call.buffers,
                groups=call.groups,
                push_constants=call.push_constants,
                subgroup_size=kernel.subgroup_size,
            )
            for before, after in zip(given, call.unpack(outcome.arrays), strict=True):
                before[...] = after
    return arguments[-1]


def test_host() -> None:
    """A host that reads the interface alone runs the kernels in order."""
    result = host(*sequence(), X)
    assert (result[:, 0] == 4 * X[:, 0]).all()


@pytest.mark.parametrize("rows", [17, 32])
def test_host_of_three_kernels(rows: int) -> None:
    """It runs a graph of products and rows, with temporaries between them."""
    binary, kernels, steps = sequence(GRAPH, "coopc-khr{device=lavapipe}")
    assert len({step.kernel for step in steps.steps}) == 3
    assert len(steps.temporaries) >= 1
    random = np.random.default_rng(0)
    shapes = (rows, 24), (24, 20), (20, 12)
    x, w, v = (random.integers(-2, 3, shape).astype(np.float16) for shape in shapes)
    hidden = np.maximum(x.astype(int) @ w.astype(int), 0)
    wanted = (hidden.max(1, keepdims=True) - hidden) @ v.astype(int)
    assert (host(binary, kernels, steps, x, w, v) == wanted).all()


def memory(
    view: object,
    arguments: Sequence[Array],
    temporaries: Sequence[Array],
    sizes: Sequence[int],
) -> Array:
    assert isinstance(view, View)
    known = arguments if view.memory == "argument" else temporaries
    found = known[view.number].reshape(-1)[evaluate(view.offset, sizes) :]
    shape = [evaluate(size, sizes) for size in view.shape]
    return found[: int(np.prod(shape))].reshape(shape)


@pytest.mark.parametrize("on", ["sim", "vulkan", "opencl", "cpu"])
def test_launch(on: str) -> None:
    outcome = coopc.launch(SCALE, X, on=on)
    assert (outcome.arrays[-1][:, 0] == 4 * X[:, 0]).all()
    given = np.zeros((5, 4), np.float32)
    coopc.launch(SCALE, X, given, on=on)
    assert (given[:, 0] == 4 * X[:, 0]).all()


@pytest.mark.parametrize("on", ["sim", "vulkan", "opencl", "cpu"])
def test_offset(on: str) -> None:
    """A driver gets what is before the first element, too, and so a copy of memory."""
    type = "memref<?x4xf32, strided<[4, 1], offset: 2>>"
    scale, _ = SCALE.replace("memref<?x4xf32>", type).split("simt.sequence")
    text = f"""{scale}
simt.sequence @fourfold(%x: {type}, %t: {type}, %y: {type}) {{
  simt.launch @scale(%x, %t) : ({type}, {type})
  simt.launch @scale(%t, %y) : ({type}, {type})
}}"""
    t, y = np.zeros((2, 5, 4), np.float32)
    coopc.launch(text, X, t, y, on=on)
    assert (t[:, 0] == 2 * X[:, 0]).all()
    assert (y[:, 0] == 4 * X[:, 0]).all()


def test_transfers(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call brings inputs to a device once, temporaries never, and results back."""
    random = np.random.default_rng(0)
    shapes = (17, 24), (24, 20), (20, 12)
    x, w, v = (random.integers(-2, 3, shape).astype(np.float16) for shape in shapes)
    sent: list[tuple[Any, ...]] = []
    call = Session.call

    def recorded(self: Session, *given: Any, **how: Any) -> Any:
        sent.append(given)
        return call(self, *given, **how)

    monkeypatch.setattr(Session, "call", recorded)
    result = coopc.launch(GRAPH, x, w, v, on="vulkan").arrays[-1]
    ((handler, shaders, memories, read, repeats, _),) = sent
    assert (handler, len(shaders), read, repeats) == ("run", 3, 4, 1)
    contents = [x for x in memories if isinstance(x, bytes)]
    assert contents == [each.tobytes() for each in (x, w, v)]
    assert len(memories) > read
    assert all(n < len(memories) for each in shaders for n in each.bound)
    hidden = np.maximum(x.astype(int) @ w.astype(int), 0)
    assert (result == (hidden.max(1, keepdims=True) - hidden) @ v.astype(int)).all()


def test_wrong_result() -> None:
    with pytest.raises(
        coopc.CompileError, match="expected y to have shape 5 x 4, got 6 x 4"
    ):
        coopc.launch(SCALE, X, np.zeros((6, 4), np.float32))
