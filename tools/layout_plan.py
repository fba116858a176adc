"""What `coopc-layout --plan` writes: how 2D block messages bring a tensor."""

from __future__ import annotations

from xdsl.ir import Attribute

from coopc import device as devices
from coopc.dialects.layout import rule_in
from coopc.layout.dpas import CHANNEL_BITS, DpasEncoding
from coopc.layout.encoding import Encoding
from coopc.layout.encodings import DotOperandEncoding
from coopc.layout.linear import LinearLayout
from coopc.plan.block2d import BlockPlan
from coopc.plan.display import display_of
from coopc.plan.search import Request, plan
from coopc.tools.layout_subjects import ORDERS, Subject, Wish, bits_of, is_tensor


def planned(
    subject: Subject,
    layout: Attribute,
    shape: Attribute | None,
    order: str,
    wish: Wish,
    device: str,
) -> str:
    """Return the text of the document for a tensor.

    Args:
        subject: the tensor, laid out.
        layout: the attribute that it is laid out by.
        shape: the type of the tensor.
        order: which dimension is contiguous in memory, one of `ORDERS`.
        wish: the fewest instructions, or the fewest messages.
        device: whose messages there are.

    Raises:
        ValueError: it is no tensor of rank 2, or no message gives its lanes what they
            hold.
    """
    if not isinstance(subject.layout, LinearLayout):
        raise ValueError(f"expected a tensor to plan, got {shape}")
    bits = _bits_of_matrix(shape)
    operand, channel = _operand(rule_in(layout), bits)
    contiguous = ORDERS[::-1].index(order)
    lanes = subject.subgroup_size
    run = max(1, operand[0] * operand[1] // lanes)
    if wish == "fewest":
        run, channel = 1, 0
    request = Request(subject.layout, contiguous, bits, run=run, channel_bits=channel)
    found = plan(request, devices.device(device).block_io)
    if not isinstance(found, BlockPlan):
        raise ValueError(f"{device} moves it lane by lane: {found}")
    messages = len(found.firsts)
    title = f"{messages} message{'s' * (messages > 1)} of {found.shape}\n\n"
    return title + str(display_of(found, operand))


def _bits_of_matrix(shape: Attribute | None) -> int:
    """Return the width of the elements of a tensor of rank 2."""
    if not is_tensor(shape):
        raise ValueError(f"expected a tensor to plan, got {shape}")
    if len(shape.get_shape()) != 2:
        raise ValueError(f"expected a tensor of rank 2, got {shape}")
    bits = bits_of(shape.get_element_type())
    if bits is None:
        raise ValueError(f"expected elements of a known width, got {shape}")
    return bits


def _operand(rule: object, bits: int) -> tuple[tuple[int, int], int]:
    """Return the sizes of one operand of DPAS, and the width of its components."""
    match rule:
        case DotOperandEncoding(parent=DpasEncoding() as parent):
            channel = CHANNEL_BITS if rule.op_idx else max(16, bits)
            fits = parent.ops_per_chan * bits == CHANNEL_BITS
            return parent.tile_shape(rule.operand), channel if fits else 0
        case DpasEncoding():
            return rule.tile_shape("c"), 0
        case Encoding() | LinearLayout():
            return (1 << 30, 1 << 30), 0
        case _:
            raise ValueError(f"expected the layout of a tensor, got {rule}")
