"""A whole module: on spir64 its kernels, on x86-64 its functions."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref
from coopc.emit.facts import Facts as SpirvFacts
from coopc.emit.interface import interface_of, name_of, settled
from coopc.emit.llvm.cfg import body
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.facts import Facts
from coopc.emit.llvm.func import finish, taken
from coopc.emit.llvm.handlers import emit
from coopc.emit.llvm.view import from_flat
from coopc.emit.llvm.whole import ModuleEmission
from coopc.emit.structured import Refusal
from coopc.llvm.module import Function, Metadata, Module, Signature
from coopc.llvm.types import I32, VOID, Type
from coopc.llvm.values import integer
from coopc.passes.check_bounds import check_bounds
from coopc.passes.check_uniformity import check_uniformity


def emit_module(source: ModuleOp, facts: Facts) -> Module:
    """The LLVM module of a module of the IR.

    Raises:
        PassFailedException: the target cannot say what the IR says, or there is nothing
            to emit.
        VerifyException: control flow is not uniform where it must be, or an access is
            out of bounds.
    """
    whole = ModuleEmission(source, facts)
    for op in source.ops:
        if not isinstance(op, func.FuncOp):
            _refuse(op, f"expected functions at the top, got {op.name}")
    if facts.gpu:
        kernels = list(simt.kernels(source))
        if not kernels:
            _refuse(source, f"expected a function with {simt.KERNEL}, an entry point")
        for kernel in kernels:
            _guarded(whole, kernel.func, lambda k=kernel: _kernel(whole, k))
    else:
        kernels = list(simt.kernels(source))
        for kernel in kernels if not facts.matrix else ():
            _check_one_work_item(kernel)
        lanes = {kernel.subgroup_size for kernel in kernels}
        items = {_work_items(kernel) for kernel in kernels}
        common = lanes.pop() if len(lanes) == 1 else None
        whole.work_items = items.pop() if len(items) == 1 else None
        for op in whole.functions.values():
            if not op.is_declaration:
                whole.wanted[op.sym_name.data] = common
    _functions(whole)
    _check_names(whole)
    # Last: what has no form at all is refused in words of its own.
    check_bounds(source)
    check_uniformity(source)
    return whole.module


INLINE = ("fabs", "sqrt", "copysign", "masked", "vector")
"""Intrinsics on floats that are no calls on any x86-64."""


def _check_names(whole: ModuleEmission) -> None:
    """Refuse a function that has the name of one of a library that is called.

    LLVM calls that of the C library, too, where the processor has no instruction for an
    intrinsic: `expf` for `llvm.exp.f32`.
    """
    called = set(whole.module.declarations)
    for declared in whole.module.declarations if not whole.facts.gpu else ():
        prefix, *words = declared.split(".")
        if prefix == "llvm" and "f" in words[-1] and words[0] not in INLINE:
            called |= {words[0], f"{words[0]}f"}
    for function in whole.module.functions:
        if (name := function.signature.name) in called:
            _refuse(
                whole.functions[name],
                f"expected another name than @{name}, that of a function of a library "
                "that the module calls",
            )


def _refuse(op: Operation, reason: str) -> None:
    op.emit_error(reason, PassFailedException(reason))


def _guarded(whole: ModuleEmission, op: func.FuncOp, make: object) -> None:
    """Emit a function; what it cannot be is its own error."""
    assert callable(make)
    try:
        make()
    except Refusal as refusal:
        _refuse(op, str(refusal))


def _functions(whole: ModuleEmission) -> None:
    """Emit all functions that are wanted, and those that they want."""
    emitted: set[str] = set()
    while todo := [name for name in whole.wanted if name not in emitted]:
        for name in todo:
            emitted.add(name)
            callee = whole.functions[name]
            if not callee.is_declaration:
                _guarded(whole, callee, lambda op=callee: _function(whole, op))


def _work_items(kernel: simt.Kernel) -> int | None:
    """The work-items of a work-group: a subgroup, if the kernel does not say."""
    if simt.WORK_GROUP_SIZE in kernel.func.attributes:
        return kernel.work_items
    return kernel.subgroup_size


def _check_one_work_item(kernel: simt.Kernel) -> None:
    if kernel.work_items != 1:
        _refuse(
            kernel.func,
            "expected a kernel of one work-item, which x86-64 runs, as "
            f"vectorize-subgroup makes it, got {kernel.work_items}",
        )


def _function(whole: ModuleEmission, callee: func.FuncOp) -> None:
    """Emit a function that is no kernel."""
    private = callee.sym_visibility is not None and callee.sym_visibility.data != (
        "public"
    )
    linkage = "internal" if private or whole.facts.gpu else ""
    names = [
        name
        for position, arg in enumerate(callee.args)
        for name in _names(name_of(arg, position), len(whole.flat(arg.type)))
    ]
    function = whole.module.define(Function(whole.signature(callee), names, linkage))
    size = whole.wanted[callee.sym_name.data]
    e = Emission(whole, function, emit, subgroup_size=size)
    parameters = iter(function.parameters)
    for arg in callee.args:
        e.set(arg, taken(arg, parameters))
    body(e, callee.body, lambda last: finish(e, last.operands))


def _names(name: str, count: int) -> list[str]:
    """Hints for the values that an argument is passed as."""
    return [name, *(f"{name}_n{at}" for at in range(count - 1))]


def _kernel(whole: ModuleEmission, kernel: simt.Kernel) -> None:
    """Emit a kernel of spir64."""
    device = whole.facts.device
    interface_of(kernel, whole.source, SpirvFacts("opencl", device))
    kernel = settled(kernel, whole.source, device)
    types: list[Type] = []
    names: list[str] = []
    args = kernel.func.args
    for position, arg in enumerate(args):
        # An i1 comes as a byte.
        some = (
            whole.flat(arg.type)
            if is_memref(arg.type)
            else [whole.types.in_memory(arg.type)]
        )
        types += some
        names += _names(name_of(arg, position), len(some))
    attributes = f"convergent {whole.attributes()}"
    signature = Signature(kernel.name, VOID, tuple(types), "spir_kernel", attributes)
    function = whole.module.define(Function(signature, names))
    function.metadata = _execution_modes(whole, kernel)
    e = Emission(
        whole,
        function,
        emit,
        work_group_size=kernel.work_group_size,
        subgroup_size=kernel.subgroup_size,
    )
    given = iter(function.parameters)
    for arg in args:
        if is_memref(arg.type):
            e.set(arg, from_flat(arg.type, given))
        else:
            e.set(arg, e.from_memory(arg.type, next(given)))
    body(e, kernel.func.body, lambda _: function.do("ret void"))


def _execution_modes(
    whole: ModuleEmission, kernel: simt.Kernel
) -> tuple[Metadata, ...]:
    """Sizes of work-group and subgroup, as OpenCL's front end says them."""
    node = whole.module.node
    sizes = [integer(I32, size) for size in kernel.work_group_size]
    found = [Metadata("reqd_work_group_size", node(*sizes))]
    if (lanes := kernel.subgroup_size) is not None:
        lanes_node = node(integer(I32, lanes))
        found.append(Metadata("intel_reqd_sub_group_size", lanes_node))
    return tuple(found)
