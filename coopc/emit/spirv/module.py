"""A whole module: its kernels as entry points, and what they share."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import coopmatrix, simt
from coopc.emit.facts import Facts
from coopc.emit.interface import interface_of, settled, spec_constant_ids
from coopc.emit.spirv import entry
from coopc.emit.spirv.whole import ModuleEmission
from coopc.emit.structured import Refusal
from coopc.interface import Interface
from coopc.passes.check_bounds import check_bounds
from coopc.passes.check_uniformity import check_uniformity
from coopc.spirv.module import Module


def emit_module(source: ModuleOp, facts: Facts) -> Module:
    """The SPIR-V module of all kernels of a module of the IR.

    Raises:
        PassFailedException: the flavour or the device cannot say what the IR says, or
            there is no kernel.
        VerifyException: control flow is not uniform where it must be, or an access is
            out of bounds.
    """
    whole = ModuleEmission(source, facts)
    for op in source.ops:
        if not isinstance(op, func.FuncOp | coopmatrix.SpecConstantOp):
            _refuse(op, "expected functions and specialisation constants at the top")
    for op, number in spec_constant_ids(source):
        name = op.sym_name.data
        whole.spec_constants[name] = whole.module.spec_constant(
            whole.types.u32, op.value.value.data, number, name
        )
    for kernel in kernels_of(source):
        try:
            _kernel(whole, kernel)
        except Refusal as refusal:
            _refuse(kernel.func, str(refusal))
    # Last: what has no form at all is refused in words of its own.
    check_bounds(source)
    check_uniformity(source)
    _finish(whole)
    return whole.module


def interfaces_of(source: ModuleOp, facts: Facts) -> list[Interface]:
    """How the kernels of a module are called.

    Raises:
        PassFailedException: as of `emit_module`.
    """
    found: list[Interface] = []
    for kernel in kernels_of(source):
        try:
            found.append(interface_of(kernel, source, facts))
        except Refusal as refusal:
            _refuse(kernel.func, str(refusal))
    return found


def kernels_of(source: ModuleOp) -> list[simt.Kernel]:
    """The kernels of a module, of which there must be one."""
    kernels = list(simt.kernels(source))
    if not kernels:
        _refuse(source, f"expected a function with {simt.KERNEL}, an entry point")
    return kernels


def _refuse(op: Operation, reason: str) -> None:
    op.emit_error(reason, PassFailedException(reason))


def _kernel(whole: ModuleEmission, kernel: simt.Kernel) -> None:
    """Emit a kernel and make it an entry point."""
    blocks = kernel.func.body.blocks
    if len(blocks) != 1:
        raise Refusal(f"expected a body of one block, got {len(blocks)}")
    interface = interface_of(kernel, whole.source, whole.facts)
    kernel = settled(kernel, whole.source, whole.facts.device)
    begin = entry.begin_vulkan if whole.facts.vulkan else entry.begin_opencl
    e = begin(whole, kernel, interface)
    e.walker.block(kernel.func.body.block)
    e.do("OpReturn")
    e.finish()
    entry.declare(e, kernel)
    whole.kernels.append(e.function.id)


def _finish(whole: ModuleEmission) -> None:
    """Declare what is known only of the whole module."""
    written = set(map(whole.first_variable, whole.written))
    for variable in whole.buffers:
        if whole.first_variable(variable) not in written:
            whole.module.decorate(variable, "NonWritable")
    for kernel in whole.kernels if whole.strict else ():
        if not whole.facts.vulkan:
            whole.module.execution_mode(kernel, "ContractionOff")
            continue
        # Without it a driver may take x + 0.0 for x, and assume that there is no NaN.
        for bits in sorted(whole.types.float_bits):
            whole.module.execution_mode(kernel, "SignedZeroInfNanPreserve", bits)
