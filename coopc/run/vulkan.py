"""Runs Vulkan compute shaders on numpy arrays, on lavapipe or the system's devices.

    with Session.start("lavapipe") as session:
        result = session.run(binary, "main", [a, b, c], groups=(8, 8, 1))
    result.arrays[2]

Array n is the storage buffer at binding n of set 0.  The device is opened once, in a
process of its own that crashes in place of this one, and serves any number of runs.
"""

import os
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from coopc.run.arrays import Array, Outcome, check_run, to_memories
from coopc.run.toolchain import LIBRARIES, ToolMissing, toolchain, why_invalid
from coopc.run.vulkan_device import Shader, ShaderStatistics, VulkanInfo
from coopc.run.worker import TIMEOUT_SECONDS, RunFailed, Worker, serving
from coopc.spirv.facts import MATRIX_EXTENSION, SpirvFacts, spirv_facts, why_unlisted

DriverName: TypeAlias = Literal["lavapipe", "system"]
TARGET_ENV = "vulkan1.3"
SYSTEM_LOADER = "libvulkan.so.1"


class Session(Worker):
    """A Vulkan device that is open in a worker process; a context manager."""

    info: VulkanInfo

    @property
    def where(self) -> str:
        """The device and its driver, for people."""
        return f"{self.info.name}, {self.info.driver}"

    @classmethod
    def start(cls, driver: DriverName = "lavapipe", index: int | None = None) -> Self:
        """Open a device of lavapipe, or of what the system's loader offers.

        It is the one of a number, else the first that has cooperative matrices, else
        the first.

        Raises:
            ToolMissing: there is no such driver.
            RunFailed: the driver or the device cannot be opened.
        """
        session = cls(*_process(driver), index)
        session.info = session.open()
        session.driver = session.info.driver
        return session

    def run(
        self,
        binary: bytes,
        entry: str,
        buffers: Sequence[Array],
        *,
        groups: tuple[int, int, int] = (1, 1, 1),
        repeats: int = 1,
        seconds: float = TIMEOUT_SECONDS,
        **how: Any,
    ) -> Outcome:
        """Dispatch a shader; the arrays given are left as they are.

        Args:
            binary: a SPIR-V module for Vulkan.
            entry: the name of its entry point.
            buffers: the contents of binding 0, 1, ... of set 0.
            groups: numbers of work-groups.
            repeats: number of dispatches, all timed; each sees what the one before it
                wrote, and the result holds what the first wrote.
            seconds: how long all of it may take.
            how: see `shader`.

        Raises:
            ValueError: no such entry point or buffer, sizes of 0, no SPIR-V module.
            RunFailed: the module is invalid, the device cannot run it, or it crashed,
                or took too long.
        """
        check_run(groups, "numbers of work-groups", repeats, buffers)
        memories, given = to_memories(buffers)
        bound = [x for x in given if type(x) is int]
        shader = self.shader(binary, entry, bound, groups=groups, **how)
        call = ("run", [shader], memories, len(memories), repeats)
        contents, times = self.call(*call, seconds=seconds)
        return Outcome.of(buffers, given, contents, times, self.where)

    def run_sequence(
        self,
        shaders: Sequence[Shader],
        memories: Sequence[Array],
        read: int,
        *,
        repeats: int = 1,
        together: bool = False,
        seconds: float = TIMEOUT_SECONDS,
    ) -> Outcome:
        """Dispatch shaders one after the other on memory that stays on the device.

        Args:
            shaders: see `shader`.
            memories: what is in it first.
            read: how many of them the outcome has.
            repeats: how often, all of them each time; as for `run`.
            together: whether all of them are one command buffer, which is timed as one,
                but for the first time.
            seconds: how long all of it may take.

        Raises:
            RunFailed: a shader crashed, or they took too long.
        """
        given = [x.tobytes() for x in memories]
        first = [x if x.strip(b"\0") else len(x) for x in given]
        call = ("run", shaders, first, read, repeats, together)
        contents, times = self.call(*call, seconds=seconds)
        return Outcome.of(memories[:read], range(read), contents, times, self.where)

    def statistics(
        self,
        shader: Shader,
        sizes: Sequence[int],
        *,
        seconds: float = TIMEOUT_SECONDS,
    ) -> ShaderStatistics:
        """Compile a shader for memories of so many bytes; return what the driver tells.

        Raises:
            RunFailed: the driver crashed, or took too long.
        """
        return self.call("statistics", shader, sizes, seconds=seconds)

    def shader(
        self,
        binary: bytes,
        entry: str,
        bound: Sequence[int],
        *,
        groups: tuple[int, int, int],
        push_constants: bytes = b"",
        spec: Mapping[int, bytes] | None = None,
        subgroup_size: int | None = None,
        addresses: Sequence[int] = (),
        pointers: Mapping[int, Sequence[int]] | None = None,
    ) -> Shader:
        """Return a shader that the device can run.

        Args:
            binary: a SPIR-V module for Vulkan.
            entry: the name of its entry point.
            bound: the numbers of the memories at binding 0, 1, ... of set 0.
            groups: numbers of work-groups.
            push_constants: the block of push constants.
            spec: values of specialization constants by SpecId, each of its type's size.
            subgroup_size: the subgroup size to require, in invocations.
            addresses: where in the push constants the address of each buffer goes, in
                bytes, for a kernel of physical storage buffers.
            pointers: for each buffer of addresses, the buffers that these are of.

        Raises:
            ValueError: no such entry point or buffer, no SPIR-V module.
            RunFailed: the module is invalid, or the device cannot run it.
        """
        spec = spec or {}
        facts = spirv_facts(binary, spec)
        facts.check_entry(entry)
        if (bindings := facts.bindings[entry]) > len(bound):
            raise ValueError(
                f"expected {bindings} buffers, one for each binding of the entry "
                f"point, got {len(bound)}"
            )
        sizes = (groups, len(push_constants), subgroup_size)
        reason = why_invalid(binary, TARGET_ENV)
        reason = reason or why_unsupported(self.info, facts, *sizes)
        if reason is not None:
            raise RunFailed(reason)
        return Shader(
            code=binary,
            entry=entry,
            bound=tuple(bound),
            groups=groups,
            push_constants=push_constants,
            specialization=dict(spec),
            subgroup_size=subgroup_size,
            full_subgroups=bool(
                # Vulkan allows to require them for whole rows.
                subgroup_size
                and "computeFullSubgroups" in self.info.features
                and (columns := facts.work_group_columns.get(entry, 0))
                and columns % subgroup_size == 0
            ),
            addresses=tuple(addresses),
            pointers={n: tuple(parts) for n, parts in (pointers or {}).items()},
        )


def why_unsupported(
    info: VulkanInfo,
    facts: SpirvFacts,
    groups: tuple[int, int, int],
    push_constant_bytes: int,
    subgroup_size: int | None,
) -> str | None:
    """Why a device cannot run a kernel with what is required, or None."""
    limits = info.limits
    if any(x > most for x, most in zip(groups, limits.group_counts, strict=True)):
        return f"expected at most {limits.group_counts} work-groups, got {groups}"
    if push_constant_bytes > limits.push_constant_bytes:
        return (
            f"expected at most {limits.push_constant_bytes} bytes of push constants, "
            f"got {push_constant_bytes}"
        )
    if subgroup_size is not None:
        low, high = info.subgroup_sizes
        if not low <= subgroup_size <= high:
            return (
                f"expected a subgroup size of {low} to {high} on {info.name}, "
                f"got {subgroup_size}"
            )
    if facts.mistakes:
        return facts.mistakes[0]
    # Types of matrices count also where a kernel does not multiply them.
    if not facts.multiplications and not facts.matrix_types:
        return None
    if MATRIX_EXTENSION not in info.extensions:
        return f"{info.name} has no {MATRIX_EXTENSION}"
    shapes = (
        *info.matrix_shapes,
        *(
            shape
            for shape in facts.multiplications
            if any(shape.is_made_of(least) for _, least in info.workgroup_shapes)
        ),
    )
    reason = why_unlisted(shapes, facts.multiplications, facts.matrix_types)
    return f"{info.name}: {reason}" if reason else None


def _process(driver: DriverName) -> tuple[list[str], dict[str, str], str, str]:
    """What a `Worker` is made of that opens a driver, or the system's loader of such.

    Raises:
        ToolMissing: there is no such driver.
    """
    environment = dict(os.environ)
    python, library = [sys.executable], SYSTEM_LOADER
    if driver == "lavapipe":
        folder = toolchain() / LIBRARIES
        python, library = python_on(folder), str(folder / "libvulkan_lvp.so")
        if not os.path.exists(library):
            raise ToolMissing("lavapipe", "unpack the toolchain again, with --force")
        # At other widths lavapipe's cooperative matrices crash or are wrong.
        environment["LP_NATIVE_VECTOR_WIDTH"] = "256"
    return serving(python, "vulkan_device"), environment, "open", library


def python_on(libraries: Path) -> list[str]:
    """The command that starts this python with another loader and C library.

    A driver of a newer distribution loads only into a process with that distribution's
    C library, so the worker is started through its loader.  `sys.prefix`, and so the
    packages that python finds, stay those of this python.
    """
    own = sysconfig.get_config_var("LIBDIR") or ""
    path = f"{libraries}:{own}" if sysconfig.get_config_var("Py_ENABLE_SHARED") else ""
    return [
        str(libraries / "ld-linux-x86-64.so.2"),
        *("--argv0", sys.executable),
        *("--library-path", path or str(libraries)),
        os.path.realpath(sys.executable),
    ]
