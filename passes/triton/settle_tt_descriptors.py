"""`settle-tt-descriptors`: descriptors as the hardware has surfaces.

Before: Triton GPU IR with descriptors of any rank and padding.
After:  those that the host passes are made in the kernel, of a base, sizes and strides
        that are its arguments instead; blocks of rank 2 are of descriptors of rank 2,
        the leading dimensions in their base; what is NaN outside is chosen by a mask,
        after zeros were loaded; numbers of a descriptor that is made in the kernel are
        those that it is made of; bases are aligned as surfaces want them, where that is
        known to be possible.
Fails:  never; what is carried by loops in more than one form stays.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.arith import ExtSIOp
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import tt, ttig
from coopc.dialects.tt.enums import Padding
from coopc.dialects.tt.types import is_tensor
from coopc.passes.triton.compensate_bases import compensate
from coopc.passes.triton.descriptor_forms import BlockOp, flatten, pad_with_nan
from coopc.passes.xe.accesses import LANE_BY_LANE
from coopc.passes.xe.convert_to_xe.pointers import origin_of
from coopc.rewrite.dead_values import remove_dead
from coopc.rewrite.host_descriptors import make_host_descriptors


def made_by(desc: SSAValue) -> tt.MakeTensorDescriptorOp | None:
    """Return where a descriptor is made, if that is one place."""
    found = origin_of(desc)
    made = None if found is None else found.owner
    return made if isinstance(made, tt.MakeTensorDescriptorOp) else None


def field_of(made: tt.MakeTensorDescriptorOp, index: int) -> tuple[SSAValue, bool]:
    """Return a number that a descriptor is made of, and whether it is of 32 bits."""
    rank = made.type.rank
    if index < rank:
        return made.shape[index], True
    if index < 2 * rank:
        return made.strides[index - rank], False
    return made.base, False


def settle_field(op: ttig.ExtractDescOp) -> None:
    """Replace a number of a descriptor."""
    if (made := made_by(op.desc)) is None:
        return
    value, is_narrow = field_of(made, op.index.value.data)
    if is_narrow:
        wide = ExtSIOp(value, i64)
        wide.location = op.location
        Rewriter.insert_op(wide, InsertPoint.before(op))
        value = wide.result
    Rewriter.replace_op(op, [], [value])


def settle(op: Operation) -> None:
    """Settle one operation."""
    if isinstance(op, ttig.ExtractDescOp):
        settle_field(op)
    if not isinstance(op, BlockOp) or (made := made_by(op.desc)) is None:
        return
    if made.type.rank > 2 and block_rank(op) == 2:
        op, made = flatten(op, made)
    if isinstance(op, tt.DescriptorLoadOp) and made.padding_option is Padding.NAN:
        pad_with_nan(op, made)


def block_rank(op: BlockOp) -> int:
    """Return the rank of what is moved."""
    match op:
        case tt.DescriptorLoadOp():
            type = op.result.type
        case tt.DescriptorStoreOp():
            type = op.src.type
        case ttig.DescriptorPrefetchOp():
            shape = leading(op)
            return 2 if shape is not None and set(shape) == {1} else -1
    assert is_tensor(type), op
    return len(type.get_shape())


def leading(op: ttig.DescriptorPrefetchOp) -> tuple[int, ...] | None:
    """Return the sizes of a block in all but the last two dimensions."""
    type = op.desc.type
    return type.shape[:-2] if isinstance(type, tt.TensorDescType) else None


@dataclass(frozen=True)
class SettleTtDescriptorsPass(ModulePass):
    """Make descriptors surfaces."""

    name = "settle-tt-descriptors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Settle what is in the functions of `op`."""
        for func in op.ops:
            if not isinstance(func, tt.FuncOp) or not func.body.blocks:
                continue
            if func.is_kernel and len(func.body.blocks) == 1:
                make_host_descriptors(func)
            found = [x for x in func.body.walk() if isinstance(x, NEEDED)]
            for each in found:
                settle(each)
            if LANE_BY_LANE not in func.attributes:
                align(func)
            if found:
                remove_dead(func)


def align(func: tt.FuncOp) -> None:
    """Make bases aligned that are moved by nobody knows how much."""
    blocks: dict[tt.MakeTensorDescriptorOp, list[BlockOp]] = {}
    for op in func.body.walk():
        if isinstance(op, BlockOp) and (made := made_by(op.desc)) is not None:
            blocks.setdefault(made, []).append(op)
    for made, accesses in blocks.items():
        if made.type.rank == 2:
            compensate(func.body.block, made, accesses)


NEEDED = (
    tt.DescriptorLoadOp,
    tt.DescriptorStoreOp,
    ttig.DescriptorPrefetchOp,
    ttig.ExtractDescOp,
)
"""What is looked at."""
