"""Kernels of Triton GPU IR as the simulator takes them: tensors whole, not in lanes.

    run = simulate(simulated_form(module), "copy", [a, b, n], grid=(4,))

An argument for a pointer is an array of any shape without gaps, changed in place.
"""

from __future__ import annotations

from contextlib import suppress

from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.rewriter import Rewriter

from coopc.dialects import simt


def simulated_form(module: ModuleOp) -> ModuleOp:
    """Return a module as the simulator takes it: Triton's kernels are functions."""
    is_triton = any(op.name == "tt.func" for op in module.ops)
    return with_functions(module) if is_triton else module


def with_functions(module: ModuleOp) -> ModuleOp:
    """Return a copy of a module whose kernels are functions, their bodies as they are.

    It is for the simulator alone: pointers are memrefs of rank 0 by their types only.
    """
    # Triton's dialects are too much to import for other programs.
    from coopc.dialects import tt
    from coopc.dialects.tt.types import ModuleFacts, in_memory
    from coopc.emit.walker import NoForm
    from coopc.ir.transaction import Refused
    from coopc.passes.generic.early_returns import return_at_the_end
    from coopc.passes.triton.library_functions import expand_functions
    from coopc.passes.triton.normalize_tt_descriptors import make_host_descriptors

    copy = module.clone()
    facts = ModuleFacts.of(copy)
    for op in list(copy.ops):
        if not isinstance(op, tt.FuncOp):
            continue
        with suppress(Refused):  # loops of branches stay, for the pass to name
            return_at_the_end(op)
        if op.is_kernel and len(op.body.blocks) == 1:
            make_host_descriptors(op)
        with suppress(NoForm):  # the pass says what is wrong with a call
            expand_functions(op)
        inputs = [
            MemRefType(in_memory(type.pointee), [])
            if isinstance(type, tt.PtrType)
            else type
            for type in op.function_type.inputs
        ]
        outputs = op.function_type.outputs.data
        types = FunctionType.from_lists(inputs, outputs)
        func = FuncOp(op.sym_name.data, types, op.detach_region(op.body))
        if op.is_kernel:
            lanes, warps = facts.threads_per_warp, 1
            if facts.says_threads and facts.num_warps is not None:
                warps = facts.num_warps
            func.attributes[simt.KERNEL] = UnitAttr()
            simt.set_sizes(func, lanes, [lanes * warps])
        Rewriter.replace_op(op, func, [])
    return copy
