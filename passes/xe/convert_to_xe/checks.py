"""What `convert-ttgir-to-xe` refuses, operation by operation, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    IntegerType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import tt, ttg, ttig, xe
from coopc.dialects.tt.enums import Padding, Rounding
from coopc.dialects.tt.layouts import encoding_of
from coopc.dialects.tt.names import NUM_CTAS, NUM_WARPS, ModuleFacts
from coopc.dialects.tt.types import bits_of, is_tensor
from coopc.passes.triton.block_pointers import is_block_pointer
from coopc.passes.xe.accesses import why_no_matrix
from coopc.passes.xe.convert_to_xe.atomics import why_not_atomic
from coopc.passes.xe.convert_to_xe.block_access import plan_of
from coopc.passes.xe.convert_to_xe.buffers import why_not_alloc, why_not_buffer
from coopc.passes.xe.convert_to_xe.dot_to_dpas import why_not_dot
from coopc.passes.xe.convert_to_xe.entry import constant_of
from coopc.passes.xe.convert_to_xe.join_split import why_not_join
from coopc.passes.xe.convert_to_xe.pointer_casts import why_not_bitcast
from coopc.passes.xe.convert_to_xe.pointers import base_of, origin_of, origins_of
from coopc.passes.xe.convert_to_xe.reductions import why_not_reduce
from coopc.passes.xe.convert_to_xe.tensors import view_sources
from coopc.passes.xe.exchanges import why_not_convert
from coopc.passes.xe.strided_rows import refuse_steps

KNOWN = (
    tt.AddPtrOp,
    tt.GetNumProgramsOp,
    tt.GetProgramIdOp,
    tt.MakeRangeOp,
    tt.ReduceReturnOp,
    tt.ReturnOp,
    tt.SplatOp,
    ttg.BarrierOp,
    ttg.LocalDeallocOp,
    ttig.DescriptorPrefetchOp,
    ttig.PrefetchOp,
)
"""Operations of Triton that are converted whatever they are."""
WIDTHS = (1, 8, 16, 32, 64)
"""Bits of elements."""
MOST_BYTES = 1 << 31
"""Of a row of a matrix, and from one to the next: as i32."""
TRITON = ("tt", "ttg", "ttig")
_NUMBERS = "expected a pointer that is moved by elements, not a number of bytes"
REASONS = {
    "tt.assert": "expected no assertion: a kernel cannot end with a message",
    "tt.int_to_ptr": _NUMBERS,
    "tt.print": "expected no printing: a kernel has nowhere to print to",
    "tt.ptr_to_int": _NUMBERS,
    **dict.fromkeys(
        (
            "tt.clampf",
            "tt.extern_elementwise",
            "tt.mulhiui",
            "tt.precise_divf",
            "tt.precise_sqrt",
        ),
        "expected arithmetic of arith and math: expand-tt-math",
    ),
}
"""Why operations are never converted, where there is more to say than that."""


def why_not(op: Operation) -> str | None:
    """Return why an operation cannot be converted, or None."""
    given = [x for region in op.regions for block in region.blocks for x in block.args]
    for value in (*op.results, *given):
        if (reason := _unknown(value)) is not None:
            return reason
        if isinstance(value.type, ttg.MemDescType) and op.dialect_name() not in TRITON:
            return f"expected {value.type} not to be chosen or carried"
        if isinstance(value.type, tt.PtrType) and op.dialect_name() not in TRITON:
            return (
                f"expected {value.type} not to be chosen or carried: choose or carry "
                "how far it is moved"
            )
    for kind, check in CHECKS.items():
        if isinstance(op, kind):
            return check(op)
    if op.dialect_name() in TRITON and not isinstance(op, KNOWN):
        return REASONS.get(op.name, "it is not converted to xe")
    return None


def _unknown(value: SSAValue) -> str | None:
    """Return why nothing can be made of a value, or None."""
    type = value.type
    if is_tensor(type) and encoding_of(type) is None:
        return f"expected a tensor with a known encoding, got {type}"
    if isinstance(type, tt.TensorDescType):
        return _one_of_several(value)
    element = type.element_type if is_tensor(type) else type
    is_pointer = isinstance(element, tt.PtrType)
    if not is_tensor(type) and (not is_pointer or is_tensor(element.pointee)):
        return None
    if has_width(element.pointee if is_pointer else element):
        return None
    kinds = "integers of 1, 8, 16, 32 or 64 bits, floats of 16, 32 or 64"
    return f"expected {kinds}, or pointers to them, got {type}"


def has_width(element: Attribute) -> bool:
    """Whether elements are of a width that vectors of a lane have.

    Floats of 8 bits have no type in SPIR-V, nor in LLVM IR.
    """
    if isinstance(element, AnyFloat):
        return element.bitwidth in WIDTHS[2:]
    return isinstance(element, IntegerType) and element.bitwidth in WIDTHS


def _one_of_several(value: SSAValue) -> str | None:
    """Return why it is not known which descriptor a value is."""
    origins = [x.owner for x in origins_of(value)]
    if not all(isinstance(x, tt.MakeTensorDescriptorOp) for x in origins):
        return f"expected a descriptor that is made in the kernel, got {value.type}"
    if len(origins) == 1:
        return None
    return (
        f"expected a descriptor that is made in one place, got {value.type} "
        f"of {len(origins)} places"
    )


def _convert(op: ttg.ConvertLayoutOp) -> str | None:
    """Return why a tensor cannot get another layout."""
    return None if view_sources(op) is not None else why_not_convert(op)


def _view(
    op: tt.ExpandDimsOp | tt.BroadcastOp | tt.TransOp | tt.ReshapeOp,
) -> str | None:
    """Return why a tensor cannot be seen in another way."""
    if view_sources(op) is not None:
        return None
    return (
        f"expected elements to stay in their lanes, which those of {op.src.type} do "
        f"not in {op.result.type}"
    )


def _rounded(op: tt.FpToFpOp) -> str | None:
    """Return why a float cannot become one of another format, or None."""
    if op.rounding_mode is Rounding.RTZ:
        return "expected rounding = rtne, which conversions have, got rtz"
    return None


def _pointers(op: tt.LoadOp | tt.StoreOp) -> str | None:
    """Return why an access through pointers cannot be converted."""
    if is_block_pointer(op):
        otherwise = "one as it was: convert-tt-pointers-to-descriptors"
        what = why_no_matrix(op, otherwise)
        return f"expected a block pointer that is understood, got {what}"
    if is_tensor(op.ptr.type) and base_of(op.ptr) is None:
        return "expected pointers that count from one scalar pointer"
    return None


def _descriptor(op: tt.MakeTensorDescriptorOp) -> str | None:
    """Return why a descriptor is no matrix."""
    if bits_of(op.type.tensor) == 1:
        return f"expected elements of whole bytes in memory, got {op.type}"
    bytes = (bits_of(op.type.tensor) or 8) // 8
    numbers = [*op.shape[-1:], *op.strides[-2:-1]] if op.type.rank == 2 else []
    for known in map(constant_of, numbers):
        if known is not None and abs(known * bytes) >= MOST_BYTES:
            return f"expected rows of less than 2 GiB, got one of {known} elements"
    stride = constant_of(op.strides[-1])
    if stride not in (None, 1):
        return f"expected a last stride of 1, as descriptors have, got {stride}"
    return None


def _function(op: tt.FuncOp) -> str | None:
    """Return why a function is no kernel that can be converted."""
    if not op.is_kernel:
        return f"expected a kernel, got @{op.sym_name.data}: inline what is called"
    facts = ModuleFacts.of(op)
    if facts.num_warps is None:
        return f"expected {NUM_WARPS} on the module, got none"
    if facts.num_ctas != 1:
        return f"expected {NUM_CTAS} = 1, got {facts.num_ctas}"
    if len(op.body.blocks) != 1:
        return f"expected structured control flow, got {len(op.body.blocks)} blocks"
    return None


def _block_access(op: tt.DescriptorLoadOp | tt.DescriptorStoreOp) -> str | None:
    """Return why an access through a descriptor cannot be converted."""
    made = None if (found := origin_of(op.desc)) is None else found.owner
    assert isinstance(made, tt.MakeTensorDescriptorOp), (
        op
    )  # whatever gives it is checked
    plan = plan_of(op)
    if plan is None and xe.REFUSAL not in op.attributes:
        return "expected a plan of plan-block-io, or a reason why there is none"
    if plan is not None and made.padding_option is not Padding.ZERO:
        return "expected zeros outside of a descriptor, got NaN: settle-tt-descriptors"
    if plan is not None and plan.row_step != 1:
        refusal = refuse_steps(plan, op.indices[-2], op.indices[-1])
        return None if refusal is None else str(refusal)
    return None


def _constant(op: ConstantOp) -> str | None:
    """Return why a constant cannot be converted."""
    if not is_tensor(op.result.type):
        return None
    value = op.value
    if not isinstance(value, DenseIntOrFPElementsAttr) or not value.is_splat():
        return "expected a constant that is the same for all elements"
    return None


CHECKS: dict[type[Operation], Callable[[Any], str | None]] = {
    ConstantOp: _constant,
    tt.AtomicRMWOp: why_not_atomic,
    tt.BitcastOp: why_not_bitcast,
    tt.BroadcastOp: _view,
    tt.DescriptorLoadOp: _block_access,
    tt.DescriptorStoreOp: _block_access,
    tt.DotOp: why_not_dot,
    tt.ExpandDimsOp: _view,
    tt.FpToFpOp: _rounded,
    tt.FuncOp: _function,
    tt.MakeTensorDescriptorOp: _descriptor,
    tt.JoinOp: why_not_join,
    tt.LoadOp: _pointers,
    tt.ReduceOp: why_not_reduce,
    tt.SplitOp: why_not_join,
    tt.StoreOp: _pointers,
    tt.TransOp: _view,
    tt.ReshapeOp: _view,
    ttg.ConvertLayoutOp: _convert,
    ttg.LocalAllocOp: why_not_alloc,
    ttg.LocalLoadOp: why_not_buffer,
    ttg.LocalStoreOp: why_not_buffer,
    ttg.MemDescTransOp: why_not_buffer,
}
"""What is checked of each operation."""
