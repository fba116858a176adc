"""A constraint by which an operation's text can leave out what follows from it."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, InferenceContext, VerificationContext


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
