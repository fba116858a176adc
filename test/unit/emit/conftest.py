"""What tests of emission share: kernels in both flavours, run where they run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.device import device as device_of
from coopc.interface_call import Given, pack
from coopc.run import opencl, toolchain, vulkan

Array: TypeAlias = npt.NDArray[Any]

ENVIRONMENTS = {"vulkan": "vulkan1.3", "opencl": "spv1.4"}
"""What spirv-val checks a flavour against."""

NUMPY = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": np.uint16,
    "f32": np.float32,
    "f64": np.float64,
}


@dataclass(frozen=True)
class Runner:
    """A flavour, and the device that kernels in it run on."""

    flavour: str
    device: str
    session: vulkan.Session | opencl.Session
    width: int = 8
    """Work-items of a work-group, one subgroup."""

    def run(
        self,
        text: str,
        arguments: Sequence[Given],
        groups: tuple[int, int, int] | None = None,
        pipeline: str = "",
    ) -> tuple[Array, ...]:
        """Compile the one kernel in some IR, run it, and return its arrays."""
        artifact = coopc.compile(
            text, pipeline, f"spirv-binary{{device={self.device}}}"
        )
        (interface,) = artifact.interface
        call = pack(interface, arguments, groups)
        if isinstance(self.session, vulkan.Session):
            result = self.session.run(
                artifact.bytes,
                interface.name,
                call.buffers,
                groups=call.groups,
                push_constants=call.push_constants,
                subgroup_size=interface.subgroup_size,
            )
        else:
            local = interface.work_group_size
            result = self.session.run(
                artifact.bytes,
                interface.name,
                call.opencl_arguments,
                global_size=[n * m for n, m in zip(call.groups, local, strict=True)],
                local_size=local,
            )
        return call.unpack(result.arrays)

    def elementwise(
        self,
        bodies: Mapping[str, tuple[str, str]],
        types: Sequence[str],
        arrays: Sequence[Array],
    ) -> dict[str, Array]:
        """Run bodies once an element, all in one kernel.

        Args:
            bodies: by any name, the type of %r and operations that make it of %a, %b,
                ..., elements of the arrays, and of %i, the index.
            types: of %a, %b, ... and of the arrays.
            arrays: one-dimensional, of one size that the width divides.

        Returns:
            For each body the array of its %r.
        """
        names = "abcdefg"[: len(types)]
        size = arrays[0].size
        assert size % self.width == 0, size
        given = [f"%m{n}: memref<?x{t}>" for n, t in zip(names, types, strict=True)]
        lines = [
            f"%{n} = memref.load %m{n}[%i] : memref<?x{t}>"
            for n, t in zip(names, types, strict=True)
        ]
        for number, (out, body) in enumerate(bodies.values()):
            given.append(f"%o{number}: memref<?x{out}>")
            lines.append(f"%r{number} = scf.execute_region -> {out} {{")
            lines.append(f"{body}\n scf.yield %r : {out}\n}}")
            lines.append(f"memref.store %r{number}, %o{number}[%i] : memref<?x{out}>")
        text = HEAD.format(
            arguments=", ".join(given), width=self.width, body="\n".join(lines)
        )
        results = [np.zeros(size, NUMPY[out]) for out, _ in bodies.values()]
        found = self.run(text, [*arrays, *results], (size // self.width, 1, 1))
        return dict(zip(bodies, found[len(types) :], strict=True))


HEAD = """
func.func @k({arguments})
    attributes {{simt.kernel, simt.work_group_size = array<i32: {width}>,
                 simt.subgroup_size = {width} : i32}} {{
  %group = simt.workgroup_id x : index
  %local = simt.local_id x : index
  %width = simt.workgroup_size x : index
  %start = arith.muli %group, %width : index
  %i = arith.addi %start, %local : index
{body}
  func.return
}}
"""


@pytest.fixture(params=["vulkan", "opencl"])
def runner(request: pytest.FixtureRequest) -> Runner:
    """Each flavour on a device for CPUs."""
    if request.param == "vulkan":
        return Runner("vulkan", "lavapipe", request.getfixturevalue("lavapipe"))
    return Runner("opencl", "intel-cpu", request.getfixturevalue("intel_cpu"))


@pytest.fixture
def valid(tool: Callable[[str], Any]) -> Callable[[str, str], str]:
    """Compile IR for a device; check the text and the binary; return the text.

    spirv-val takes the module, and the text with numeric ids is the binary.
    """
    tool("spirv-val")
    tool("spirv-as")

    def compiled(text: str, device: str) -> str:
        env = ENVIRONMENTS[device_of(device).flavours[0]]
        binary = coopc.compile(text, "", f"spirv-binary{{device={device}}}").bytes
        assert toolchain.validate_spirv(binary, env) is None
        numeric = f"spirv{{device={device} numeric_ids=true}}"
        ids = coopc.compile(text, "", numeric).text
        assert toolchain.assemble_spirv(ids, env, keep_ids=True) == binary
        return coopc.compile(text, "", f"spirv{{device={device}}}").text

    return compiled


@pytest.fixture
def make_runner() -> type[Runner]:
    """The class, for tests that choose a flavour themselves."""
    return Runner


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return Path(__file__).resolve().parents[3]
