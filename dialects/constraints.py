"""Constraints by which the text of an operation leaves out what follows from it."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, BaseAttr, InferenceContext, VerificationContext
from xdsl.utils.exceptions import VerifyException


@dataclass(frozen=True)
class Inferred(AttrConstraint):
    """Any type; where the text has none, the one that follows from a variable.

    The operation verifies it, with a message of its own.
    """

    variable: str
    """The name of a `VarConstraint` of the operation."""
    follow: Callable[[Any], Attribute]
    """From the variable's type to this one."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        pass

    def can_infer(self, var_constraint_names: AbstractSet[str]) -> bool:
        return self.variable in var_constraint_names

    def infer(self, context: InferenceContext) -> Attribute:
        return self.follow(context.get_variable(self.variable))

    def mapping_type_vars(self, type_var_mapping: Mapping[Any, Any]) -> "Inferred":
        return self


@dataclass(frozen=True)
class OfType(BaseAttr[Attribute]):
    """A type of a class, with a message that says which."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not isinstance(attr, self.attr):
            raise VerifyException(f"expected a !{self.attr.name}, got {attr}")
