"""The targets of `-t`: SPIR-V, text or binary, LLVM IR, and how kernels are called.

What a module is emitted for is its attribute `simt.target`, which pipelines write, or
the options of the target: `-t 'spirv{flavour=vulkan device=lavapipe}'`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.target import Target

from coopc.device import Flavour
from coopc.remarks import remark

if TYPE_CHECKING:
    from coopc.emit.llvm.types import Facts as LlvmFacts
    from coopc.emit.walker import Facts
    from coopc.spirv.module import Module


_WANTED = (
    "expected {} on the module, which a pipeline writes, or the target's options, as "
    "in {}"
)


@dataclass(frozen=True)
class DeviceTarget(Target):
    """A target that says what a module is emitted for, or leaves it to the module."""

    flavour: Flavour | None = None
    """The SPIR-V environment; by default the device's, if it has only one."""
    device: str | None = None
    """A device of `--list devices`."""
    addresses: bool = False
    """Pass addresses of physical storage buffers to Vulkan kernels, not bound buffers;
    this is implied if the module computes addresses. If accesses have an alignment,
    the addresses must be multiples of 16."""

    def facts(self, module: ModuleOp) -> Facts:
        """What a module is emitted for; options go before what the module says.

        Raises:
            PassFailedException: nothing says so, or there is no such device, or the
                device has no such flavour.
        """
        from coopc.dialects import simt
        from coopc.emit.walker import Facts, as_flavour
        from coopc.ir.device_option import device_for

        found, device = simt.target_of(module), self.device
        flavour: str | None = self.flavour
        if device is None and found is not None:
            device = found.device.data
            flavour = flavour or found.flavour.data
        example = f"{self.name}{{flavour=vulkan device=lavapipe}}"
        reason = _WANTED.format(simt.TARGET, example)
        if found is None and any(module.ops) and not any(simt.kernels(module)):
            reason = (
                "expected kernels, as coopc-khr makes them, got functions without "
                "simt.kernel (coopc-amx and coopc-cpu make them for -t llvm-ir)"
            )
        if device is not None:
            try:
                known = device_for(device, module)
                if not known.flavours:
                    what = "expected a device that runs SPIR-V"
                    raise ValueError(f"{what}, got {device}, which runs none")
                if flavour is None and len(known.flavours) == 1:
                    (flavour,) = known.flavours
                if flavour is not None:
                    named = flavour == "vulkan" and any(
                        isinstance(op, simt.AddressOfOp | simt.MemoryAtOp)
                        for op in module.walk()
                    )
                    return Facts(as_flavour(flavour), known, self.addresses or named)
            except ValueError as error:
                reason = str(error)
        module.emit_error(reason, PassFailedException(reason))

    def module(self, module: ModuleOp) -> Module:
        """The SPIR-V of a module."""
        from coopc.emit.spirv.module import emit_module

        return emit_module(module, self.facts(module))


@dataclass(frozen=True)
class SpirvTarget(DeviceTarget):
    """SPIR-V as text that spirv-as takes."""

    name = "spirv"

    numeric_ids: bool = False
    """Write ids by their numbers: spirv-as --preserve-numeric-ids then gives exactly
    the bytes of the target spirv-binary."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from coopc.spirv.writer import text

        output.write(text(self.module(module), numeric_ids=self.numeric_ids))


@dataclass(frozen=True)
class SpirvBinaryTarget(DeviceTarget):
    """SPIR-V as the bytes of a .spv file."""

    name = "spirv-binary"

    def emit_bytes(self, ctx: Context, module: ModuleOp) -> bytes:
        """The bytes; coopc's tools ask for these."""
        from coopc.spirv.writer import binary

        return binary(self.module(module))

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Refuse: tools that ask for text, as xdsl-opt does, cannot write bytes.

        Raises:
            PassFailedException: always.
        """
        reason = (
            "expected a tool that writes bytes, as coopc-opt does; -t spirv is text"
        )
        module.emit_error(reason, PassFailedException(reason))


@dataclass(frozen=True)
class MlirSpirvTarget(DeviceTarget):
    """SPIR-V in upstream MLIR's `spirv` dialect.

    mlir-translate --serialize-spirv takes it, with --no-implicit-module.  Types of the
    dialect have numbers: specialization constants in them are fixed at their defaults.
    """

    name = "mlir-spirv"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write one `spirv.module`.

        Raises:
            PassFailedException: upstream's dialect lacks an instruction of the module.
        """
        from coopc.emit.spirv.mlir_spirv import Unsupported, operations

        emitted = self.module(module)
        try:
            found, fixed = operations(emitted)
        except Unsupported as error:
            module.emit_error(str(error), PassFailedException(str(error)))
        if fixed:
            names = ", ".join(fixed)
            remark(module, f"types of the spirv dialect fix {names} at the default")
        print(found, file=output)


@dataclass(frozen=True)
class AbiJsonTarget(DeviceTarget):
    """How the kernels of a module are called, as JSON."""

    name = "abi-json"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write what `coopc.interface.Interface.from_json` reads of each kernel."""
        import json

        from coopc.emit.interface import kernels_of
        from coopc.emit.sequence import interfaces_of
        from coopc.emit.spirv.requirements import requirements
        from coopc.interface import FORMAT
        from coopc.spirv.writer import binary

        facts = self.facts(module)
        known = interfaces_of(kernels_of(module), module, facts)
        interfaces = [each for each in known if not each.steps]
        sequences = [each.to_json() for each in known if each.steps]
        device = facts.device
        found = {
            "version": FORMAT,
            "target": {
                "flavour": facts.flavour,
                "device": device.name,
                "source": device.source,
            },
            "kernels": [each.to_json() for each in interfaces],
            **({"sequences": sequences} if sequences else {}),
            "requires": requirements(binary(self.module(module)), interfaces),
        }
        json.dump(found, output, indent=2)
        output.write("\n")


@dataclass(frozen=True)
class LlvmIrTarget(Target):
    """LLVM IR as text; an Intel GPU is spir64, the device amx is x86-64."""

    name = "llvm-ir"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`, or amx where
    there is none and there are no kernels."""
    cpu: str | None = None
    """What functions of x86-64 say as target-cpu, such as sapphirerapids."""
    matrix: bool = False
    """Matrices as llvm.experimental.matrix calls and row slices as builtins, at any
    step of the way to tiles: the IR of Intel's SYCL matrix design.  For amx."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from coopc.emit.llvm.module import emit_module
        from coopc.llvm.text import text

        output.write(text(emit_module(module, self.facts(module))))

    def facts(self, module: ModuleOp) -> LlvmFacts:
        """What a module is emitted for.

        Raises:
            PassFailedException: nothing says so, or there is no such device, or none
                that takes LLVM IR.
        """
        from coopc.device import device as device_named
        from coopc.dialects import simt
        from coopc.emit.llvm.types import Facts

        name = self.device
        if name is None and (found := simt.target_of(module)) is not None:
            name = found.device.data
        # A GPU runs kernels: functions alone, as coopc-amx makes them, are for x86-64.
        if name is None and (self.matrix or not list(simt.kernels(module))):
            name = "amx"
        reason = _WANTED.format(simt.TARGET, "llvm-ir{device=bmg}")
        if name is not None:
            try:
                return Facts(device_named(name), self.cpu, matrix=self.matrix)
            except ValueError as error:
                reason = str(error)
        module.emit_error(reason, PassFailedException(reason))
