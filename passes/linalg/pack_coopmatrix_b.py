"""pack-coopmatrix-b: pack B where the device multiplies it packed.

Before:  loads of matrices of use b by rows or columns
After:   where the device has such only packed (or by columns, and memory has rows), the
         lanes bring each to work-group memory as it is packed, and load it from there
Fails:   for unknown devices; a matrix whose sizes or scope have names.  Nothing is
         changed then

With `kernel`, a kernel of its own, `<name>.pack_b`, packs the whole of B, once, and the
kernel takes B packed:

Before:  func.func @f(%a, %b: memref<KxN>, %c) of loads of %b by rows or columns
After:   func.func @f.pack_b(%b: memref<KxN>, %b_packed: memref<K/w x N*w>), and
         func.func @f(%a, %b: memref<K/w x N*w>, %c) of loads of %b as it is packed,
         w the elements of 32 bits
Fails:   where something else uses %b, the grid does, or a load may begin in the midst
         of a channel
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.device import Device
from coopc.dialects import simt
from coopc.passes.khr.decisions import Decision, why_not_staged
from coopc.passes.khr.legalizer import Legalizer
from coopc.passes.linalg.packing import Packing, planned, wants_packed
from coopc.rewrite.device_option import device_of


@dataclass(frozen=True)
class PackCoopmatrixBPass(ModulePass):
    """Pack B where the device multiplies it packed."""

    name = "pack-coopmatrix-b"

    device: str | None = None
    """A name in `coopc.device.DEVICES`; that of `simt.target` where it is absent."""
    kernel: bool = False
    """Whether a kernel of its own packs all of B, not each work-group its part."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide on all of `op`, then rewrite."""
        device = device_of(self.device, op, self.name)
        if self.kernel:
            self._by_kernel(op, device)
            return
        loads = [load for load in op.walk() if wants_packed(load, device)]
        for load in loads:
            if reason := why_not_staged(load):
                load.emit_error(reason, PassFailedException(reason))
        legalizer = Legalizer(op, device)
        for load in loads:
            legalizer.rewrite(Decision(load, "staged"))
            Rewriter.erase_op(load)

    def _by_kernel(self, module: ModuleOp, device: Device) -> None:
        """Make kernels that pack what others load."""
        plans: list[Packing] = []
        for kernel in simt.kernels(module):
            found = planned(kernel.func, device)
            if isinstance(found, Packing):
                plans.append(found)
            elif found is not None:
                found.op.emit_error(found.reason, PassFailedException(found.reason))
        for plan in plans:
            plan.rewrite()
