"""The types of the values that lanes hold: numbers and vectors of numbers."""

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.narrow import is_vector


def scalar_type(type: Attribute) -> Attribute:
    """Return the element type of a vector type; another type as it is."""
    return type.get_element_type() if is_vector(type) else type


def verify_number(type: Attribute) -> None:
    """Check that a type is a number's or a vector's."""
    if not isinstance(scalar_type(type), IntegerType | IndexType | AnyFloat):
        raise VerifyException(f"expected a number or a vector of numbers, got {type}")
