"""drop-fallback-entries: removes fallback entry points that exceed device limits.

Before:  kernels, some with a `.fallback`, as they are emitted. A target.
After:   a `.fallback` that exceeds the limits of the device is removed, with a remark:
         a call with arguments that violate a condition is then rejected.
Fails:   never
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import simt
from coopc.emit.interface import interface_of
from coopc.emit.walker import Facts, NoForm, as_flavour
from coopc.interface import SECOND_ENTRY
from coopc.ir.device_option import device_of
from coopc.remarks import remark


@dataclass(frozen=True)
class DropFallbackEntriesPass(ModulePass):
    name = "drop-fallback-entries"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels, target = list(simt.kernels(op)), simt.target_of(op)
        second = {f"{x.name}{SECOND_ENTRY}" for x in kernels}
        if target is None or not any(x.name in second for x in kernels):
            return
        device = device_of(None, op, self.name)
        facts = Facts(as_flavour(target.flavour.data), device)
        for kernel in kernels:
            if kernel.name not in second:
                continue
            try:
                interface_of(kernel, op, facts)
            except NoForm as error:
                remark(kernel.func, f"@{kernel.name} is left out: {error}")
                Rewriter.erase_op(kernel.func)
