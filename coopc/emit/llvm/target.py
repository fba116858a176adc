"""The target `llvm-ir` of `-t`: LLVM IR as text, for spir64 or for x86-64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.target import Target

if TYPE_CHECKING:
    from coopc.emit.llvm.types import Facts


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

    def facts(self, module: ModuleOp) -> Facts:
        """What a module is emitted for.

        Raises:
            PassFailedException: nothing says so, or there is no such device, or none
                that takes LLVM IR.
        """
        from coopc import device as devices
        from coopc.dialects import simt
        from coopc.emit.llvm.types import Facts

        name = self.device
        if name is None and (found := simt.target_of(module)) is not None:
            name = found.device.data
        # A GPU runs kernels: functions alone, as coopc-amx makes them, are for x86-64.
        if name is None and (self.matrix or not list(simt.kernels(module))):
            name = "amx"
        reason = (
            f"expected {simt.TARGET} on the module, which a pipeline writes, or the "
            "target's options, as in llvm-ir{device=bmg}"
        )
        if name is not None:
            try:
                return Facts(devices.device(name), self.cpu, matrix=self.matrix)
            except ValueError as error:
                reason = str(error)
        module.emit_error(reason, PassFailedException(reason))
