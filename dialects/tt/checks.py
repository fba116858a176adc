"""What verifiers of Triton's operations share: each says what it expected and found."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.types import is_tensor, shape_of, sizes


def expect_shape(name: str, type: Attribute, shape: Sequence[int], why: str) -> None:
    """Check the shape of a value.

    Raises:
        VerifyException: it has another one.
    """
    if shape_of(type) != tuple(shape):
        raise VerifyException(
            f"expected {name} of shape {sizes(shape)}, {why}, "
            f"got {sizes(shape_of(type))}"
        )


def expect_element(name: str, type: Attribute, element: Attribute, why: str) -> None:
    """Check the type of the elements of a value.

    Raises:
        VerifyException: it is another one.
    """
    if (found := element_of(type)) != element:
        raise VerifyException(f"expected {name} to be of {element}, {why}, got {found}")


def expect_encoding(name: str, type: Attribute, encoding: Attribute, why: str) -> None:
    """Check the encoding of a tensor; scalars have none.

    Raises:
        VerifyException: it has another one.
    """
    if is_tensor(type) and type.encoding != encoding:
        raise VerifyException(
            f"expected {name} to have {spelled(encoding)}, {why}, "
            f"got {spelled(type.encoding)}"
        )


def expect_like(name: str, type: Attribute, other: str, like: Attribute) -> None:
    """Check that a value has the shape and the encoding of another one.

    Raises:
        VerifyException: they differ.
    """
    if is_tensor(type) != is_tensor(like):
        kind = "a tensor" if is_tensor(like) else "a scalar"
        raise VerifyException(f"expected {name} to be {kind}, as {other}, got {type}")
    expect_shape(name, type, shape_of(like), f"as {other}")
    if is_tensor(like):
        expect_encoding(name, type, like.encoding, f"as {other}")


def expect_rank(name: str, type: Attribute, rank: int) -> None:
    """Check the number of dimensions of a tensor.

    Raises:
        VerifyException: it has another one.
    """
    shape = shape_of(type)
    if len(shape) != rank:
        raise VerifyException(
            f"expected {name} to be of rank {rank}, got {sizes(shape)}"
        )


def spelled(encoding: Attribute) -> str:
    """Return an encoding as messages say it."""
    return "no encoding" if isinstance(encoding, NoneAttr) else str(encoding)
