"""`func`: functions of the module, and calls of them.

A memref is passed, and given back, as its pointer and the numbers that its type leaves
to run time; several results are a struct.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import func
from xdsl.ir import SSAValue

from coopc.dialects.narrow import is_memref
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.flow import Became
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.llvm.view import flat, from_flat
from coopc.emit.memrefs import Form
from coopc.emit.structured import Refusal
from coopc.llvm.module import Typed
from coopc.llvm.types import Struct
from coopc.llvm.values import Value, poison

handlers = Handlers()


@handlers.on(func.CallOp)
def call(e: Emission, op: func.CallOp) -> None:
    """A call; spir64 has no recursion, and no functions of elsewhere."""
    name = op.callee.root_reference.data
    callee = e.whole.functions.get(name)
    if callee is None or (callee.is_declaration and e.facts.gpu):
        raise Refusal(f"expected a function @{name} with a body in the module")
    if e.facts.gpu:
        _check_recursion(e, name, (e.f.signature.name,))
    signature = e.whole.want(callee, e.subgroup_size)
    if callee.is_declaration:
        e.declare(signature)
    arguments = flattened(e, op.arguments)
    found = tuple(argument.type for argument in arguments)
    if found != signature.parameters:
        raise Refusal(
            f"expected arguments of @{name} in the memory that its type says, "
            f"({', '.join(map(str, signature.parameters))}), got "
            f"({', '.join(map(str, found))})"
        )
    made = e.f.call(signature, arguments)
    parts: Iterator[Value] = iter(())
    if isinstance(signature.result, Struct):
        assert made is not None, op
        fields = enumerate(signature.result.fields)
        parts = iter(
            [
                e.f.emit(type, "extractvalue ", Typed(made), f", {at}")
                for at, type in fields
            ]
        )
    elif made is not None:
        parts = iter((made,))
    for result in op.results:
        e.set(result, taken(result, parts))


def _check_recursion(e: Emission, name: str, calling: tuple[str, ...]) -> None:
    if name in calling:
        raise Refusal(f"expected no recursion, which OpenCL has not, got @{name}")
    callee = e.whole.functions.get(name)
    for op in callee.walk() if callee is not None else ():
        if isinstance(op, func.CallOp):
            _check_recursion(e, op.callee.root_reference.data, (*calling, name))


def taken(value: SSAValue, parts: Iterator[Value]) -> Became:
    """What an argument or a result became, from the values that it was passed as."""
    if is_memref(value.type):
        return from_flat(value.type, parts)
    return next(parts)


def flattened(e: Emission, values: Sequence[SSAValue]) -> list[Value]:
    """The values that some arguments or results are passed as."""
    found: list[Value] = []
    for value in values:
        if is_memref(value.type):
            found += flat(e.view(value), Form.of(value.type))
        else:
            found.append(e.value(value))
    return found


def finish(e: Emission, values: Sequence[SSAValue]) -> None:
    """End a function with its results.

    Raises:
        Refusal: a memref is not in the memory that its type says.
    """
    parts = flattened(e, values)
    type = e.f.signature.result
    if not parts:
        e.f.do("ret void")
        return
    expected = type.fields if isinstance(type, Struct) else (type,)
    found = tuple(part.type for part in parts)
    if found != expected:
        raise Refusal(
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
