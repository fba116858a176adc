"""How a host runs a launch sequence: by its interface, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.compiler import compile
from coopc.interface import Interface, View, evaluate
from coopc.interface_call import pack, sizes_of
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


def sequence() -> tuple[bytes, list[Interface], Interface]:
    """Return a module, the interfaces of its kernels, and that of its sequence."""
    target = "abi-json{flavour=vulkan device=lavapipe}"
    found = json.loads(compile(SCALE, "", target).text)
    kernels = [Interface.from_json(each) for each in found["kernels"]]
    (steps,) = (Interface.from_json(each) for each in found["sequences"])
    binary = compile(SCALE, "", target.replace("abi-json", "spirv-binary")).bytes
    return binary, kernels, steps


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


def test_host() -> None:
    """A host that reads the interface alone runs the kernels in order."""
    binary, kernels, steps = sequence()
    sizes = sizes_of(steps, [X, X])
    (shape,) = steps.results
    result = np.zeros([evaluate(x, sizes) for x in shape], np.float32)
    arguments = [X, result]
    temporaries = [
        np.zeros(evaluate(each.elements, sizes), np.float32)
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
            )
            for before, after in zip(given, call.unpack(outcome.arrays), strict=True):
                before[...] = after
    assert (result[:, 0] == 4 * X[:, 0]).all()


def memory(
    view: object,
    arguments: Sequence[npt.NDArray[np.float32]],
    temporaries: Sequence[npt.NDArray[np.float32]],
    sizes: Sequence[int],
) -> npt.NDArray[np.float32]:
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


def test_wrong_result() -> None:
    with pytest.raises(coopc.CompileError, match="expected y to be 5 x 4, got 6 x 4"):
        coopc.launch(SCALE, X, np.zeros((6, 4), np.float32))
