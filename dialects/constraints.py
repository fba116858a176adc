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
    """Any type; where the text has none, the one that follows from variables.

    The operation verifies it, with a message of its own.
    """

    names: str
    """The names of `VarConstraint`s of the operation, with spaces between them."""
    follow: Callable[[Any], Attribute] | Callable[[Any, Any], Attribute]
    """From what the variables are to this type.

    Raises `VerifyException` where there is none."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        pass

    def can_infer(self, var_constraint_names: AbstractSet[str]) -> bool:
        return var_constraint_names >= {*self.names.split()}

    def infer(self, context: InferenceContext) -> Attribute:
        follow: Callable[..., Attribute] = self.follow
        return follow(*map(context.get_variable, self.names.split()))

    def mapping_type_vars(self, type_var_mapping: Mapping[Any, Any]) -> "Inferred":
        return self


@dataclass(frozen=True)
class OfType(BaseAttr[Attribute]):
    """A type of a class, with a message that says which."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not isinstance(attr, self.attr):
            raise VerifyException(f"expected a !{self.attr.name}, got {attr}")
