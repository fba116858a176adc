"""Where the elements of Triton's tensors are: from types to linear layouts.

A tensor's encoding is an attribute that holds a `coopc.layout.encoding.Encoding`:

    tensor<64x32xf16, #ttg.dot_op<..>>
        -> encoding_of     DotOperandEncoding(0, DpasEncoding(..), 1)
        -> layout_of       register, lane, warp, block -> dim0, dim1

Laws (test/unit/test_triton_layouts.py checks each by its name):

    agree    an encoding that contradicts its tensor, or the module's number of lanes or
             subgroups, is refused, with both numbers
    views    a transposed or reshaped layout has at every place the element that numpy's
             transpose or reshape puts where the place points
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import cast

from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Attribute, Data, Operation
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.tt.names import (
    NUM_CTAS,
    NUM_WARPS,
    THREADS_PER_WARP,
    ModuleFacts,
)
from coopc.dialects.tt.types import Tensor, is_tensor
from coopc.layout.dimensions import rename_outs, reshape_outs, transpose_outs
from coopc.layout.dpas import DpasEncoding
from coopc.layout.encoding import Encoding, dims
from coopc.layout.encodings import DotOperandEncoding
from coopc.layout.linear import LinearLayout


def encoding_of(type: Attribute) -> Encoding | None:
    """Return how a tensor is kept; None for other types and for other attributes."""
    if not is_tensor(type):
        return None
    return encoding_in(type.encoding)


def encoding_in(attr: Attribute) -> Encoding | None:
    """Return the encoding that an attribute holds, if it holds one."""
    if not isinstance(attr, Data):
        return None
    data = cast("Data[object]", attr).data
    return data if isinstance(data, Encoding) else None


@cache
def linear(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    """Return the layout of a tensor, computed once.

    Raises:
        ValueError: the encoding has none for this shape.
    """
    return encoding.linear(shape)


def layout_of(type: Attribute) -> LinearLayout:
    """Return the layout of a tensor with an encoding, in IR that verifies.

    Raises:
        ValueError: it has no encoding, or one without a layout.
    """
    encoding = encoding_of(type)
    if encoding is None or not is_tensor(type):
        raise ValueError(f"expected a tensor with an encoding, got {type}")
    return linear(encoding, type.get_shape())


def dpas_of(type: Attribute) -> DpasEncoding | None:
    """Return the DPAS encoding that a tensor, or the result it is multiplied into, has.

    None for tensors of other encodings.
    """
    encoding = encoding_of(type)
    if isinstance(encoding, DotOperandEncoding):
        encoding = encoding.parent
    return encoding if isinstance(encoding, DpasEncoding) else None


def transposed(layout: LinearLayout, order: Sequence[int]) -> LinearLayout:
    """Return the layout of the tensor whose dimension i is dimension order[i] of this.

    >>> from coopc.layout.linear import LinearLayout
    >>> x = LinearLayout.of({"lane": [(1, 0), (0, 1)]}, {"dim0": 2, "dim1": 2})
    >>> transposed(x, (1, 0)).bases("lane")
    ((0, 1), (1, 0))
    """
    names = dims(len(order))
    renamed = {names[old]: names[new] for new, old in enumerate(order)}
    return transpose_outs(rename_outs(layout, renamed), names)


def reshaped(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """Return the layout of the tensor of another shape, elements in row-major order.

    >>> from coopc.layout.linear import LinearLayout
    >>> x = LinearLayout.of({"lane": [(1, 0), (0, 1)]}, {"dim0": 2, "dim1": 2})
    >>> reshaped(x, (4,)).bases("lane")
    ((2,), (1,))
    """
    minor_first = transpose_outs(layout, layout.out_names[::-1])
    names = dims(len(shape))
    outer_last = dict(zip(names[::-1], shape[::-1], strict=True))
    return transpose_outs(reshape_outs(minor_first, outer_last), names)


def verify_layouts(top: Operation) -> None:
    """Check that every tensor type in `top` has a layout, and fits the module.

    Raises:
        VerifyException: Blaming the operation that first has such a tensor.
    """
    facts = ModuleFacts.of(top)
    seen: set[Attribute] = set()
    for op in top.walk():
        types = [value.type for value in op.results]
        types += [arg.type for r in op.regions for b in r.blocks for arg in b.args]
        for type in types:
            if is_tensor(type) and type not in seen:
                seen.add(type)
                if (reason := wrong_layout(type, facts)) is not None:
                    op.emit_error(reason, VerifyException(reason))


def wrong_layout(type: Tensor, facts: ModuleFacts) -> str | None:
    """Return why a tensor's encoding does not fit it or the module; None if it does."""
    encoding = encoding_of(type)
    if encoding is None:
        return None
    try:
        layout = linear(encoding, type.get_shape())
    except ValueError as error:
        return f"{error}, in {type}"
    sizes = layout.in_sizes
    if sizes["lane"] != facts.threads_per_warp:
        who = "the module's" if facts.says_threads else "a module without"
        return (
            f"expected {facts.threads_per_warp} lanes, as {who} {THREADS_PER_WARP} "
            f"has, got threadsPerWarp = {sizes['lane']} in {type.encoding}"
        )
    if facts.num_warps not in (None, sizes["warp"]):
        return (
            f"expected {facts.num_warps} subgroups, as the module's {NUM_WARPS} has, "
            f"got warpsPerCTA of product {sizes['warp']} in {type.encoding}"
        )
    if sizes["block"] != facts.num_ctas:
        return (
            f"expected {facts.num_ctas} work-groups, as the module's {NUM_CTAS} has "
            f"(1 if it is missing), got {sizes['block']} in {type.encoding}"
        )
    return None


def has_encoding(type: Attribute) -> bool:
    """Whether a type is a tensor's with any encoding, known or not."""
    return is_tensor(type) and not isinstance(type.encoding, NoneAttr)


def expand(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """Return a shape with a dimension of size 1 put in.

    >>> expand((4, 8), 1)
    (4, 1, 8)
    """
    return (*shape[:axis], 1, *shape[axis:])


def without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """Return a shape without one of its dimensions.

    >>> without((4, 2, 8), 1)
    (4, 8)
    """
    return (*shape[:axis], *shape[axis + 1 :])
