"""Traits of `coopmatrix` operations: canonical forms, and names to be defined."""

from importlib import import_module

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import (
    HasCanonicalizationPatternsTrait,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.constants import SpecConstantOp
from coopc.dialects.coopmatrix.enums import LAYOUT_NUMBERS, USE_NUMBERS, LayoutAttr
from coopc.dialects.coopmatrix.types import MatrixType

PATTERNS = "coopc.dialects.coopmatrix.canonicalize"
"""The module whose `PATTERNS` says which patterns an operation has.

It knows the operations, so they import it only when they are canonicalized."""


class Canonicalized(HasCanonicalizationPatternsTrait):
    """The operation has canonical forms: see `canonicalize.PATTERNS`."""

    def get_patterns(self, op: type[Operation]) -> tuple[RewritePattern, ...]:
        """Return the patterns of `op`."""
        table: dict[type[Operation], tuple[RewritePattern, ...]]
        table = import_module(PATTERNS).PATTERNS
        return table[op]

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """Return the patterns of every such operation: none."""
        return ()


class NamesConstants(SymbolUserOpInterface):
    """Each constant that a matrix type of the operation names is in its module.

    A size is at least 1, a scope the number that SPIR-V gives one; a use or a layout is
    by default what the operation says.
    """

    def verify(self, op: Operation) -> None:
        """Look up the names in the types of operands, results and properties."""
        for value in (*op.operands, *op.results):
            _verify_names(op, value.type)
        for attr in op.properties.values():
            _verify_names(op, attr)
        name, layout = (op.properties.get(x) for x in ("layout_name", "layout"))
        if isinstance(name, SymbolRefAttr) and isinstance(layout, LayoutAttr):
            _verify_number(op, name, LAYOUT_NUMBERS[layout.data], str(layout.data))


SCOPES = range(6)
"""The numbers of SPIR-V's scopes that a matrix can have."""


def _verify_names(op: Operation, type: Attribute) -> None:
    """Check the names in a type, if it is a matrix's and `op` is in a module."""
    if not isinstance(type, MatrixType) or type.is_static:
        return
    if not isinstance(_top(op), ModuleOp):
        return
    for name in type.sizes:
        if isinstance(name, str) and (value := _constant(op, name, str(type))) < 1:
            raise VerifyException(
                f"expected @{name} to be at least 1, as a size of {type}, got {value}"
            )
    if isinstance(type.scope, SymbolRefAttr):
        name = type.scope.root_reference.data
        if (value := _constant(op, name, str(type))) not in SCOPES:
            raise VerifyException(
                f"expected @{name} to be one of SPIR-V's scopes, 0 to {SCOPES[-1]}, "
                f"as the scope of {type}, got {value}"
            )
    if isinstance(type.use_name, SymbolRefAttr):
        use = type.use.data
        _verify_number(op, type.use_name, USE_NUMBERS.get(use), str(use))


def _verify_number(
    op: Operation, name: SymbolRefAttr, number: int | None, what: str
) -> None:
    """Check that a constant is by default what stands beside its name."""
    if not isinstance(_top(op), ModuleOp):
        return
    found = _constant(op, name.root_reference.data, f"{what} = {name}")
    if found != number:
        raise VerifyException(
            f"expected {name} to be {number} by default, which SPIR-V calls {what}, "
            f"got {found}"
        )


def _top(op: Operation) -> Operation:
    """Return the operation that `op` is in and that is in no other."""
    while (parent := op.parent_op()) is not None:
        op = parent
    return op


def _constant(op: Operation, name: str, what: str) -> int:
    """Return the default of the constant `name`, which `what` names."""
    found = SymbolTable.lookup_symbol(op, name)
    if isinstance(found, SpecConstantOp):
        return found.value.value.data
    kind = "nothing" if found is None else found.name
    raise VerifyException(
        f"expected a coopmatrix.spec_constant @{name}, which {what} names, got {kind}"
    )
