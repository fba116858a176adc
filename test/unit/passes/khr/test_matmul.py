"""`linalg.matmul` and its kin through `coopc-khr`: on drivers, against numpy.

| device    | run by                                              |
|-----------|-----------------------------------------------------|
| lavapipe  | Mesa's Vulkan driver for CPUs                       |
| intel-cpu | Intel's OpenCL run-time, whose B is packed, on AMX  |
| bmg, dg2  | Intel's offline compiler, which only compiles       |
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.interface import Interface
from coopc.interface_call import pack
from coopc.run import opencl, toolchain, vulkan
from coopc.run.execute import on_opencl, on_vulkan
from coopc.run.offline_compiler import compile_kernel

Array: TypeAlias = npt.NDArray[Any]

BITS = {"f16": ("f16", "f2"), "f32": ("f32", "f4")}
"""Element types of the IR and of numpy; integers are s8, u8, s32, u32."""


def types(name: str) -> tuple[str, str]:
    """The element type in the IR and in numpy."""
    if name[0] == "f":
        return BITS[name]
    kind = "i" if name[0] == "s" else "u"
    return f"i{name[1:]}", f"{kind}{int(name[1:]) // 8}"


@dataclass(frozen=True)
class Matmul:
    """One multiplication, C += A * B or C = start + A * B."""

    m: int
    n: int
    k: int
    a: str = "f16"
    b: str = "f16"
    c: str = "f32"
    maps: str = "mk kn mn"
    """Which loops the dimensions of A, B and C are, after the batch's."""
    batch: int = 0
    static: bool = False
    fill: float | None = None
    """What C is set to before; it is accumulated into without."""
    strided: bool = False
    """Whether A and B are transposed in memory, by strides of their memrefs."""

    def __str__(self) -> str:
        words = [f"{self.m}x{self.n}x{self.k}", f"{self.a}-{self.b}-{self.c}"]
        words += [self.maps.replace(" ", "-")] if self.maps != "mk kn mn" else []
        words += [f"batch{self.batch}"] if self.batch else []
        words += ["static"] if self.static else []
        words += ["fill"] if self.fill is not None else []
        words += ["strided"] if self.strided else []
        return "-".join(words)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of the memrefs of A, B and C."""
        sizes = {"m": self.m, "n": self.n, "k": self.k}
        lead = (self.batch,) if self.batch else ()
        return [(*lead, *(sizes[x] for x in map)) for map in self.maps.split()]

    @property
    def memrefs(self) -> list[str]:
        """The types of the arguments."""
        found: list[str] = []
        names = (self.a, self.b, self.c)
        for name, shape in zip(names, self.shapes, strict=True):
            sizes = "x".join(str(x) if self.static else "?" for x in shape)
            layout = ""
            if self.strided and name is not self.c:
                outer = shape[-2] if self.static else "?"
                layout = f", strided<[1, {outer}]>"
            found.append(f"memref<{sizes}x{types(name)[0]}{layout}>")
        return found

    @property
    def text(self) -> str:
        """The function."""
        a, b, c = self.memrefs
        names = f"%a: {a}, %b: {b}, %c: {c}"
        operands = f"ins(%a, %b : {a}, {b}) outs(%c : {c})"
        begin = ""
        if self.fill is not None:
            t = types(self.c)[0]
            number = self.fill if t == "f32" else int(self.fill)
            begin = f"""
  %start = arith.constant {number} : {t}
  linalg.fill ins(%start : {t}) outs(%c : {c})"""
        signed = "u" not in self.a + self.b
        if self.maps == "mk kn mn" and signed and not self.batch:
            return f"""
func.func @f({names}) {{{begin}
  linalg.matmul {operands}
  func.return
}}
"""
        return f"""
func.func @f({names}) {{{begin}
  linalg.generic {{indexing_maps = [{self._affine}],
      iterator_types = [{self._kinds}]}} {operands} {{
{self._body}
  }}
  func.return
}}
"""

    @property
    def _affine(self) -> str:
        lead = "b, " if self.batch else ""
        return ", ".join(
            f"affine_map<({lead}m, n, k) -> ({lead}{map[0]}, {map[1]})>"
            for map in self.maps.split()
        )

    @property
    def _kinds(self) -> str:
        lead = '"parallel", ' if self.batch else ""
        return f'{lead}"parallel", "parallel", "reduction"'

    @property
    def _body(self) -> str:
        a, b, c = (types(x)[0] for x in (self.a, self.b, self.c))
        cast = {"f": "extf", "s": "extsi", "u": "extui"}
        mul, add = ("mulf", "addf") if c[0] == "f" else ("muli", "addi")
        return f"""
  ^bb0(%x: {a}, %y: {b}, %z: {c}):
    %xe = arith.{cast[self.a[0]]} %x : {a} to {c}
    %ye = arith.{cast[self.b[0]]} %y : {b} to {c}
    %p = arith.{mul} %xe, %ye : {c}
    %s = arith.{add} %z, %p : {c}
    linalg.yield %s : {c}"""

    def inputs(self) -> list[Array]:
        """Small numbers, whose sums are exact; all numbers of 8 bits."""
        generator = np.random.default_rng(self.m + 100 * self.n + 10000 * self.k)
        found: list[Array] = []
        names = (self.a, self.b, self.c)
        for name, shape in zip(names, self.shapes, strict=True):
            dtype = np.dtype(types(name)[1])
            low, high = -8, 9
            if name in ("s8", "u8"):
                low, high = np.iinfo(dtype).min, np.iinfo(dtype).max + 1
            found.append(generator.integers(max(low, -200), high, shape).astype(dtype))
            if self.strided and name is not self.c:
                found[-1] = np.asfortranarray(found[-1])
        return found

    def expected(self, a: Array, b: Array, c: Array) -> Array:
        """What numpy makes of it, exactly."""
        lead = "b" if self.batch else ""
        left, right, out = (lead + map for map in self.maps.split())
        rule = f"{left},{right}->{out}"
        product = np.einsum(rule, a.astype(np.float64), b.astype(np.float64))
        start = c if self.fill is None else np.full_like(c, self.fill)
        sums = product + start
        if self.c[0] != "f":  # all are below 2^53
            sums = sums.astype(np.int64)
        return sums.astype(c.dtype)


U8: Any = {"a": "u8", "b": "u8", "c": "u32"}
S8: Any = {"a": "s8", "b": "s8", "c": "s32"}

EVERYWHERE = (
    Matmul(16, 16, 16, static=True),
    Matmul(32, 48, 40, static=True, fill=0.0),
    Matmul(33, 21, 17),
    Matmul(5, 3, 2),
    Matmul(7, 1, 9),
    Matmul(1, 40, 33, fill=2.0),
    Matmul(19, 1, 35, static=True),
    Matmul(24, 40, 19, static=True),
    Matmul(17, 9, 70, **S8),
    Matmul(32, 16, 64, **S8, static=True, fill=0.0),
    Matmul(9, 18, 33, **U8),
    Matmul(16, 16, 64, **U8, static=True),
    Matmul(17, 23, 12, maps="km kn mn"),
    Matmul(17, 23, 12, maps="mk nk mn"),
    Matmul(16, 32, 16, maps="km nk mn", static=True),
    Matmul(18, 9, 20, maps="mk kn nm"),
    Matmul(9, 10, 11, maps="mk nk mn", **S8),
    Matmul(16, 16, 32, maps="km kn mn", **U8, static=True),
    Matmul(9, 17, 12, batch=3),
    Matmul(16, 16, 16, batch=2, static=True, maps="mk nk mn"),
    Matmul(33, 10, 20, strided=True),
    Matmul(32, 32, 32, strided=True, static=True),
)
MIXED = (
    Matmul(9, 10, 11, "u8", "s8", "s32"),
    Matmul(16, 16, 32, "s8", "u8", "s32", static=True),
)
"""Signs that differ; lavapipe's lanes multiply them."""
INTEL = (*EVERYWHERE, *MIXED)
ALL = os.environ.get("COOPC_KHR") == "all"
HALF = INTEL if ALL else INTEL[::2]
"""Those that run on Intel's run-time; all of them with COOPC_KHR=all."""
SOME = INTEL if ALL else INTEL[::4]
"""Those that are also packed before, or compiled; the same."""
OTHERS = (
    Matmul(9, 10, 11, "f32", "f32", "f32"),
    Matmul(9, 10, 11, "f16", "f16", "f16"),
    Matmul(9, 10, 11, "s16", "s16", "s32"),
    Matmul(9, 10, 11, "s32", "s32", "s32"),
)
"""Types that lavapipe's lanes multiply, and its f16 sums."""


def arguments(case: Matmul, interface: Interface) -> tuple[list[Array], Any]:
    """What is given to a kernel, and the packed call."""
    inputs = case.inputs()
    return inputs, pack(interface, inputs)


@pytest.mark.parametrize("case", [*EVERYWHERE, *MIXED, *OTHERS], ids=str)
def test_on_lavapipe(case: Matmul, lavapipe: vulkan.Session) -> None:
    artifact = coopc.compile(case.text, "coopc-khr{device=lavapipe}")
    inputs, call = arguments(case, artifact.interface[0])
    found = on_vulkan(artifact.bytes, call, lavapipe).arrays
    np.testing.assert_array_equal(found[2], case.expected(*inputs))


@pytest.mark.parametrize("case", HALF, ids=str)
def test_on_intel_cpu(case: Matmul, intel_amx: opencl.Session) -> None:
    """Each work-group packs what it needs of B."""
    artifact = coopc.compile(case.text, "coopc-khr{device=intel-cpu}")
    inputs, call = arguments(case, artifact.interface[0])
    found = on_opencl(artifact.bytes, call, intel_amx).arrays
    np.testing.assert_array_equal(found[2], case.expected(*inputs))


@pytest.mark.parametrize("case", SOME, ids=str)
def test_packed_by_a_kernel(case: Matmul, intel_amx: opencl.Session) -> None:
    """A kernel packs B, another multiplies."""
    artifact = coopc.compile(case.text, "coopc-khr{device=intel-cpu pack_b=true}")
    first, second = artifact.interface
    a, b, c = case.inputs()
    channel = 4 // b.itemsize
    packed = np.zeros((*b.shape[:-2], -(-case.k // channel), case.n * channel), b.dtype)
    call = pack(first, [b, packed])
    packed = on_opencl(artifact.bytes, call, intel_amx).arrays[1]
    found = on_opencl(artifact.bytes, pack(second, [a, packed, c]), intel_amx)
    np.testing.assert_array_equal(found.arrays[2], case.expected(a, b, c))


@pytest.mark.parametrize("device", ["bmg", "dg2"])
def test_compiles_for_intel(device: str, tool: Callable[[str], Path]) -> None:
    """Without a call that is left, on the units for matrices."""
    tool("ocloc")
    for case in SOME:
        binary = coopc.compile(case.text, f"coopc-khr{{device={device}}}").bytes
        assert toolchain.validate_spirv(binary, "spv1.4") is None
        (each,) = compile_kernel(binary, device).kernels.values()
        assert each.whole.calls == 0, case
        assert each.whole.dpas > 0, case


@pytest.mark.parametrize("case", SOME, ids=str)
def test_is_valid_for_nvidia(case: Matmul, tool: Callable[[str], Path]) -> None:
    tool("spirv-val")
    binary = coopc.compile(case.text, "coopc-khr{device=nvidia}").bytes
    assert toolchain.validate_spirv(binary, "vulkan1.3") is None


def test_packed_for_dg2(tool: Callable[[str], Path]) -> None:
    """Its bytes of B are packed, by a kernel before or by each work-group."""
    tool("ocloc")
    text = Matmul(9, 10, 40, **S8).text
    for option, names in (("false", {"f"}), ("true", {"f.pack_b", "f"})):
        pipeline = f"coopc-khr{{device=dg2 pack_b={option}}}"
        artifact = coopc.compile(text, pipeline)
        assert toolchain.validate_spirv(artifact.bytes, "spv1.4") is None
        kernels = compile_kernel(artifact.bytes, "dg2").kernels
        assert set(kernels) == names
        assert all(each.whole.calls == 0 for each in kernels.values())
        assert kernels["f"].whole.dpas > 0
        loads = coopc.compile(text, pipeline, "mlir").text.count(" packed ")
        assert loads > 0
