"""What the functions of a module share while it is emitted."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref
from coopc.emit.elements import element_of
from coopc.emit.llvm.amx_features import features
from coopc.emit.llvm.facts import Facts
from coopc.emit.llvm.types import Types
from coopc.emit.llvm.view import flat_types
from coopc.emit.structured import Refusal
from coopc.llvm.module import Module, Signature
from coopc.llvm.types import I1, VOID, Struct, Type


class ModuleEmission:
    """What the functions of a module share."""

    def __init__(self, source: ModuleOp, facts: Facts) -> None:
        """Make an empty LLVM module for a module of the IR."""
        self.source = source
        self.facts = facts
        self.module = Module(facts.triple, facts.layout)
        self.types = Types(facts)
        self.functions = {
            op.sym_name.data: op for op in source.ops if isinstance(op, func.FuncOp)
        }
        self.wanted: dict[str, int | None] = {}
        """Functions that something calls, and the subgroup size that they run with."""
        self.work_items: int | None = None
        """Of a work-group on x86-64, where all kernels say the same."""

    def want(self, callee: func.FuncOp, subgroup_size: int | None) -> Signature:
        """Say that a function is called; return its signature.

        Raises:
            Refusal: it was called by a kernel with another subgroup size, or its
                arguments have no form.
        """
        name = callee.sym_name.data
        known = self.wanted.setdefault(name, subgroup_size)
        if known != subgroup_size:
            raise Refusal(
                f"expected all kernels that call @{name} to have the subgroup size "
                f"{known}, got {subgroup_size}"
            )
        return self.signature(callee)

    def signature(self, callee: func.FuncOp) -> Signature:
        """The signature of a function that is no kernel.

        Raises:
            Refusal: its arguments have no form.
        """
        type = callee.function_type
        parameters = [part for each in type.inputs for part in self.flat(each)]
        results = [part for each in type.outputs for part in self.flat(each)]
        bool_attribute: dict[Type, str] = {}
        if not self.facts.gpu:
            bool_attribute[I1] = "zeroext"
        attributes = [bool_attribute.get(each, "") for each in parameters]
        result = result_type(results)
        return Signature(
            self.name(callee),
            result,
            tuple(parameters),
            "spir_func" if self.facts.gpu else "",
            self.attributes(callee),
            tuple(attributes) if any(attributes) else (),
            bool_attribute.get(result, ""),
        )

    def name(self, callee: func.FuncOp) -> str:
        """The name of a function; of a kernel of a GPU, that of the one to call.

        A kernel is started, not called: a function of the same body is.
        """
        name = callee.sym_name.data
        if callee.is_declaration:
            return name
        if self.facts.gpu and simt.KERNEL in callee.attributes:
            while (name := f"{name}.called") in self.functions:
                pass
        return self.facts.prefix + name

    def attributes(self, callee: func.FuncOp | None = None) -> str:
        """The attributes of a function that is defined."""
        found, cpu = ["nounwind"], self.facts.cpu
        if cpu is not None:
            found.append(f'"target-cpu"="{cpu}"')
        if callee is not None and (needed := features(callee)):
            words = ",".join(f"+{feature}" for feature in needed)
            # A call of memset would spill all tiles.
            found += ['"no-builtins"', f'"target-features"="{words}"']
        return " ".join(found)

    def flat(self, type: Attribute) -> list[Type]:
        """The types of the values that an argument or a result becomes."""
        if is_memref(type):
            self.types.in_memory(element_of(type.element_type))
            return flat_types(type, self.facts)
        return [self.types.of(type)]


def result_type(parts: list[Type]) -> Type:
    """The result of a function with some results."""
    if not parts:
        return VOID
    return parts[0] if len(parts) == 1 else Struct(tuple(parts))
