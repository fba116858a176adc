"""Modules as they are simulated before and after a pass."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp


def simulated_form(module: ModuleOp) -> ModuleOp:
    """Return a module as the simulator takes it: Triton's kernels are functions."""
    if not any(op.name == "tt.func" for op in module.ops):
        return module
    from coopc.sim.triton import with_functions

    return with_functions(module)


def uses_xe(module: ModuleOp) -> bool:
    """Whether a module has operations of `xe`."""
    return any(op.dialect_name() == "xe" for op in module.walk())
