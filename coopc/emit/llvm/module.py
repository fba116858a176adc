"""A whole module: on spir64 its kernels, on x86-64 its functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects import cf, func, memref, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref
from coopc.emit.interface import (
    interface_of,
    kernels_of,
    name_of,
    remark_left_out,
    settled,
)
from coopc.emit.llvm.emission import (
    Became,
    Emission,
    Handlers,
    ModuleEmission,
    View,
    taken,
)
from coopc.emit.llvm.types import Facts
from coopc.emit.walker import Facts as SpirvFacts
from coopc.emit.walker import NoForm, refuse, refusing
from coopc.ir.dominators import postorder, successors
from coopc.llvm import module as llvm
from coopc.llvm.module import Function, Metadata, Module, Signature, Typed
from coopc.llvm.values import I32, VOID, Struct, Type, Value, integer, poison
from coopc.passes.generic.check_bounds import check_bounds
from coopc.passes.generic.check_uniformity import check_uniformity

handlers = Handlers()


@handlers.on(func.CallOp)
def call(e: Emission, op: func.CallOp) -> None:
    """A call; spir64 has no recursion, and no functions of elsewhere."""
    name = op.callee.root_reference.data
    callee = e.whole.functions.get(name)
    if callee is None or (callee.is_declaration and e.facts.gpu):
        raise NoForm(f"expected a function @{name} with a body in the module")
    if e.facts.gpu:
        _check_recursion(e, name, (e.f.signature.name,))
    signature = e.whole.want(callee, e.subgroup_size)
    if callee.is_declaration:
        e.declare(signature)
    arguments = flattened(e, op.arguments)
    found = tuple(argument.type for argument in arguments)
    if found != signature.parameters:
        raise NoForm(
            f"expected arguments of @{name} in the memory that its type says, "
            f"({', '.join(map(str, signature.parameters))}), got "
            f"({', '.join(map(str, found))})"
        )
    made = e.f.call(signature, arguments)
    parts: Iterator[Value] = iter((made,))
    if isinstance(signature.result, Struct):
        parts = iter(
            [
                e.f.emit(type, "extractvalue ", Typed(made), f", {at}")
                for at, type in enumerate(signature.result.fields)
            ]
        )
    for result in op.results:
        e.set(result, taken(result.type, parts))


def _check_recursion(e: Emission, name: str, calling: tuple[str, ...]) -> None:
    if name in calling:
        raise NoForm(f"recursion is not supported by OpenCL: @{name} calls itself")
    callee = e.whole.functions.get(name)
    for op in callee.walk() if callee is not None else ():
        if isinstance(op, func.CallOp):
            _check_recursion(e, op.callee.root_reference.data, (*calling, name))


def flattened(e: Emission, values: Sequence[SSAValue]) -> list[Value]:
    return [part for x in values for part in e.flat(x.type, e.became[x])]


def finish(e: Emission, values: Sequence[SSAValue]) -> None:
    """End a function with its results.

    Raises:
        NoForm: a memref is not in the memory that its type says.
    """
    parts = flattened(e, values)
    type = e.f.signature.result
    if not parts:
        e.f.do("ret void")
        return
    expected = type.fields if isinstance(type, Struct) else (type,)
    found = tuple(part.type for part in parts)
    if found != expected:
        raise NoForm(
            "expected results in the memory that their types say, "
            f"({', '.join(map(str, expected))}), got ({', '.join(map(str, found))})"
        )
    whole: Value = parts[0]
    if isinstance(type, Struct):
        whole = poison(type)
        for at, part in enumerate(parts):
            pieces = (Typed(whole), ", ", Typed(part), f", {at}")
            whole = e.f.emit(type, "insertvalue ", *pieces)
    e.f.do("ret ", Typed(whole))


# Bodies of several blocks: `cf.br`, `cf.cond_br` and `cf.switch`, as LLVM has them.
#
# Blocks are emitted in reverse postorder, so that what is used was emitted, but for
# what comes back around a loop; arguments of blocks are phis.  Blocks that nothing
# reaches are left out.

Edge = tuple[llvm.Block, list[Became]]
"""From where a block is reached, and what its arguments are then."""


def body(e: Emission, region: Region, finish: Callable[[Operation], None]) -> None:
    """Emit the body of a function.

    `finish` ends the function, given its terminator.

    Raises:
        NoForm: a block ends otherwise than in a branch or a return.
    """
    if len(region.blocks) == 1:
        finish(e.block(region.block))
    else:
        _Blocks(e, region, finish).emit()


class _Blocks:
    def __init__(
        self, e: Emission, region: Region, finish: Callable[[Operation], None]
    ) -> None:
        self.e = e
        self.finish = finish
        self.order = postorder(region.blocks[0], successors)[::-1]
        """Each behind those that dominate it."""
        self.labels = {block: e.label("block") for block in self.order}
        self.edges: dict[Block, list[Edge]] = defaultdict(list)
        self.phis: dict[Block, list[Became]] = {}
        self.bridges: list[tuple[llvm.Block, Block, Sequence[SSAValue]]] = []
        """Blocks of branches that are still to be emitted."""

    def emit(self) -> None:
        first, *rest = self.order
        self._block(first)
        for block in rest:
            self.e.begin(self.labels[block])
            self.e.enter()
            self._arguments(block)
            self._block(block)
            self.e.leave()

    def _arguments(self, block: Block) -> None:
        edges, e = self.edges[block], self.e
        _, values = edges[0]
        phis = [
            e.phi(arg, value) for arg, value in zip(block.args, values, strict=True)
        ]
        for source, arrived in edges:
            for phi, value in zip(phis, arrived, strict=True):
                e.arrive(phi, value, source)
        for arg, phi in zip(block.args, phis, strict=True):
            e.set(arg, phi)
        self.phis[block] = phis

    def _block(self, block: Block) -> None:
        last = self.e.block(block)
        match last:
            case cf.BranchOp():
                self._reach(last.successor, last.arguments)
                self.e.jump(self.labels[last.successor])
            case cf.ConditionalBranchOp():
                self._branch(last)
            case cf.SwitchOp():
                self._switch(last)
            case _:
                self.finish(last)

    def _branch(self, op: cf.ConditionalBranchOp) -> None:
        condition = self.e.value(op.cond)
        yes = self._edge(op.then_block, op.then_arguments)
        no = self._edge(op.else_block, op.else_arguments)
        self.e.branch(condition, yes, no)
        self._bridges()

    def _switch(self, op: cf.SwitchOp) -> None:
        values = () if op.case_values is None else op.case_values.get_values()
        cases = [
            (int(value), self._edge(block, arguments))
            for value, block, arguments in zip(
                values, op.case_blocks, op.case_operand, strict=True
            )
        ]
        default = self._edge(op.default_block, op.default_operands)
        self.e.switch(self.e.value(op.flag), cases, default)
        self._bridges()

    def _edge(self, block: Block, values: Sequence[SSAValue]) -> llvm.Block:
        """Where a branch of several goes: arguments pass through a block of their own.

        Two branches of one terminator to one block would arrive in its phis with two
        values from one place.
        """
        if not values:
            self._reach(block, values)
            return self.labels[block]
        bridge = self.e.label("edge")
        self.bridges.append((bridge, block, values))
        return bridge

    def _bridges(self) -> None:
        bridges, self.bridges = self.bridges, []
        for bridge, block, values in bridges:
            self.e.begin(bridge)
            self._reach(block, values)
            self.e.jump(self.labels[block])

    def _reach(self, block: Block, values: Sequence[SSAValue]) -> None:
        """Say that the block being emitted goes to another."""
        if block is self.order[0]:
            raise NoForm(
                "LLVM does not allow a branch to the entry block of a function"
            )
        edge = self.e.here(), self.e.given(values)
        self.edges[block].append(edge)
        for phi, value in zip(self.phis.get(block, ()), edge[1], strict=False):
            self.e.arrive(phi, value, edge[0])


def emit_module(source: ModuleOp, facts: Facts) -> Module:
    """The LLVM module of a module of the IR.

    Raises:
        PassFailedException: the target cannot say what the IR says, or there is nothing
            to emit.
        VerifyException: control flow is not uniform where it must be, or an access is
            out of bounds.
    """
    whole = ModuleEmission(source, facts)
    known = func.FuncOp | simt.SequenceOp if facts.gpu else func.FuncOp
    for op in source.ops:
        if not isinstance(op, known):
            refuse(op, f"expected functions at the top, got {op.name}")
    if facts.gpu:
        kernels = kernels_of(source)
        for kernel in kernels:
            with refusing(kernel.func):
                _kernel(whole, kernel)
        remark_left_out(source, kernels)
    else:
        _want_all(whole)
    emitted: set[str] = set()
    while todo := [name for name in whole.wanted if name not in emitted]:
        emitted.update(todo)
        for callee in map(whole.functions.__getitem__, todo):
            with refusing(callee):
                if not callee.is_declaration:
                    _function(whole, callee)
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
            refuse(
                whole.functions[name],
                f"@{name} is also the name of a library function that the module calls",
            )


def _want_all(whole: ModuleEmission) -> None:
    """Want all functions of x86-64, which runs kernels of one work-item."""
    lanes: set[int | None] = set()
    items: set[int | None] = set()
    for kernel in simt.kernels(whole.source):
        if kernel.work_items != 1 and not whole.facts.matrix:
            refuse(
                kernel.func,
                "expected a kernel of one work-item, which x86-64 runs, as "
                f"vectorize-subgroup makes it, got {kernel.work_items}",
            )
        has_size = simt.WORK_GROUP_SIZE in kernel.func.attributes
        lanes.add(kernel.subgroup_size)
        items.add(kernel.work_items if has_size else kernel.subgroup_size)
    common = lanes.pop() if len(lanes) == 1 else None
    whole.work_items = items.pop() if len(items) == 1 else None
    for op in whole.functions.values():
        if not op.is_declaration:
            whole.wanted[op.sym_name.data] = common


def _function(whole: ModuleEmission, callee: func.FuncOp) -> None:
    private = callee.sym_visibility is not None and callee.sym_visibility.data != (
        "public"
    )
    linkage = "internal" if private or whole.facts.gpu else ""
    function = Function(whole.signature(callee), _names(whole, callee), linkage)
    whole.module.define(function)
    size = whole.wanted[callee.sym_name.data]
    e = Emission(whole, function, subgroup_size=size)
    parameters = iter(function.parameters)
    for arg in callee.args:
        e.set(arg, taken(arg.type, parameters))
    is_nontemporal = not whole.facts.gpu and any(
        isinstance(op, memref.StoreOp | vector.StoreOp) and op.nontemporal.value.data
        for op in callee.walk()
    )

    def end(last: Operation) -> None:
        if is_nontemporal:  # x86-64 does not order these stores with later ones
            e.intrinsic("x86.sse.sfence", VOID, (), ())
        finish(e, last.operands)

    body(e, callee.body, end)


def _names(whole: ModuleEmission, callee: func.FuncOp) -> list[str]:
    """Hints for the values that arguments are passed as."""
    found: list[str] = []
    for position, arg in enumerate(callee.args):
        name, count = name_of(arg, position), len(whole.flat(arg.type))
        found += [name, *(f"{name}_n{at}" for at in range(count - 1))]
    return found


def _kernel(whole: ModuleEmission, kernel: simt.Kernel) -> None:
    device = whole.facts.device
    interface_of(kernel, whole.source, SpirvFacts("opencl", device))
    kernel = settled(kernel, whole.source, device)
    types: list[Type] = []
    for arg in kernel.func.args:
        if is_memref(arg.type):
            types += whole.flat(arg.type)
        else:
            types.append(whole.types.in_memory(arg.type))  # an i1 comes as a byte
    names = _names(whole, kernel.func)
    attributes = f"convergent {whole.attributes()}"
    signature = Signature(kernel.name, VOID, tuple(types), "spir_kernel", attributes)
    function = whole.module.define(Function(signature, names))
    node = whole.module.node
    sizes = [integer(I32, size) for size in kernel.work_group_size]
    modes = [Metadata("reqd_work_group_size", node(*sizes))]
    if (lanes := kernel.subgroup_size) is not None:
        modes.append(Metadata("intel_reqd_sub_group_size", node(integer(I32, lanes))))
    function.metadata = tuple(modes)
    e = Emission(
        whole,
        function,
        work_group_size=kernel.work_group_size,
        subgroup_size=kernel.subgroup_size,
    )
    given = iter(function.parameters)
    for arg in kernel.func.args:
        found = taken(arg.type, given)
        is_memory = isinstance(found, View)
        e.set(arg, found if is_memory else e.from_memory(arg.type, found))
    body(e, kernel.func.body, lambda _: function.do("ret void"))
